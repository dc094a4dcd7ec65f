#include "shard_sink.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attnscope/capture/provenance.h"
#include "attnscope/core/tensor_convert.h"
#include "attnscope/support/error.h"
#include "estimate.h"

namespace attnscope {
namespace {

// Only f32 and f64 are stored; narrower runs are widened.
at::Tensor in_stored_type(const at::Tensor& value) {
  return value.to(value.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
}

// A plain loop: an operator of ATen would start threads of its own on the writer thread.
template <typename T>
std::int64_t count_nan(const T* values, std::int64_t count) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) found += values[i] != values[i] ? 1 : 0;
  return found;
}

std::int64_t count_nan(const at::Tensor& stored) {
  return stored.scalar_type() == at::kDouble
             ? count_nan(stored.const_data_ptr<double>(), stored.numel())
             : count_nan(stored.const_data_ptr<float>(), stored.numel());
}

std::uint64_t size_of(const AttentionStatistics& s) {
  const std::size_t words = s.head_stats.size() + s.row_stats.size() + s.topk_index.size() +
                            s.topk_value.size() + s.key_sum.size() + s.value_norm.size();
  return words * sizeof(float) + s.overview.size();
}

// The log-sum-exp of a row is a number unless the row holds NaN.
std::int64_t nan_rows(const AttentionStatistics& s) {
  std::int64_t count = 0;
  constexpr auto kLse = static_cast<std::size_t>(RowStat::lse);
  for (std::size_t i = kLse; i < s.row_stats.size(); i += kRowStatCount) {
    count += std::isnan(s.row_stats[i]) ? 1 : 0;
  }
  return count;
}

AttentionLayer layer_of(const AttentionStatistics& s) {
  AttentionLayer layer;
  layer.head_stats = s.head_stats;
  layer.row_stats = s.row_stats;
  layer.topk_index = s.topk_index;
  layer.topk_value = s.topk_value;
  layer.key_sum = s.key_sum;
  layer.value_norm = s.value_norm;
  layer.overview = s.overview;
  return layer;
}

}  // namespace

void check_stop(const std::atomic<bool>* stop) {
  if (stop == nullptr || !*stop) return;
  throw Error(ErrorKind::interrupted, "CA40", {.what = "stopped by a signal"});
}

AttentionPlan attention_plan(const ModelConfig& config, const CapturePlan& plan, int prompt,
                             int top_k) {
  const auto tokens =
      static_cast<std::int64_t>(plan.prompts[static_cast<std::size_t>(prompt)].size());
  AttentionPlan out;
  for (const int layer : plan.statistics_layers) {
    out.layers.push_back(layer);
    out.n_heads.push_back(config.n_heads(layer));
  }
  out.queries = tokens;
  out.keys = tokens;
  out.top_k = std::min<std::int64_t>(top_k, tokens);
  for (int s = 0; s < kHeadStatCount; ++s) {
    out.head_stats.emplace_back(head_stat_name(static_cast<HeadStat>(s)));
  }
  for (int r = 0; r < kRowStatCount; ++r) {
    out.row_stats.emplace_back(row_stat_name(static_cast<RowStat>(r)));
  }
  out.detail = plan.all_tables ? AttentionDetail::all : AttentionDetail::head_stats;
  return out;
}

ShardSink::ShardSink(const RunContext& run, const ShardPlan& shard, CaptureWriter& writer)
    : run_(run),
      shard_(shard),
      writer_(writer),
      copies_(run.device),
      first_(static_cast<int>(shard.range.first)),
      in_order_(run.plan.layout == FileLayout::packed),
      prompts_(static_cast<std::size_t>(shard.range.count)) {}

int ShardSink::planned(int row) const {
  return batch_->prompts[static_cast<std::size_t>(row)];
}

const HookPlan* ShardSink::find(HookId hook) const {
  for (const HookPlan& plan : run_.plan.hooks) {
    if (plan.hook == hook) return &plan;
  }
  return nullptr;
}

