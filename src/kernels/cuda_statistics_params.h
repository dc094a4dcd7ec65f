// File: cuda_statistics_params.h
// What a block of the statistics pass reads: plain values, filled on the host by cuda_plan.cpp.
// C++17, for device code includes it.
#pragma once

#include <cstdint>

#include "attnscope/kernels/cuda_statistics.h"

#ifdef __CUDACC__
#define ATTNSCOPE_DEVICE __device__ __forceinline__
#define ATTNSCOPE_ANYWHERE __host__ __device__ __forceinline__
#else
#define ATTNSCOPE_DEVICE inline
#define ATTNSCOPE_ANYWHERE inline
#endif

// Before a loop over registers: an array stays in them only if its indices are constants.
#ifdef __CUDA_ARCH__
#define ATTNSCOPE_UNROLL _Pragma("unroll")
#else
#define ATTNSCOPE_UNROLL
#endif

namespace attnscope::cuda {

inline constexpr int kTile = 64;  // queries and keys of a tile of scores
inline constexpr int kThreads = 128;
inline constexpr int kMapTile = kCudaMapTile;
static_assert(kMapTile % kTile == 0);

// Vectors are multiplied in slices of 128 bytes, which lie 144 bytes apart in shared memory: eight
// neighbouring rows then use different banks, and any 16 rows start at a multiple of 32 bytes, as
// the tensor cores' loads want it.
inline constexpr int kSliceBytes = 128;
inline constexpr int kSlicePitch = 144;
inline constexpr int kSliceTileBytes = kTile * kSlicePitch;
inline constexpr int kScorePitch = 68;  // values from row to row of a tile of scores

// Offsets in bytes of a block's arrays in shared memory.
struct SharedLayout {
  std::int32_t q = 0;           // [slice query] slices of the tile's queries
  std::int32_t k = 0;           // [2 key] slices of keys: one in use, one on its way
  std::int32_t scores = 0;      // [query key] scores, then weights
  std::int32_t partial = 0;     // [query 3] sums of the second half of each row
  std::int32_t chain = 0;       // [1 + key] previous_same of the tile's keys and of the one before
  std::int32_t top_value = 0;   // [place thread]
  std::int32_t top_index = 0;   // [place thread]
  std::int32_t cells = 0;       // [row cell, column cell] of the overview
  std::int32_t cell_count = 0;  // of that array
  std::int32_t bytes = 0;
};

struct Vectors {
  const unsigned char* data = nullptr;
  std::int64_t position_stride = 0;  // in bytes
  std::int64_t head_stride = 0;
};

struct StatisticsParams {
  int n_heads = 0, heads_per_kv = 1, d_head = 0, n_queries = 0, n_keys = 0, top_k = 0;
  int first_tile = 0, query_tiles = 0;  // tiles of queries of this launch
  int window = 0;                       // 0 = none
  bool causal = false;
  bool cross = false;
  bool vector_copies = false;  // rows of q and k are whole and aligned 16 bytes
  float scale = 1, softcap = 0;
  Vectors q, k;
  const float* lse = nullptr;
  std::int64_t lse_stride = 0;
  const float* sink = nullptr;
  const float* bias = nullptr;
  std::int64_t bias_stride = 0, bias_zero = 0;
  const std::int32_t* previous_same = nullptr;

  float* lse_out = nullptr;  // of the first pass, which reads no lse
  CudaStatisticsOutput out;
  int overview_rows = 0, overview_cols = 0;
  CudaMaps maps;
  std::int64_t tiles_before = 0;   // stored tiles of one map above the launch's queries
  std::int64_t tiles_per_map = 0;  // of the launch's queries
  SharedLayout shared;
};

// Keys or queries begin … end − 1.
struct Span {
  int begin = 0;
  int end = 0;
};

ATTNSCOPE_ANYWHERE constexpr int smaller(int a, int b) {
  return a < b ? a : b;
}
ATTNSCOPE_ANYWHERE constexpr int larger(int a, int b) {
  return a < b ? b : a;
}
ATTNSCOPE_ANYWHERE constexpr int pieces(int length, int piece) {
  return (length + piece - 1) / piece;
}

// Keys that the mask lets a query see.
ATTNSCOPE_ANYWHERE Span visible_keys(const StatisticsParams& p, int query) {
  if (!p.causal) return {0, p.n_keys};
  return {p.window > 0 ? larger(0, query + 1 - p.window) : 0, query + 1};
}

// Cells of the overview that hold position i; neighbours share one where `length` is no multiple of
// the number of cells.
ATTNSCOPE_ANYWHERE Span cells_of(int i, int cells, int length) {
  return {i * cells / length, pieces((i + 1) * cells, length)};
}

// What a cell covers.
ATTNSCOPE_ANYWHERE Span cell_range(int cell, int cells, int length) {
  return {static_cast<int>(static_cast<std::int64_t>(cell) * length / cells),
          static_cast<int>((static_cast<std::int64_t>(cell + 1) * length + cells - 1) / cells)};
}

// Stored tiles of one row of tiles: those of which some query sees a key.
ATTNSCOPE_ANYWHERE Span map_columns(const StatisticsParams& p, int tile_row) {
  const int first = tile_row * kMapTile;
  const int last = smaller(p.n_queries, first + kMapTile) - 1;
  return {visible_keys(p, first).begin / kMapTile, pieces(visible_keys(p, last).end, kMapTile)};
}

ATTNSCOPE_ANYWHERE std::int64_t map_tiles_before(const StatisticsParams& p, int tile_row) {
  std::int64_t count = 0;
  for (int r = 0; r < tile_row; ++r) {
    const Span columns = map_columns(p, r);
    count += columns.end - columns.begin;
  }
  return count;
}

// What the host hands to a launch; see cuda_plan.cpp.
StatisticsParams make_params(const CudaStatisticsInput& input, const CudaMaps& maps,
                             const CudaStatisticsOutput& output);
StatisticsParams make_lse_params(const CudaStatisticsInput& input, float* lse);

}  // namespace attnscope::cuda
