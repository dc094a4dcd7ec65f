// Attention with its maps made explicit: scores → pattern → z, one block of queries after another.
#include <c10/core/GradMode.h>

#include <ATen/Parallel.h>

#include <algorithm>

#include "attention.h"
#include "layer_statistics.h"
#include "map_blocks.h"

namespace attnscope {
namespace {

bool has_edit(const HookUsers* users) {
  return users != nullptr && users->edit != nullptr;
}
bool has_changes(const HookUsers* users) {
  return users != nullptr && users->changes();
}

bool shows_maps(const HookUsers* users) {
  return users != nullptr &&
         std::any_of(users->listeners.begin(), users->listeners.end(),
                     [](const Listener& listener) { return listener.want.maps; });
}

class ExplicitLayer {
 public:
  ExplicitLayer(Run& run, int layer, const Heads& heads, const ExplicitRequest& request)
      : run_(run),
        layer_(layer),
        spec_(run.config.layers[static_cast<std::size_t>(layer)].attention),
        request_(request),
        score_users_(users(Site::attn_scores)),
        pattern_users_(users(Site::pattern)),
        v_(heads.v),
        statistics_(run, layer, pattern_users_) {
    const bool in_place = run.model.device.is_cpu() && !run.differentiable();
    blocks_ = in_place ? make_in_place_blocks(run, spec_, head_group(heads))
                       : make_composed_blocks(run, spec_, head_group(heads));
  }

  at::Tensor compute() {
    const std::vector<QueryBlock> blocks = query_blocks();
    std::vector<at::Tensor> z;
    if (has_edit(score_users_) || has_edit(pattern_users_)) {
      z = with_whole_maps(blocks);
    } else {
      for (const QueryBlock& block : blocks) {
        at::Tensor scores = changed_scores(block);
        show(score_users_, scores, block);
        RowSums sums;
        const at::Tensor pattern = changed_pattern(scores, block, sums);
        z.push_back(finish_block(pattern, block, sums));
      }
    }
    finish_statistics();
    if (request_.output == ExplicitOutput::shown) return {};
    return at::cat(z, 1).to(run_.model.token_embedding.scalar_type());
  }

 private:
  const HookUsers* users(Site site) const {
    return request_.output == ExplicitOutput::z ? nullptr : run_.taps.users(site, layer_);
  }
  HeadGroup head_group(const Heads& heads) const;
  std::vector<QueryBlock> query_blocks() const;
  MapWidth score_width() const;
  MapWidth pattern_width() const;
  at::Tensor changed_scores(const QueryBlock& block);
  at::Tensor changed_pattern(at::Tensor scores, const QueryBlock& block, RowSums& sums);
  at::Tensor finish_block(at::Tensor pattern, const QueryBlock& block, const RowSums& sums);
  std::vector<at::Tensor> with_whole_maps(const std::vector<QueryBlock>& blocks);
  KeyRange keys_with_mass(const at::Tensor& pattern, const QueryBlock& block) const;
  void change(const HookUsers* users, at::Tensor& maps, const QueryBlock& block);
  void show(const HookUsers* users, at::Tensor& maps, const QueryBlock& block);
  MapBlock map_block(const at::Tensor& maps, const QueryBlock& block) const {
    return {maps, request_.heads, block.begin, run_.n_queries()};
  }
  void add_statistics(const at::Tensor& pattern, const QueryBlock& block, const RowSums& sums);
  template <typename T>
  void add_rows(const at::Tensor& pattern, const QueryBlock& block, const RowSums& sums);
  void finish_statistics();