void ShardSink::begin() {
  std::int64_t tokens = 0;
  std::int64_t rows = 0;
  const auto last = shard_.range.first + shard_.range.count;
  const auto at = [](std::int64_t p) { return static_cast<std::size_t>(p); };
  for (std::int64_t p = shard_.range.first; p < last; ++p) {
    const std::size_t own = run_.plan.prompts[at(p)].size();
    const std::size_t kept = run_.plan.positions[at(p)].size();
    tokens += static_cast<std::int64_t>(own);
    rows += static_cast<std::int64_t>(kept == 0 ? own : kept);
  }
  const bool by_position = in_order_ && rows != tokens;
  for (std::int64_t p = shard_.range.first; p < last; ++p) {
    const EncodedPrompt& prompt = run_.plan.prompts[at(p)];
    std::vector<std::int64_t> positions;
    if (by_position) {
      const std::vector<int>& kept = run_.plan.positions[at(p)];
      positions.assign(kept.begin(), kept.end());
      for (std::size_t i = 0; kept.empty() && i < prompt.size(); ++i) {
        positions.push_back(static_cast<std::int64_t>(i));
      }
    }
    run_.pipeline.push(0, [&writer = writer_, &prompt, positions = std::move(positions)] {
      writer.add_prompt(prompt_record(prompt), positions);
    });
  }
}

void ShardSink::begin_batch(const BatchPlan& batch) {
  batch_ = &batch;
  for (const int prompt : batch.prompts) {
    if (is_ours(prompt)) open_attention(prompt);
  }
}

void ShardSink::open_attention(int prompt) {
  PromptState& s = state(prompt);
  s.attention = std::make_shared<int>(-1);
  AttentionPlan tables = attention_plan(run_.config, run_.plan, prompt, run_.spec.top_k);
  run_.pipeline.push(
      0, [&writer = writer_, id = s.attention, file_prompt = in_file(prompt),
          tables = std::move(tables)] { *id = writer.open_attention(file_prompt, tables); });
}

void ShardSink::end_batch() {
  for (const int prompt : batch_->prompts) {
    if (!is_ours(prompt)) continue;
    PromptState& s = state(prompt);
    run_.pipeline.push(0, [&writer = writer_, id = s.attention] { writer.close_attention(*id); });
    s.maps.clear();
    s.done = true;
  }
  batch_ = nullptr;
  release();
}

void ShardSink::release() {
  while (next_ < prompts_.size() && prompts_[next_].done) {
    for (Result& result : prompts_[next_].held) {
      run_.pipeline.push(result.bytes, std::move(result.write));
    }
    prompts_[next_].held.clear();
    ++next_;
  }
}

void ShardSink::deliver(int prompt, std::uint64_t bytes, WritePipeline::Write write) {
  if (!in_order_) return run_.pipeline.push(bytes, std::move(write));
  state(prompt).held.push_back({bytes, std::move(write)});
}

Want ShardSink::want(HookId hook) const {
  Want want;
  const std::vector<int>& layers = run_.plan.statistics_layers;
  want.statistics =
      hook.site == Site::pattern && std::binary_search(layers.begin(), layers.end(), hook.layer);
  want.top_k = run_.spec.top_k;
  const HookPlan* plan = find(hook);
  if (plan == nullptr) return want;
  want.value = !plan->map;
  want.maps = plan->map;
  if (plan->map) want.heads = plan->heads;
  return want;
}

HostCopy ShardSink::stored_part(const HookPlan& hook, const at::Tensor& value, int prompt) const {
  at::Tensor part = value;
  const std::vector<int>& positions = run_.plan.positions[static_cast<std::size_t>(prompt)];
  const auto select = [&part](int dim, const std::vector<int>& which) {
    if (which.empty()) return;
    const std::vector<std::int64_t> index(which.begin(), which.end());
    part = part.index_select(dim, at::tensor(index, at::kLong).to(part.device()));
  };
  select(0, positions);
  select(1, hook.heads);
  const at::Tensor stored = in_stored_type(part).contiguous();
  // The runtime may use the memory of `value` again.
  return copies_.start(stored.is_alias_of(value) ? stored.clone() : stored);
}

