// Blocks of maps in one reused buffer. Fresh tensors of [h q k] would cost more in page faults than
// the arithmetic; causal blocks compute no key behind their last query.
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "layers.h"
#include "map_blocks.h"
#include "softmax_rows.h"

namespace attnscope {
namespace {

// Rows of maps that one task of a thread handles.
constexpr std::int64_t kRowsPerTask = 16;

class InPlaceBlocks final : public MapBlocks {
 public:
  InPlaceBlocks(Run& run, const AttentionSpec& spec, HeadGroup group)
      : run_(run),
        spec_(spec),
        group_(std::move(group)),
        batch_(group_.q.size(0)),
        n_groups_(group_.q.size(2)),
        per_group_(group_.q.size(3)),
        d_head_(group_.q.size(4)),
        n_keys_(run.n_keys()) {
    group_.k = group_.k.contiguous();
    group_.v = group_.v.contiguous();
    if (group_.sink.defined()) group_.sink = group_.sink.to(group_.q.options()).contiguous();
  }

  at::Tensor scores(const QueryBlock& block, MapWidth width) override;
  at::Tensor pattern(at::Tensor scores, const QueryBlock& block, MapWidth width, bool changed,
                     RowSums& sums) override;
  at::Tensor z(const at::Tensor& pattern, const QueryBlock& block, KeyRange keys) override;

 private:
  std::int64_t n_heads() const { return n_groups_ * per_group_; }
  at::Tensor scratch(const QueryBlock& block);
  // [b h' q' k] as one matrix for each row and group, [b·g' r·q' k].
  at::Tensor by_group(const at::Tensor& maps) const {
    return maps.view({batch_ * n_groups_, per_group_ * maps.size(2), n_keys_});
  }
  at::Tensor scaled_queries(const QueryBlock& block) const;
  void score_all(const at::Tensor& queries, at::Tensor rows, KeyRange keys) const;
  KeyRange filled(const QueryBlock& block, MapWidth width) const;
  template <typename T>
  void hide(T* maps, const QueryBlock& block) const;
  template <typename T>
  void softmax_all(T* maps, const QueryBlock& block, KeyRange fill, bool changed, T* lse,
                   T* sink_mass);
  template <typename Function>
  void for_each_row(const QueryBlock& block, Function&& function) const;

  Run& run_;
  const AttentionSpec& spec_;
  HeadGroup group_;
  std::int64_t batch_;
  std::int64_t n_groups_;
  std::int64_t per_group_;
  std::int64_t d_head_;
  std::int64_t n_keys_;
};

at::Tensor InPlaceBlocks::scratch(const QueryBlock& block) {
  const std::int64_t needed = batch_ * n_heads() * block.count() * n_keys_;
  if (!run_.map_scratch.defined() || run_.map_scratch.numel() < needed) {
    run_.map_scratch = at::empty({needed}, group_.q.options());
  }
  return run_.map_scratch.narrow(0, 0, needed).view({batch_, n_heads(), block.count(), n_keys_});
}

// [b·g' r·q' d]
at::Tensor InPlaceBlocks::scaled_queries(const QueryBlock& block) const {
  at::Tensor queries =
      at::empty({batch_, n_groups_, per_group_, block.count(), d_head_}, group_.q.options());
  queries.copy_(group_.q.narrow(1, block.begin, block.count()).permute({0, 2, 3, 1, 4}));
  return queries.mul_(spec_.scale).view({batch_ * n_groups_, per_group_ * block.count(), d_head_});
}

// rows[:, :, keys] := queries·Kᵀ. A product into a part of the rows is made matrix by matrix: the
// batched one would go through a copy.
void InPlaceBlocks::score_all(const at::Tensor& queries, at::Tensor rows, KeyRange keys) const {
  const std::int64_t count = keys.end - keys.begin;
  const at::Tensor k = group_.k.flatten(0, 1).narrow(1, keys.begin, count).transpose(1, 2);
  if (count == n_keys_) {
    at::bmm_out(rows, queries, k);
    return;
  }
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    at::Tensor part = rows.select(0, i).narrow(1, keys.begin, count);
    at::mm_out(part, queries.select(0, i), k.select(0, i));
  }
}

KeyRange InPlaceBlocks::filled(const QueryBlock& block, MapWidth width) const {
  switch (width) {
    case MapWidth::visible:
      return block.keys;
    case MapWidth::to_end:
      return {0, block.keys.end};
    case MapWidth::whole:
      break;
  }
  return {0, static_cast<int>(n_keys_)};
}

// Calls function(offset of the row, b, h', query slot) for every row of a block.
template <typename Function>
void InPlaceBlocks::for_each_row(const QueryBlock& block, Function&& function) const {
  const std::int64_t queries = block.count();
  at::parallel_for(0, batch_ * n_heads() * queries, kRowsPerTask,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t row = begin; row < end; ++row) {
                       const std::int64_t head = row / queries;
                       function(row, head / n_heads(), head % n_heads(),
                                block.begin + static_cast<int>(row % queries));
                     }
                   });
}

