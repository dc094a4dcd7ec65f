#include "join.h"

#include <algorithm>
#include <numeric>

#include "attnscope/storage/writer.h"
#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"
#include "reader_state.h"
#include "writer_state.h"

namespace attnscope::storage_detail {
namespace {

constexpr std::uint64_t kBlockBytes = 8U << 20U;

[[noreturn]] void cannot_join(const std::string& path, const std::string& what,
                              const std::string& expected = "", const std::string& got = "") {
  throw Error(
      ErrorKind::input, "SM01",
      {.where = escape_untrusted(path, 4096), .what = what, .expected = expected, .got = got});
}

// Rows of `from` to `to`, whose first axis starts at `first`.
void copy_rows(const h5::Dataset& from, h5::Dataset& to, std::uint64_t first) {
  const h5::Dims dims = from.dims();
  if (dims.empty() || from.count() == 0) return;
  const std::uint64_t row_bytes = from.count() / dims[0] * from.type().bytes;
  const std::uint64_t rows = std::max<std::uint64_t>(1, kBlockBytes / row_bytes);
  std::vector<std::byte> buffer;
  h5::Slab slab{.offset = h5::Dims(dims.size(), 0), .extent = dims};
  for (std::uint64_t row = 0; row < dims[0]; row += rows) {
    slab.offset[0] = row;
    slab.extent[0] = std::min(rows, dims[0] - row);
    buffer.resize(slab.extent[0] * row_bytes);
    from.read(slab, buffer.data());
    write_rows(to, static_cast<std::int64_t>(first + row), slab.extent[0], buffer.data());
  }
}

std::string damaged_below(const h5::Group& group) {
  for (const std::string& name : group.names()) {
    if (group.is_group(name)) {
      if (std::string found = damaged_below(group.open_group(name)); !found.empty()) return found;
      continue;
    }
    const h5::Dataset dataset = group.open_dataset(name);
    if (dataset.text("sha256").value_or("") != dataset.sha256()) return dataset.path();
  }
  return {};
}

}  // namespace

std::string first_damaged_dataset(const h5::File& file) {
  return damaged_below(file.root());
}

class Joiner {
 public:
  Joiner(const std::vector<std::string>& inputs, const JoinOptions& options)
      : options_(options), inputs_(inputs), first_(inputs.front(), ReaderOptions{Trust::own}) {
    for (const std::string& path : inputs_) look_at(CaptureReader(path, {Trust::own}));
  }

  void run() {
    FileInfo info = first_.file();
    info.run_id = options_.run_id;
    info.shard = options_.part;
    CaptureWriter writer(options_.path, info, first_.model(), first_.run(),
                         {.layout = first_.layout(), .packed = plan_});
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (options_.before_each) options_.before_each();
      const CaptureReader input(inputs_[i], {Trust::own});
      if (first_.layout() == FileLayout::packed) {
        append_packed(input, writer);
      } else {
        append_prompts(input, writer);
      }
      append_experiments(input, writer);
      if (options_.kind == JoinKind::merge) append_source(input, i, writer);
      prompts_before_ += input.prompts();
    }
    writer.finish();
  }

 private:
  using WriterState = CaptureWriter::State;

  // Files are opened one after the other: there may be more of them than a process may hold open.
  void look_at(const CaptureReader& input) {
    if (first_.layout() != FileLayout::packed) return;
    plan_.prompts += input.prompts();
    plan_.tokens += input.state_->offsets.back();
    plan_.rows += input.state_->row_offsets.back();
    if (input.state_->root->has("tokens/text")) {
      const h5::Dataset text = input.state_->root->open_dataset("tokens/text");
      plan_.token_text_bytes = std::max(plan_.token_text_bytes, text.type().bytes);
    }
  }

  static std::vector<std::string> packed_names(const CaptureReader& file) {
    const h5::Group& root = *file.state_->root;
    if (!root.is_group("packed")) return {};
    std::vector<std::string> names = root.open_group("packed").names();
    std::erase_if(names, [](const std::string& n) { return n == "offsets" || n == "positions"; });
    return names;
  }

  void append_prompts(const CaptureReader& input, CaptureWriter& writer) const {
    if (input.prompts() == 0) return;
    const h5::Group from = input.state_->root->open_group("prompts");
    for (int p = 0; p < input.prompts(); ++p) {
      writer.state_->prompts->copy(from, prompt_group_name(p),
                                   prompt_group_name(writer.state_->prompt_count++));
    }
  }

