// File: part_pass.h
// A part of one head in tiles: scores of some queries by one product per panel of keys, a loop
// over their rows that makes weights of scores and takes what is wanted of them, z by products
// again. Hidden keys are computed only where a tile cuts the edge of the mask.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "aligned_buffer.h"
#include "attnscope/kernels/tiled_attention.h"
#include "head_statistics.h"

namespace attnscope {

inline constexpr int kTileRows = 64;
// Keys of one product. Transposed keys lie in panels of so many.
inline constexpr int kPanelKeys = 256;

// What all heads of a layer have in common.
template <typename T>
struct TiledLayer {
  TiledAttentionInput<T> input;
  TiledAttentionOutput<T> output;
  int tile_rows = kTileRows;
  std::int64_t row_width = 0;  // values from one row of a tile to the next
  AlignedBuffer<T> keys;       // times the scale, [g panel d key]
  AlignedBuffer<T> shaw_keys;  // times the scale, [d distance]
  AlignedBuffer<T> distances;  // |i| at n_queries + i; for statistics

  int kv_head(int head) const { return head / (input.spec->n_heads / input.spec->n_kv_heads); }
  int shaw_width() const { return input.shaw.key != nullptr ? 2 * input.shaw.clip + 1 : 0; }
  // Keys that a query sees at its position.
  Interval visible_keys(int query) const;
  // The panels of one kv head.
  T* panels(int kv_head) const;
  void transpose_keys(int kv_head);
  void transpose_shaw_keys();
  void fill_distances();
  const T* distances_from(int query, int first_key) const {
    return distances.data() + input.n_queries + (first_key - query);
  }
};

template <typename T>
struct TiledBuffers {
  AlignedBuffer<T> scores;       // of a tile, then its weights: [query key]
  AlignedBuffer<T> shaw_scores;  // of a tile, then its weights summed by distance
  std::unique_ptr<TopKeysScratch<T>> top_keys;
};

template <typename T>
class PartPass {
 public:
  // `statistics` is null where none are wanted.
  PartPass(const TiledLayer<T>& layer, const TiledPart<T>& part, TiledBuffers<T>& buffers,
           HeadStatistics* statistics);

  void run();

 private:
  // Some queries and the least interval that holds every key that one of them sees.
  struct Tile {
    Interval queries;
    Interval keys;
  };

  void score(const Tile& tile);
  void weigh(const Tile& tile);
  void combine(const Tile& tile);

  PatternRow<T> weigh_row(const Tile& tile, int query) const;
  void finish_scores(const Tile& tile, int query, T* scores, Interval keys) const;
  void add_shaw_scores(const T* by_distance, int position, T* scores, Interval keys) const;
  void softmax(PatternRow<T>& row, T* values) const;
  void add_shaw_values(const Tile& tile) const;
  void store_pattern(const PatternRow<T>& row) const;

  // Scores, then weights, of one query from the tile's first key on.
  T* row_of(const Tile& tile, int query) const {
    return buffers_.scores.data() + (query - tile.queries.begin) * layer_.row_width;
  }
  T* shaw_row_of(const Tile& tile, int query) const {
    return buffers_.shaw_scores.data() + (query - tile.queries.begin) * layer_.shaw_width();
  }

  const TiledLayer<T>& layer_;
  const TiledAttentionInput<T>& in_;
  const TiledAttentionOutput<T>& out_;
  const TiledPart<T>& part_;
  int head_;
  int kv_head_;
  const T* sink_;  // its logit, or null
  TiledBuffers<T>& buffers_;
  HeadStatistics* statistics_;
  std::array<T, kTileRows> factors_{};  // of the tile's rows: pattern = factor·weight
};

}  // namespace attnscope