template <typename T>
void InPlaceBlocks::hide(T* maps, const QueryBlock& block) const {
  constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();
  for_each_row(block, [&](std::int64_t row, std::int64_t b, std::int64_t, int slot) {
    T* const values = maps + row * n_keys_;
    const KeyRange keys = run_.frames[static_cast<std::size_t>(b)].visible(slot, spec_);
    std::fill(values, values + keys.begin, kMinusInfinity);
    std::fill(values + keys.end, values + n_keys_, kMinusInfinity);
  });
}

// Whether somebody gave a hidden key a score.
template <typename T>
bool any_outside(const T* values, KeyRange keys, std::int64_t count) {
  const auto finite = [](T value) { return value != -std::numeric_limits<T>::infinity(); };
  return std::any_of(values, values + keys.begin, finite) ||
         std::any_of(values + keys.end, values + count, finite);
}

template <typename T>
void InPlaceBlocks::softmax_all(T* maps, const QueryBlock& block, KeyRange fill, bool changed,
                                T* lse, T* sink_mass) {
  const T* const sinks = group_.sink.defined() ? group_.sink.const_data_ptr<T>() : nullptr;
  std::atomic<std::int64_t> fully_masked{0};
  for_each_row(block, [&](std::int64_t row, std::int64_t b, std::int64_t h, int slot) {
    T* const values = maps + row * n_keys_;
    const RowFrame& frame = run_.frames[static_cast<std::size_t>(b)];
    KeyRange keys = frame.visible(slot, spec_);
    const bool pad = keys.begin == keys.end;
    if (changed && any_outside(values, keys, n_keys_)) keys = {0, static_cast<int>(n_keys_)};
    const SoftmaxSums<T> sums =
        softmax_row(SoftmaxRow<T>{.values = values,
                                  .begin = keys.begin,
                                  .end = keys.end,
                                  .mix = spec_.softmax_mix,
                                  .sink = sinks == nullptr ? nullptr : sinks + h});
    if (keys.begin > fill.begin) std::fill(values + fill.begin, values + keys.begin, T{0});
    if (keys.end < fill.end) std::fill(values + keys.end, values + fill.end, T{0});
    lse[row] = sums.lse;
    sink_mass[row] = sums.sink_mass;
    if (!pad && sums.lse == -std::numeric_limits<T>::infinity()) ++fully_masked;
  });
  run_.result.fully_masked_rows += fully_masked;
}

at::Tensor InPlaceBlocks::scores(const QueryBlock& block, MapWidth width) {
  at::Tensor maps = scratch(block);
  score_all(scaled_queries(block), by_group(maps), block.keys);
  if (spec_.softcap != 0) {
    at::Tensor computed = maps.narrow(3, block.keys.begin, block.keys.end - block.keys.begin);
    computed.copy_(soft_cap(computed, spec_.softcap));
  }
  if (width != MapWidth::whole) return maps;
  if (maps.scalar_type() == at::kDouble) {
    hide(maps.mutable_data_ptr<double>(), block);
  } else {
    hide(maps.mutable_data_ptr<float>(), block);
  }
  return maps;
}

at::Tensor InPlaceBlocks::pattern(at::Tensor scores, const QueryBlock& block, MapWidth width,
                                  bool changed, RowSums& sums) {
  sums.lse = at::empty({batch_, n_heads(), block.count()}, scores.options());
  sums.sink_mass = at::empty_like(sums.lse);
  const auto run_softmax = [&]<typename T>(T) {
    softmax_all(scores.mutable_data_ptr<T>(), block, filled(block, width), changed,
                sums.lse.mutable_data_ptr<T>(), sums.sink_mass.mutable_data_ptr<T>());
  };
  if (scores.scalar_type() == at::kDouble) {
    run_softmax(double{});
  } else {
    run_softmax(float{});
  }
  return scores;
}

at::Tensor InPlaceBlocks::z(const at::Tensor& pattern, const QueryBlock& block, KeyRange keys) {
  const at::Tensor rows = by_group(pattern);
  at::Tensor out = at::empty({rows.size(0), rows.size(1), d_head_}, rows.options());
  const std::int64_t count = keys.end - keys.begin;
  at::bmm_out(out, rows.narrow(2, keys.begin, count),
              group_.v.flatten(0, 1).narrow(1, keys.begin, count));
  return out.view({batch_, n_heads(), block.count(), d_head_}).transpose(1, 2);
}

}  // namespace

std::unique_ptr<MapBlocks> make_in_place_blocks(Run& run, const AttentionSpec& spec,
                                                HeadGroup group) {
  return std::make_unique<InPlaceBlocks>(run, spec, std::move(group));
}

}  // namespace attnscope