  void append_packed(const CaptureReader& input, CaptureWriter& writer) const {
    const CaptureReader::State& from = *input.state_;
    WriterState& to = *writer.state_;
    const std::int64_t first_row = to.packed.row_offsets.back();
    const auto first_prompt = static_cast<std::uint64_t>(to.prompt_count);
    const bool by_position = to.options.packed.rows != to.options.packed.tokens;
    const auto positions = from.root->has("packed/positions")
                               ? read_integers(from.root->open_dataset("packed/positions"))
                               : std::vector<std::int64_t>{};
    const h5::Group groups = from.root->open_group("prompts");
    for (int p = 0; p < input.prompts(); ++p) {
      const auto at = static_cast<std::size_t>(p);
      std::vector<std::int64_t> kept;
      if (by_position && positions.empty()) {
        kept.resize(static_cast<std::size_t>(from.offsets[at + 1] - from.offsets[at]));
        std::iota(kept.begin(), kept.end(), 0);
      } else if (by_position) {
        kept.assign(positions.begin() + from.row_offsets[at],
                    positions.begin() + from.row_offsets[at + 1]);
      }
      if (groups.has(prompt_group_name(p))) {
        to.prompts->copy(groups, prompt_group_name(p), prompt_group_name(to.prompt_count));
      }
      writer.add_prompt(input.prompt(p), kept);
    }
    if (!from.root->is_group("packed")) return;
    const h5::Group packed = from.root->open_group("packed");
    for (const std::string& name : packed_names(input)) {
      const auto hook = parse_hook(name);
      if (!hook) continue;
      const h5::Dataset dataset = packed.open_dataset(name);
      h5::Dataset& target =
          to.packed_site(*hook, dataset.type(), dataset.dims(), dataset.integers("heads"));
      require_same_rows(input, dataset, target);
      copy_rows(dataset, target, static_cast<std::uint64_t>(first_row));
      to.packed.site_rows[*hook] = first_row + from.row_offsets.back();
    }
    for (const Stack stack : {Stack::self, Stack::encoder, Stack::decoder, Stack::cross}) {
      const std::string path = std::string("attention/") + stack_name(stack);
      if (!packed.has(path)) continue;
      const h5::Group group = packed.open_group(path);
      const h5::Dataset stats = group.open_dataset("head_stats");
      AttentionPlan plan{.stack = stack,
                         .layers = read_integers(group.open_dataset("layers")),
                         .n_heads = read_integers(group.open_dataset("n_heads")),
                         .head_stats = stats.texts("names")};
      h5::Dataset& target = to.packed_head_stats(plan);
      require_same_rows(input, stats, target);
      copy_rows(stats, target, first_prompt);
    }
  }

  static void require_same_rows(const CaptureReader& input, const h5::Dataset& from,
                                const h5::Dataset& to) {
    h5::Dims a = from.dims();
    h5::Dims b = to.dims();
    if (!a.empty() && !b.empty()) a[0] = b[0];
    if (a != b || from.type() != to.type() || from.integers("heads") != to.integers("heads")) {
      cannot_join(input.path(), quote(from.path(), 300) + " has another shape, type or heads");
    }
  }

  void append_experiments(const CaptureReader& input, CaptureWriter& writer) const {
    const h5::Group& root = *input.state_->root;
    if (!root.is_group("experiments")) return;
    const h5::Group from = root.open_group("experiments");
    h5::Group to = writer.state_->root->require_group("experiments");
    for (const std::string& name : from.names()) {
      if (to.has(name)) {
        cannot_join(input.path(),
                    "experiment " + quote(name) +
                        " is in two files, and results of "
                        "whole runs are not joined",
                    "parts of one run (--shard I/N), or files with other experiments");
      }
      to.copy(from, name, name);
      const h5::Group experiment = to.open_group(name);
      if (!experiment.has("prompt_index") || prompts_before_ == 0) continue;
      h5::Dataset index = experiment.open_dataset("prompt_index");
      std::vector<std::int64_t> values = read_integers(index);
      for (std::int64_t& value : values) value += prompts_before_;
      write_table(index, bytes_of(values), writer.state_->compressor);
      seal(index);
    }
  }

  void append_source(const CaptureReader& input, std::size_t index, CaptureWriter& writer) const {
    const h5::Group& root = *input.state_->root;
    if (!root.is_group("run")) return;
    h5::Group sources = writer.state_->root->require_group("run/sources");
    std::string name = std::to_string(index);
    name.insert(0, 6 - std::min<std::size_t>(6, name.size()), '0');
    name.insert(name.begin(), 'f');
    sources.copy(root, "run", name);
  }

  JoinOptions options_;
  std::vector<std::string> inputs_;
  CaptureReader first_;
  PackedPlan plan_;
  std::int64_t prompts_before_ = 0;
};

void join_files(const std::vector<std::string>& inputs, const JoinOptions& options) {
  Joiner(inputs, options).run();
}

}  // namespace attnscope::storage_detail
