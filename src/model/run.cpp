#include "run.h"

#include <algorithm>
#include <span>

#include "attnscope/kernels/attention_statistics.h"

namespace attnscope {
namespace {

bool same_rotation(const RopeSpec& a, const RopeSpec& b) {
  return a.rotary_dims == b.rotary_dims && a.theta == b.theta && a.layout == b.layout &&
         a.scaling == b.scaling && a.factor == b.factor &&
         a.original_context == b.original_context && a.low_freq_factor == b.low_freq_factor &&
         a.high_freq_factor == b.high_freq_factor && a.beta_fast == b.beta_fast &&
         a.beta_slow == b.beta_slow && a.attention_factor == b.attention_factor &&
         a.truncate == b.truncate && a.short_factor == b.short_factor &&
         a.long_factor == b.long_factor;
}

}  // namespace

Run::Run(const ModelWeights& weights, const Batch& tokens, std::vector<RowFrame> row_frames,
         const Taps& wanted, const RunOptions& run_options)
    : model(weights),
      config(weights.config),
      batch(tokens),
      options(run_options),
      frames(std::move(row_frames)),
      taps(wanted, weights.sites, tokens, frames),
      copies(weights.device) {}

const RopeTable& Run::rope(int layer) {
  const RopeSpec& spec = config.layers[static_cast<std::size_t>(layer)].attention.rope;
  for (const auto& [known, table] : rope_tables_) {
    if (same_rotation(*known, spec)) return table;
  }
  // Angles are kept in float32 or better and meet the heads in their own type.
  const at::TensorOptions options_of_heads = model.token_embedding.options();
  rope_tables_.emplace_back(&spec, rope_table(spec, batch.position_ids, options_of_heads));
  return rope_tables_.back().second;
}

const at::Tensor& Run::previous_same() {
  if (previous_same_.defined()) return previous_same_;
  const auto length = static_cast<std::size_t>(batch.padded_length());
  const std::span<const std::int64_t> ids(batch.ids.const_data_ptr<std::int64_t>(),
                                          batch.rows.size() * length);
  std::vector<std::int32_t> previous(ids.size(), -1);
  for (std::size_t b = 0; b < batch.rows.size(); ++b) {
    const std::size_t first = b * length + static_cast<std::size_t>(batch.rows[b].start);
    const std::vector<std::int32_t> row =
        previous_same_ids(ids.subspan(first, static_cast<std::size_t>(batch.rows[b].length)));
    std::copy(row.begin(), row.end(), previous.begin() + static_cast<std::ptrdiff_t>(first));
  }
  previous_same_ = upload(previous, model.device).view(batch.ids.sizes());
  return previous_same_;
}

at::Tensor Run::read_rows(const at::Tensor& x) const {
  if (!narrowed()) return x;
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes[1] = 1;
  at::Tensor slots = read_slots;
  while (slots.dim() < x.dim()) slots = slots.unsqueeze(-1);
  return x.gather(1, slots.expand(sizes));
}

int Run::n_keys() const {
  if (shared == nullptr) return batch.padded_length();
  int longest = 0;
  for (const RowFrame& frame : frames) longest = std::max(longest, frame.k_length);
  return longest;
}

}  // namespace attnscope
