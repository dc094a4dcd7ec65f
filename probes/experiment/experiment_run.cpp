#include "attnscope/probes/experiment_run.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <iterator>
#include <map>
#include <utility>

#include "attnscope/core/boundary.h"
#include "attnscope/core/device.h"
#include "attnscope/data/positions.h"
#include "attnscope/probes/metric.h"
#include "attnscope/storage/reader.h"
#include "attnscope/support/commit.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"

namespace attnscope {
namespace {

void check_prompts(const ExperimentInputs& inputs, const PairSource& source) {
  for (const EncodedPair& pair : inputs.pairs.pairs) {
    const std::string where = pair_place(source, pair.line);
    check_prompt(inputs.checkpoint.config, pair.clean, LongPrompts::refused, where);
    if (!pair.corrupt) continue;
    check_prompt(inputs.checkpoint.config, *pair.corrupt, LongPrompts::refused,
                 where + ", corrupt");
  }
}

// Before any pair is read: of a model without a head no answer would help.
void check_measured(const InputRequest& request, const ModelConfig& config) {
  const MetricChoice metric = request.metric->metric;
  if (config.head == HeadKind::none && metric != MetricChoice::embedding_shift) {
    throw Error(ErrorKind::input, "ME10",
                {.where = "--metric " + choice_name(metric),
                 .what = "this model has no head that gives logits",
                 .next = request.without_head});
  }
  check_metric(metric, config);
  const bool pooled =
      config.head == HeadKind::classifier && config.classifier != ClassifierKind::every_token;
  if (request.metric->at.empty() || !pooled) return;
  throw Error(ErrorKind::input, "ME10",
              {.where = "--at",
               .what = "this model's classifier reads one position of its own",
               .next = "leave --at out"});
}

// Copies of a prompt in groups that differ otherwise are no independent draws.
void warn_of_copies(const PairSet& set, Warnings& warnings) {
  std::map<std::vector<std::int64_t>, int> group_of;
  std::uint64_t copies = 0;
  for (const EncodedPair& pair : set.pairs) {
    const auto [found, added] = group_of.try_emplace(pair.clean.ids, pair.cluster);
    if (!added && found->second != pair.cluster) ++copies;
  }
  if (copies == 0) return;
  const bool one = copies == 1;
  warnings.add(count_of(copies, "pair") + (one ? " repeats" : " repeat") +
               " the clean prompt of another group and " + (one ? "counts" : "count") +
               " as an independent draw all the same, so intervals come out too narrow; give "
               "such pairs one group");
}

std::string sidecar_of(const RunDescription& run, const ExperimentContext& context,
                       const RunTimes& times, const ExperimentResult& result) {
  std::string counts = "{\"prompts\": " + std::to_string(result.prompts) +
                       ", \"clusters\": " + std::to_string(result.clusters) +
                       ", \"misaligned\": " + std::to_string(result.misaligned) +
                       ", \"cells\": " + std::to_string(result.cells) + "}";
  return sidecar_json({.kind = run.kind,
                       .sha256 = result.sha256,
                       .file_bytes = file_size(result.path),
                       .options_json = run.options_json,
                       .command_line = context.command_line,
                       .times = times,
                       .seconds = result.seconds,
                       .model = run.model,
                       .input_key = "pairs_file",
                       .input_path = run.pairs_file,
                       .hashes = run.hashes,
                       .warnings = result.warnings,
                       .more_json = std::move(counts)});
}

}  // namespace

ExperimentInputs open_inputs(const InputRequest& request, Warnings& warnings) {
  ExperimentInputs inputs;
  inputs.source = request.pairs;
  inputs.checkpoint = open_checkpoint(request.model, {request.strictness}, warnings);
  const Checkpoint& checkpoint = inputs.checkpoint;
  if (!request.out.empty()) {
    check_inputs_are_kept(request.out, request.model, checkpoint, {request.pairs.pairs_file});
  }
  if (!checkpoint.tokenizer_json.empty()) {
    inputs.tokenizer = Tokenizer::load(checkpoint.tokenizer_json, checkpoint.tokenizer_config);
  }
  if (request.metric) check_measured(request, checkpoint.config);
  PairNeeds needs = request.needs;
  needs.vocabulary = checkpoint.config.d_vocab;
  inputs.pairs = load_pairs(request.pairs, request.encoding,
                            inputs.tokenizer ? &*inputs.tokenizer : nullptr, needs, warnings);
  check_prompts(inputs, request.pairs);
  if (request.metric) warn_of_copies(inputs.pairs, warnings);
  return inputs;
}

std::vector<int> positions_on(const ExperimentInputs& inputs, const EncodedPair& pair,
                              std::string_view list, std::string_view option) {
  try {
    return positions_of(pair.clean, list, option);
  } catch (const Error& error) {
    if (pair.line == 0) throw;
    rethrow_at(error,
               error.detail().where + " of the prompt " + pair_place(inputs.source, pair.line));
  }
}

ExperimentResult begin_result(const ExperimentInputs& inputs, const ComputeOptions& compute) {
  const ComputeOptions resolved = resolved_compute(compute, EngineChoice::automatic);
  ExperimentResult result;
  result.prompts = static_cast<std::int64_t>(inputs.pairs.pairs.size());
  result.clusters = inputs.pairs.n_clusters;
  result.misaligned = inputs.pairs.misaligned;
  describe_run(resolved, inputs.checkpoint.config.name, result);
  return result;
}

void announce_plan(const std::string& plan, const ExperimentContext& context,
                   ExperimentResult& result) {
  result.plan = plan;
  if (context.on_plan) context.on_plan(plan);
}

Model load_model(const Checkpoint& checkpoint, const ComputeOptions& compute, Strictness strictness,
                 Warnings& warnings) {
  LoadOptions load;
  load.dtype = load_dtype(compute.dtype);
  load.device = parse_device(compute.device);
  load.strictness = strictness;
  return at_boundary("loading the weights",
                     [&] { return Model::load(checkpoint, load, warnings); });
}

ComputeOptions resolved_compute(const ComputeOptions& compute, EngineChoice engine) {
  ComputeOptions resolved = compute;
  resolved.device = parse_device(compute.device).str();
  resolved.threads = at::get_num_threads();
  if (compute.engine == EngineChoice::automatic) resolved.engine = engine;
  return resolved;
}

void describe_run(const ComputeOptions& resolved, const std::string& model,
                  ExperimentResult& result) {
  result.device = resolved.device;
  result.dtype = choice_name(resolved.dtype);
  result.engine = choice_name(resolved.engine);
  result.threads = resolved.threads;
  result.model = model;
}

ExperimentOutput::ExperimentOutput(RunDescription run, const ExperimentContext& context,
                                   std::vector<ShardRange> shards, Warnings& warnings)
    : run_(std::move(run)),
      context_(context),
      warnings_(warnings),
      start_(std::chrono::steady_clock::now()),
      times_{.started = utc_now()} {
  if (run_.delivery.out.empty()) return;
  FileInfo file = file_info(run_.kind, run_.run_id);
  if (run_.shard.count > 1) file.shard = ShardId{run_.shard.index - 1, run_.shard.count};
  SweepOutputOptions options{.path = run_.delivery.out,
                             .if_exists = if_exists(run_.delivery),
                             .file = file,
                             .resume_json = resume_json(run_.options_json, run_.hashes, run_.shard),
                             .model = run_.model_info,
                             .run = run_info(run_.compute, run_.options_json),
                             .shard_use = run_.shard_use,
                             .shards = std::move(shards)};
  if (run_.delivery.dry_run) {
    SweepOutput::check(options);
  } else {
    sweep_.emplace(std::move(options), warnings);
  }
}

bool ExperimentOutput::ends_at_plan(ExperimentResult& result) const {
  if (!run_.delivery.dry_run) return false;
  result.warnings = warnings_.lines();
  return true;
}

std::optional<std::vector<ExperimentRecord>> ExperimentOutput::finished() const {
  if (!sweep_ || !sweep_->complete()) return std::nullopt;
  return CaptureReader(run_.delivery.out, {.trust = Trust::own}).experiments();
}

bool ExperimentOutput::restore(ExperimentResult& result) {
  auto records = finished();
  if (!records) return false;
  finish(*records, result);
  result.record = std::move(records->front());
  result.further_records.assign(std::make_move_iterator(records->begin() + 1),
                                std::make_move_iterator(records->end()));
  return true;
}

void ExperimentOutput::finish(const std::vector<ExperimentRecord>& records,
                              ExperimentResult& result) {
  describe_run(run_.compute, run_.model_info.name, result);
  if (sweep_) {
    result.sha256 = sweep_->finish(run_.prompts, records);
    result.path = run_.delivery.out;
  }
  result.warnings = warnings_.lines();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (!sweep_) return;
  times_.finished = utc_now();
  sweep_->write_sidecar(sidecar_of(run_, context_, times_, result));
}

void check_stop(const ExperimentContext& context) {
  if (context.stop == nullptr || !*context.stop) return;
  throw Error(ErrorKind::interrupted, "EP01",
              {.what = "stopped by a signal", .next = std::string(kRunItAgain)});
}

}  // namespace attnscope
