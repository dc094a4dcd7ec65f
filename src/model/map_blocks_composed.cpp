// Blocks of maps composed from LibTorch's operators: nothing is written in place, so autograd can
// record it, and it runs on every device.
#include <c10/core/GradMode.h>

#include <limits>
#include <utility>

#include "layers.h"
#include "map_blocks.h"

namespace attnscope {
namespace {

class ComposedBlocks final : public MapBlocks {
 public:
  ComposedBlocks(Run& run, const AttentionSpec& spec, HeadGroup group)
      : run_(run), spec_(spec), group_(std::move(group)) {}

  at::Tensor scores(const QueryBlock& block, MapWidth) override {
    at::Tensor queries = group_.q.narrow(1, block.begin, block.count()).permute({0, 2, 3, 1, 4});
    at::Tensor maps = at::matmul(queries.flatten(2, 3) * spec_.scale, group_.k.transpose(-1, -2))
                          .unflatten(2, {queries.size(2), queries.size(3)})
                          .flatten(1, 2);
    if (spec_.softcap != 0) maps = soft_cap(maps, spec_.softcap);
    return maps.masked_fill(hidden_keys(run_, spec_, block.begin, block.end),
                            -std::numeric_limits<double>::infinity());
  }

  at::Tensor pattern(at::Tensor scores, const QueryBlock& block, MapWidth, bool,
                     RowSums& sums) override {
    const at::Tensor masked = scores == -std::numeric_limits<double>::infinity();
    const at::Tensor empty_rows = masked.all(-1, true);
    count_empty_rows(empty_rows, block);
    // Softmax of a row without a visible key would be NaN, and so would its gradient.
    const at::Tensor safe = scores.masked_fill(empty_rows, 0);
    at::Tensor with_sink = safe;
    if (group_.sink.defined()) {
      const at::Tensor sink = group_.sink.to(scores.options()).view({1, -1, 1, 1});
      with_sink = at::cat({safe, sink.expand({safe.size(0), -1, safe.size(2), 1})}, -1);
    }
    const at::Tensor weights = at::softmax(with_sink, -1);
    at::Tensor pattern = weights.narrow(-1, 0, scores.size(-1));
    if (spec_.softmax_mix != 1) {
      pattern = spec_.softmax_mix * pattern + (1 - spec_.softmax_mix);
      pattern = pattern.masked_fill(masked, 0);
    }
    pattern = pattern.masked_fill(empty_rows, 0);
    sums.lse = at::logsumexp(with_sink, {-1});
    sums.sink_mass =
        group_.sink.defined() ? weights.select(-1, scores.size(-1)) : at::zeros_like(sums.lse);
    return pattern;
  }

  at::Tensor z(const at::Tensor& pattern, const QueryBlock&, KeyRange) override {
    const std::int64_t n_groups = group_.q.size(2);
    const std::int64_t per_group = group_.q.size(3);
    const at::Tensor rows = pattern.unflatten(1, {n_groups, per_group}).flatten(2, 3);
    return at::matmul(rows, group_.v)
        .unflatten(2, {per_group, pattern.size(2)})
        .flatten(1, 2)
        .transpose(1, 2);
  }

 private:
  void count_empty_rows(const at::Tensor& empty_rows, const QueryBlock& block) {
    const c10::NoGradGuard no_grad;
    if (!empty_rows.any().item<bool>()) return;
    for (std::size_t b = 0; b < run_.frames.size(); ++b) {
      const RowFrame& frame = run_.frames[b];
      const int begin = std::max(block.begin, frame.q_start);
      const int end = std::min(block.end, frame.q_start + frame.q_length);
      if (begin >= end) continue;
      run_.result.fully_masked_rows += empty_rows.select(0, static_cast<std::int64_t>(b))
                                           .narrow(1, begin - block.begin, end - begin)
                                           .sum()
                                           .item<std::int64_t>();
    }
  }

  Run& run_;
  const AttentionSpec& spec_;
  HeadGroup group_;
};

}  // namespace

std::unique_ptr<MapBlocks> make_composed_blocks(Run& run, const AttentionSpec& spec,
                                                HeadGroup group) {
  return std::make_unique<ComposedBlocks>(run, spec, std::move(group));
}

}  // namespace attnscope
