// File: tiled_attention.h
// Attention of one layer for one prompt, in tiles: scores exist for a block of queries at a time,
// and what is wanted of them (z, log-sum-exp, exact statistics, rows of chosen maps) is made while
// they are in the cache. No [q k] array is held. Notation: h query head, g kv head, q query, k key,
// d head dim; r = h / g query heads read one kv head.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attnscope/kernels/attention_spec.h"
#include "attnscope/kernels/attention_statistics.h"

namespace attnscope {

enum class Accumulate : std::uint8_t { no, yes };

// c [m n] = a [m k]·b [k n], or c += a·b; row-major, `ld*` values from one row to the next.
template <typename T>
struct MatrixTask {
  std::int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  std::int64_t lda = 0;
  const T* b = nullptr;
  std::int64_t ldb = 0;
  T* c = nullptr;
  std::int64_t ldc = 0;
  Accumulate accumulate = Accumulate::no;
};

// Who multiplies is the caller's choice. Called from several threads at once.
template <typename T>
using MatrixProduct = void (*)(const MatrixTask<T>&);

// Values of [position head d]: those of one head at one position lie side by side.
template <typename T>
struct HeadsView {
  T* data = nullptr;
  std::int64_t position_stride = 0;
  std::int64_t head_stride = 0;

  T* at(std::int64_t position, std::int64_t head) const {
    return data + position * position_stride + head * head_stride;
  }
};

// Queries of a part start at multiples of this.
inline constexpr int kTiledPartQueries = 128;

// Some queries of one head.
template <typename T>
struct TiledPart {
  int head = 0;
  int q_begin = 0;  // a multiple of kTiledPartQueries
  int q_end = 0;    // that, or n_queries
  // Finished rows of the pattern [q_end − q_begin, n_keys], 0 on hidden keys; null: not wanted.
  T* pattern = nullptr;
  std::int64_t pattern_stride = 0;  // values from row to row
};

// Relative positions of Shaw et al. 2018: k_ij = k_j + key[clip(j − i)], and likewise for values.
template <typename T>
struct ShawTables {
  int clip = 0;              // distances are cut to [−clip, clip]
  const T* key = nullptr;    // [2·clip+1 d]
  const T* value = nullptr;  // the same, or null
};

// What one run computes from. `first_query` is the position of query 0 among the keys (0 unless the
// run starts in the middle).
template <typename T>
struct TiledAttentionInput {
  // Sizes, scale, mask, window, soft-cap; softmax_mix must be 1. Rotation and norms of q and k are
  // done before.
  const AttentionSpec* spec = nullptr;
  int n_queries = 0;
  int n_keys = 0;
  int first_query = 0;
  HeadsView<const T> q;     // [q h d]
  HeadsView<const T> k;     // [k g d]
  HeadsView<const T> v;     // [k g d]
  const T* sink = nullptr;  // [h] learned sink logits, or null
  // Added to scaled scores: bias of key j for the query at position i stands at
  // distance_bias[h·bias_stride + (j − i) + bias_zero]; ALiBi and T5's buckets are this. Null:
  // none.
  const T* distance_bias = nullptr;
  std::int64_t bias_stride = 0;
  std::int64_t bias_zero = 0;
  ShawTables<T> shaw;  // key == null: none
  MatrixProduct<T> product = nullptr;
};

// What is wanted. Null fields are not computed.
template <typename T>
struct TiledAttentionOutput {
  HeadsView<T> z;                               // [q h d]
  T* lse = nullptr;                             // [h q]; −inf on fully masked rows
  StatisticsAccumulator* statistics = nullptr;  // of the same heads, queries and keys
};

// Buffers of one thread, reused from part to part and from layer to layer; they grow as needed. At
// n_keys = 4,096, d = 64 and float about 2 MiB.
template <typename T>
class TiledScratch {
 public:
  TiledScratch();
  ~TiledScratch();
  TiledScratch(TiledScratch&&) noexcept;
  TiledScratch& operator=(TiledScratch&&) noexcept;

 private:
  template <typename U>
  friend class TiledAttention;
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

// First prepare() of every kv head, then the parts of each head in ascending order of queries (the
// statistics need that; without them any order). Both may be called from several threads for
// different heads, each thread with its own scratch. A result depends neither on the threads, nor
// on which other heads are computed, nor on what else than z is wanted, nor on how a head is cut
// into parts. What the input points to must stay as it is while the object lives.
//
// A query sees the keys of AttentionSpec's mask and window; −inf scores are masked too. A NaN that
// a query sees makes its row NaN. As in any product by tiles, a NaN or infinite value (not key)
// also reaches the queries up to 63 positions before it, to which 0·NaN is added.
//
// Instantiated for float and double.
template <typename T>
class TiledAttention {
 public:
  // Throws (internal, KE02) if the input makes no sense: sizes, null arrays, a mixed softmax,
  // statistics of another shape or of queries that start behind key 0.
  TiledAttention(const TiledAttentionInput<T>& input, const TiledAttentionOutput<T>& output);
  ~TiledAttention();

  // Transposes the keys of a kv head, [d k].
  void prepare(int kv_head);
  void compute(const TiledPart<T>& part, TiledScratch<T>& scratch) const;

 private:
  struct Layer;
  std::unique_ptr<Layer> layer_;
};

}  // namespace attnscope
