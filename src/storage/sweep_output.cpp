#include "attnscope/storage/sweep_output.h"

#include <utility>

#include "attnscope/storage/reader.h"
#include "attnscope/storage/writer.h"
#include "attnscope/support/error.h"
#include "attnscope/support/sha256.h"
#include "writer_state.h"

namespace attnscope {

using namespace storage_detail;  // NOLINT: the module's own helpers

namespace {

constexpr const char* kRows = "rows";
constexpr const char* kStage = "stage";

OutputOptions output_options(const SweepOutputOptions& options) {
  return {
      .path = options.path,
      .if_exists = options.if_exists,
      .run_id = options.file.run_id,
      .config_json = options.resume_json.empty() ? options.run.options_json : options.resume_json,
      .shard_use = options.shard_use,
      .shards = options.shards,
      .part = options.file.shard,
      .before_each_join = {}};
}

// The common length of the columns; an error of the caller where there is none.
std::int64_t common_length(const SweepRows& rows) {
  std::int64_t length = -1;
  const auto look_at = [&length](const std::string& name, std::size_t size) {
    if (length < 0) length = static_cast<std::int64_t>(size);
    if (length != static_cast<std::int64_t>(size)) {
      misuse(name, "the columns of a sweep differ in length", std::to_string(length),
             std::to_string(size));
    }
  };
  for (const auto& [name, values] : rows.integers) look_at(name, values.size());
  for (const auto& [name, values] : rows.numbers) look_at(name, values.size());
  return length < 0 ? 0 : length;
}

ExperimentRecord record_of(const SweepRows& rows, FileKind kind) {
  ExperimentRecord record;
  record.name = kRows;
  record.kind = file_kind_name(kind);
  const std::int64_t count = common_length(rows);
  for (const auto& [name, values] : rows.integers) {
    record.integers.push_back({name, {"row"}, {count}, values});
  }
  for (const auto& [name, values] : rows.numbers) {
    record.arrays.push_back({name, {"row"}, {count}, values});
  }
  return record;
}

PackedPlan packed_plan(const std::vector<PromptRecord>& prompts) {
  PackedPlan plan;
  plan.prompts = static_cast<std::int64_t>(prompts.size());
  for (const PromptRecord& prompt : prompts) {
    plan.tokens += static_cast<std::int64_t>(prompt.tokens.ids.size());
    plan.token_text_bytes = std::max(plan.token_text_bytes, longest(prompt.tokens.text));
  }
  plan.rows = plan.tokens;
  return plan;
}

}  // namespace

void write_experiment_file(const std::string& path, const FileInfo& file, const ModelInfo& model,
                           const RunInfo& run, const std::vector<PromptRecord>& prompts,
                           const std::vector<ExperimentRecord>& records) {
  WriterOptions how;
  if (prompts.size() > static_cast<std::size_t>(kMaxPromptGroups)) {
    how = {.layout = FileLayout::packed, .packed = packed_plan(prompts)};
  }
  CaptureWriter writer(path, file, model, run, how);
  for (const PromptRecord& prompt : prompts) writer.add_prompt(prompt);
  for (const ExperimentRecord& record : records) writer.write_experiment(record);
  writer.finish();
}

std::int64_t SweepRows::count() const {
  return common_length(*this);
}

void SweepRows::append(const SweepRows& other) {
  if (integers.empty() && numbers.empty()) {
    *this = other;
    return;
  }
  const auto columns = [](const SweepRows& rows) {
    return rows.integers.size() + rows.numbers.size();
  };
  if (columns(*this) != columns(other)) {
    misuse(kRows, "the columns of two shards differ", std::to_string(columns(*this)),
           std::to_string(columns(other)));
  }
  for (const auto& [name, values] : other.integers) {
    auto& mine = integers[name];
    mine.insert(mine.end(), values.begin(), values.end());
  }
  for (const auto& [name, values] : other.numbers) {
    auto& mine = numbers[name];
    mine.insert(mine.end(), values.begin(), values.end());
  }
  common_length(*this);  // a name that only one of them has
}

void SweepOutput::check(const SweepOutputOptions& options) {
  Output::check(output_options(options));
}

SweepOutput::SweepOutput(SweepOutputOptions options, Warnings& warnings)
    : options_(std::move(options)),
      warnings_(warnings),
      output_(output_options(options_), warnings) {}

int SweepOutput::begin_stage(const SweepStage& stage, int count) {
  const int first = output_.extend(count, warnings_);
  // A stage that begins elsewhere has other shards at the same places.
  stage_ = stage.name + " " +
           sha256_of(std::to_string(first) + " " + std::to_string(count) + "\n" + stage.contents);
  for (int shard = first; shard < first + count; ++shard) {
    if (!is_committed(shard)) continue;
    const CaptureReader reader(output_.shard_path(shard), {.trust = Trust::own});
    const std::vector<ExperimentRecord> records = reader.experiments();
    if (records.empty() || records.front().text_attribute(kStage) != stage_) {
      output_.drop(shard, "it holds other work than this run's", warnings_);
    }
  }
  return first;
}

void SweepOutput::commit(int shard, const SweepRows& rows) {
  FileInfo info = options_.file;
  info.shard = ShardId{shard, shards()};
  CaptureWriter writer(output_.begin(shard), info, options_.model, options_.run, {});
  ExperimentRecord record = record_of(rows, info.kind);
  if (!stage_.empty()) record.attributes[kStage] = stage_;
  writer.write_experiment(record);
  writer.finish();
  output_.commit(shard);
}

SweepRows SweepOutput::read(int shard) const {
  const CaptureReader reader(output_.shard_path(shard), {.trust = Trust::own});
  SweepRows rows;
  for (ExperimentRecord& record : reader.experiments()) {
    for (NamedIntegers& column : record.integers) {
      rows.integers[column.name] = std::move(column.values);
    }
    for (NamedArray& column : record.arrays) rows.numbers[column.name] = std::move(column.values);
  }
  return rows;
}

SweepRows SweepOutput::read_all() const {
  SweepRows all;
  for (int shard = 0; shard < shards(); ++shard) all.append(read(shard));
  return all;
}

std::string SweepOutput::finish(const std::vector<PromptRecord>& prompts,
                                const std::vector<ExperimentRecord>& records) {
  if (output_.complete()) return output_.finish();
  write_experiment_file(output_.begin_result(), options_.file, options_.model, options_.run,
                        prompts, records);
  return output_.finish();
}

}  // namespace attnscope