void ShardSink::on_value(HookId hook, const at::Tensor& value, const Batch& batch) {
  check_stop(run_.stop);
  const HookPlan& plan = *find(hook);
  for (int row = 0; row < batch.size(); ++row) {
    const int prompt = planned(row);
    if (!is_ours(prompt)) continue;
    HostCopy stored = stored_part(plan, unpadded(value, batch, row), prompt);
    Subset subset;
    subset.heads.assign(plan.heads.begin(), plan.heads.end());
    const std::vector<int>& positions = run_.plan.positions[static_cast<std::size_t>(prompt)];
    auto& kept =
        position_axis(hook.site) == PositionAxis::key ? subset.k_positions : subset.q_positions;
    kept.assign(positions.begin(), positions.end());
    const std::uint64_t bytes = stored.bytes();
    deliver(prompt, bytes,
            [&writer = writer_, &nan = run_.nan_values, file_prompt = in_file(prompt), hook,
             stored = std::move(stored), subset = std::move(subset)] {
              const at::Tensor& values = stored.wait();
              nan += count_nan(values);
              writer.write_site(file_prompt, hook, view_of(values), subset);
            });
  }
}

void ShardSink::on_map_rows(HookId hook, const MapRows& rows, const Batch& batch) {
  check_stop(run_.stop);
  const HookPlan& plan = *find(hook);
  const ResultPath path{run_.pipeline, writer_, run_.nan_values};
  const at::Tensor values = in_stored_type(rows.values.to(at::kCPU));
  for (int row = 0; row < batch.size(); ++row) {
    const RowSpan span = batch.rows[static_cast<std::size_t>(row)];
    const int prompt = planned(row);
    if (!is_ours(prompt)) continue;
    // The part of this block that is real queries of the row.
    const std::int64_t begin = std::max(rows.q_begin, span.start);
    const std::int64_t end =
        std::min<std::int64_t>(rows.q_begin + values.size(2), span.start + span.length);
    if (begin >= end) continue;
    auto& maps = state(prompt).maps;
    auto it = maps.find(hook);
    if (it == maps.end()) {
      MapSpec spec = map_spec(run_.config, plan, run_.spec, span.length,
                              run_.plan.positions[static_cast<std::size_t>(prompt)]);
      it = maps.emplace(hook, MapAssembler(path, in_file(prompt), hook, std::move(spec))).first;
    }
    it->second.add(
        values[row].narrow(1, begin - rows.q_begin, end - begin).narrow(2, span.start, span.length),
        begin - span.start);
  }
}

void ShardSink::on_statistics(HookId hook, std::span<const AttentionStatistics> rows,
                              const Batch& batch) {
  check_stop(run_.stop);
  if (run_.layer_done) run_.layer_done();
  const auto& layers = run_.plan.statistics_layers;
  const std::int64_t slot = std::find(layers.begin(), layers.end(), hook.layer) - layers.begin();
  for (int row = 0; row < batch.size(); ++row) {
    const int prompt = planned(row);
    if (!is_ours(prompt)) continue;
    auto statistics =
        std::make_shared<const AttentionStatistics>(rows[static_cast<std::size_t>(row)]);
    run_.summary.add(hook.layer, statistics->head_stats);
    run_.nan_values += nan_rows(*statistics);
    run_.pipeline.push(size_of(*statistics),
                       [&writer = writer_, id = state(prompt).attention, slot, statistics] {
                         writer.write_attention(*id, slot, layer_of(*statistics));
                       });
  }
}

}  // namespace attnscope