  Run& run_;
  int layer_;
  const AttentionSpec& spec_;
  const ExplicitRequest& request_;
  const HookUsers* score_users_;
  const HookUsers* pattern_users_;
  at::Tensor v_;
  std::unique_ptr<MapBlocks> blocks_;
  LayerStatistics statistics_;
};

HeadGroup ExplicitLayer::head_group(const Heads& heads) const {
  const at::ScalarType type = accumulation_type(heads.q.scalar_type());
  const std::int64_t per_group = spec_.n_heads / spec_.n_kv_heads;
  at::Tensor q = heads.q.to(type);
  at::Tensor k = heads.k.to(type).transpose(1, 2);
  at::Tensor v = heads.v.to(type).transpose(1, 2);
  at::Tensor sink = run_.model.layer(layer_).sink;
  HeadGroup group;
  if (static_cast<int>(request_.heads.size()) == spec_.n_heads) {
    group = {q.unflatten(2, {spec_.n_kv_heads, per_group}), k, v, sink};
  } else {
    std::vector<std::int64_t> q_heads(request_.heads.begin(), request_.heads.end());
    std::vector<std::int64_t> kv_heads;
    for (const std::int64_t head : q_heads) kv_heads.push_back(head / per_group);
    const auto index = [&](const std::vector<std::int64_t>& values) {
      return at::tensor(values, at::TensorOptions(at::kLong)).to(run_.model.device);
    };
    group = {q.index_select(2, index(q_heads)).unsqueeze(3), k.index_select(1, index(kv_heads)),
             v.index_select(1, index(kv_heads)),
             sink.defined() ? sink.index_select(0, index(q_heads)) : sink};
  }
  return group;
}

std::vector<QueryBlock> ExplicitLayer::query_blocks() const {
  std::vector<QueryBlock> blocks;
  for (int begin = request_.q_begin; begin < request_.q_end; begin += kQueryBlock) {
    const int end = std::min(begin + kQueryBlock, request_.q_end);
    blocks.push_back({begin, end, keys_in_sight(run_, spec_, begin, end)});
  }
  return blocks;
}

MapWidth ExplicitLayer::score_width() const {
  return score_users_ != nullptr ? MapWidth::whole : MapWidth::visible;
}

MapWidth ExplicitLayer::pattern_width() const {
  if (has_changes(pattern_users_) || has_changes(score_users_) || shows_maps(pattern_users_)) {
    return MapWidth::whole;
  }
  return statistics_.wanted() ? MapWidth::to_end : MapWidth::visible;
}

// Interventions write in place; where autograd records, into a copy.
void ExplicitLayer::change(const HookUsers* users, at::Tensor& maps, const QueryBlock& block) {
  if (users == nullptr || users->interventions.empty()) return;
  if (run_.differentiable()) maps = maps.clone();
  run_.taps.change_maps(*users, map_block(maps, block), spec_);
}

// An observer may keep the rows it is shown; the block then goes on in other memory.
void ExplicitLayer::show(const HookUsers* users, at::Tensor& maps, const QueryBlock& block) {
  if (!shows_maps(users)) return;
  const auto holders = maps.storage().use_count();
  run_.taps.show_maps(*users, map_block(maps, block));
  if (maps.storage().use_count() <= holders || run_.differentiable()) return;
  maps = maps.clone();
  run_.map_scratch = maps.flatten();
}

at::Tensor ExplicitLayer::changed_scores(const QueryBlock& block) {
  at::Tensor scores = blocks_->scores(block, score_width());
  change(score_users_, scores, block);
  return scores;
}

at::Tensor ExplicitLayer::changed_pattern(at::Tensor scores, const QueryBlock& block,
                                          RowSums& sums) {
  at::Tensor pattern =
      blocks_->pattern(std::move(scores), block, pattern_width(), has_changes(score_users_), sums);
  change(pattern_users_, pattern, block);
  return pattern;
}

// The block's keys, or all keys when a change put weight on a hidden one.
KeyRange ExplicitLayer::keys_with_mass(const at::Tensor& pattern, const QueryBlock& block) const {
  const int n_keys = run_.n_keys();
  if (!has_changes(pattern_users_) && !has_changes(score_users_)) return block.keys;
  const c10::NoGradGuard no_grad;
  const at::Tensor before = pattern.narrow(3, 0, block.keys.begin);
  const at::Tensor after = pattern.narrow(3, block.keys.end, n_keys - block.keys.end);
  const bool outside = before.count_nonzero().item<std::int64_t>() > 0 ||
                       after.count_nonzero().item<std::int64_t>() > 0;
  return outside ? KeyRange{0, n_keys} : block.keys;
}

at::Tensor ExplicitLayer::finish_block(at::Tensor pattern, const QueryBlock& block,
                                       const RowSums& sums) {
  show(pattern_users_, pattern, block);
  add_statistics(pattern, block, sums);
  if (request_.output == ExplicitOutput::shown) return {};
  return blocks_->z(pattern, block, keys_with_mass(pattern, block));
}

// Edit callbacks get maps of all queries at once. The products keep the shapes of the blocks, so
// that an edit that changes nothing changes no bit.
std::vector<at::Tensor> ExplicitLayer::with_whole_maps(const std::vector<QueryBlock>& blocks) {
  std::vector<at::Tensor> parts;
  for (const QueryBlock& block : blocks) {
    parts.push_back(changed_scores(block));
    if (!run_.differentiable()) parts.back() = parts.back().clone();
  }
  at::Tensor maps = at::cat(parts, 2);
  if (score_users_ != nullptr) maps = run_.taps.edit_maps(*score_users_, maps);
  const auto rows_of = [&maps, this](const QueryBlock& block) {
    return maps.narrow(2, block.begin - request_.q_begin, block.count()).contiguous();
  };

  parts.clear();
  std::vector<RowSums> sums(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    at::Tensor scores = rows_of(blocks[i]);
    if (!run_.differentiable()) scores = scores.clone();
    show(score_users_, scores, blocks[i]);
    parts.push_back(changed_pattern(scores, blocks[i], sums[i]));
  }
  maps = at::cat(parts, 2);
  if (pattern_users_ != nullptr) maps = run_.taps.edit_maps(*pattern_users_, maps);

  std::vector<at::Tensor> z;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    z.push_back(finish_block(rows_of(blocks[i]), blocks[i], sums[i]));
  }
  return z;
}

void ExplicitLayer::add_statistics(const at::Tensor& pattern, const QueryBlock& block,
                                   const RowSums& sums) {
  if (!statistics_.wanted()) return;
  const c10::NoGradGuard no_grad;
  const at::Tensor rows = pattern.detach().cpu().contiguous();
  const RowSums host = {sums.lse.detach().cpu().contiguous(),
                        sums.sink_mass.detach().cpu().contiguous()};
  if (rows.scalar_type() == at::kDouble) {
    add_rows<double>(rows, block, host);
  } else {
    add_rows<float>(rows, block, host);
  }
}

template <typename T>
void ExplicitLayer::add_rows(const at::Tensor& pattern, const QueryBlock& block,
                             const RowSums& sums) {
  const std::int64_t n_keys = pattern.size(3);
  const std::int64_t n_heads = pattern.size(1);
  const bool whole = pattern_width() == MapWidth::whole || !run_.model.device.is_cpu();
  const T* const values = pattern.const_data_ptr<T>();
  const T* const lse = sums.lse.const_data_ptr<T>();
  const T* const sink_mass = sums.sink_mass.const_data_ptr<T>();
  const auto n_rows = static_cast<std::int64_t>(run_.frames.size());
  at::parallel_for(0, n_rows * n_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto b = static_cast<std::size_t>(i / n_heads);
      const RowFrame& frame = run_.frames[b];
      const int first = std::max(block.begin, frame.q_start);
      const int last = std::min(block.end, frame.q_start + frame.q_length);
      if (first >= last) continue;
      const std::int64_t row = i * block.count() + (first - block.begin);
      const int known = std::clamp(block.keys.end - frame.k_start, 0, frame.k_length);
      statistics_.of_row(b).add_rows(static_cast<int>(i % n_heads), first - frame.q_start,
                                     last - first, values + row * n_keys + frame.k_start, n_keys,
                                     lse + row, sink_mass + row, whole ? frame.k_length : known);
    }
  });
}

void ExplicitLayer::finish_statistics() {
  if (!statistics_.wanted()) return;
  const c10::NoGradGuard no_grad;
  statistics_.finish(v_.detach());
}

}  // namespace

at::Tensor explicit_attention(Run& run, int layer, const Heads& heads,
                              const ExplicitRequest& request) {
  return ExplicitLayer(run, layer, heads, request).compute();
}

}  // namespace attnscope
