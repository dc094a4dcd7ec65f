// File: cuda_statistics.h
// Exact statistics of one layer's attention of one prompt on a CUDA device in two passes over q and
// k: the first gives the log-sum-exp of each row, the second makes the same scores again tile by
// tile and reduces them, so that no [h q k] array exists. Definitions are those of
// attention_statistics.h. Notation: h query head, g kv head, q query, k key, d head dim.
//
// Example:
//   const CudaStatisticsPlan plan = plan_cuda_statistics(input, maps, cuda_limits());
//   (allocate plan.bytes.* on the device, fill CudaStatisticsOutput)
//   launch_cuda_lse(input, lse, stream);  input.lse = lse;
//   launch_cuda_statistics(input, maps, output, stream);
//   (copy the arrays to the host)
//   AttentionStatistics statistics = finish_cuda_statistics(shape, host_arrays);  (cuda_finish.h)
// C++17, for device code includes it.
#pragma once

#include <cstdint>

#include "attnscope/kernels/attention_spec.h"

namespace attnscope {

// Type of q and k. Halves are multiplied by tensor cores, float32 is not rounded to TF32; sums are
// float32 in all three.
enum class CudaValue : std::uint8_t { f32, f16, bf16 };

// Values of [position head d] on the device; those of one head at one position lie side by side.
// For the rows of a padded batch `data` points to the first real position.
struct CudaHeads {
  const void* data = nullptr;
  std::int64_t position_stride = 0;  // in values
  std::int64_t head_stride = 0;
};

inline constexpr int kCudaMaxTopK = 32;
inline constexpr int kCudaMaxHead = 256;         // d; what any device since sm_80 has memory for
inline constexpr int kCudaMaxQueries = 1 << 22;  // weights of a key add up to less than 2^63 units
inline constexpr int kCudaMapTile = 256;         // side of a stored tile of a map

// What the pass computes from. Pointers are to device memory.
struct CudaStatisticsInput {
  // Sizes, scale, mask, window, soft-cap; softmax_mix must be 1. Rotation and norms are done.
  const AttentionSpec* spec = nullptr;
  CudaValue value = CudaValue::f32;
  int n_queries = 0;  // Tq, real tokens only, at most kCudaMaxQueries
  int n_keys = 0;     // Tk; equal to Tq unless `cross`
  bool cross = false;
  CudaHeads q;                  // [q h d]
  CudaHeads k;                  // [k g d]
  const float* lse = nullptr;   // [h q] of launch_cuda_lse(); ±inf marks a row that sees no key
  std::int64_t lse_stride = 0;  // values from head to head
  const float* sink = nullptr;  // [h] learned sink logits, if the layer has them
  // Bias of key j for the query at position i stands at
  // distance_bias[h·bias_stride + (j − i) + bias_zero], as in tiled_attention.h. Null: none.
  const float* distance_bias = nullptr;
  std::int64_t bias_stride = 0;
  std::int64_t bias_zero = 0;
  const std::int32_t* previous_same = nullptr;  // [k] of previous_same_ids()
  int top_k = 8;                                // K = min(top_k, Tk), at most kCudaMaxTopK
  // Queries of this launch of the statistics pass; −1 is Tq. Parts begin at multiples of 256 and
  // follow each other from 0: together they fill the same arrays with the same bits as one launch
  // does, but `tiles` of maps, which hold a part's own.
  int q_begin = 0;
  int q_end = -1;
};

enum class CudaMapValue : std::uint8_t {
  f32,
  r10,  // float32 with the mantissa rounded to 10 bits, to nearest even
  f16,  // IEEE binary16, to nearest even
};

// Maps of chosen heads, as tiles of min(256, Tq) × min(256, Tk) values in the order of the stored
// chunks: head, query tile, key tile, without the tiles of which no query sees a key. What a tile
// holds beyond the map is 0.
struct CudaMaps {
  int n_maps = 0;                      // heads that are wanted
  const std::int32_t* slot = nullptr;  // [h] on the device: place of the head's map, −1 = none
  CudaMapValue value = CudaMapValue::r10;
  float floor = 0;        // smaller values become 0
  void* tiles = nullptr;  // [map tile query key] on the device
};

// Rows of CudaStatisticsOutput::rows. The largest weight of a row is the first of its top keys.
enum class CudaRowSum : int {
  entropy,       // the learned sink counted as one more outcome
  square,        // Σ α², likewise; 0 says that the row has no mass and so no distribution
  distance,      // Σ α |i − j|
  learned_sink,  // mass on the learned sink
  first,         // α[i,0]
  self,          // α[i,i], and so on: 0 where there is no such key
  previous,
  next,
  duplicate,
  induction,
};
inline constexpr int kCudaRowSumCount = static_cast<int>(CudaRowSum::induction) + 1;

// Key sums are integers, so that their order changes no bit: units of 2^-40; bit 63 says that a
// NaN was among the weights.
inline constexpr double kCudaKeySumUnit = 0x1p-40;
inline constexpr std::uint64_t kCudaKeySumNan = std::uint64_t{1} << 63;

// Arrays on the device, of the sizes in the plan. A row without any mass is NaN, its
// top-k index −1.
struct CudaStatisticsOutput {
  float* rows = nullptr;               // [h CudaRowSum q]
  float* topk_value = nullptr;         // [h q K], largest first, ties by the lower index
  std::int32_t* topk_index = nullptr;  // [h q K]
  std::uint64_t* key_sum = nullptr;    // [h k]
  std::uint32_t* overview = nullptr;   // [h a b] bits of the largest weight, a float ≥ 0
};

// What a device has.
struct CudaLimits {
  std::int64_t shared_bytes = 0;  // a block may have, after opting in
  std::int64_t memory_bytes = 0;  // free now
};

struct CudaStatisticsBytes {
  std::int64_t rows = 0, topk_value = 0, topk_index = 0, key_sum = 0, overview = 0, tiles = 0;
  std::int64_t total = 0;
};

struct CudaStatisticsPlan {
  int query_tiles = 0;  // of the part; grid [query_tiles h]
  int threads = 0;
  std::int64_t shared_bytes = 0;   // of one block
  int top_k = 0;                   // K
  int overview_rows = 0;           // A
  int overview_cols = 0;           // B
  std::int64_t tiles_per_map = 0;  // stored tiles of one head's map, of the part
  int first_tile_column = 0;       // of the part's first row of tiles
  CudaStatisticsBytes bytes;       // of the output's arrays
};

// Reads sizes only, and needs no device. Throws (internal, KE10) if they make no sense, (limit,
// KE11) if they do not fit and says what would.
CudaStatisticsPlan plan_cuda_statistics(const CudaStatisticsInput& input, const CudaMaps& maps,
                                        const CudaLimits& limits);

// Limits of the current device. Throws (output, KE12) in a build without CUDA, (output, KE13) if
// the device does not answer.
CudaLimits cuda_limits();

enum class MemoryPlace : std::uint8_t { host, device };
// Whether the passes of this build read arrays that lie there; a build without CUDA has none.
bool cuda_passes_read(MemoryPlace place);

// Puts the first pass on `stream` (a cudaStream_t; null is the default stream) and returns: the
// log-sum-exp of each row's scores, the learned sink among them, −inf where a row sees no key, to
// `lse` [h q] on the device, rows input.lse_stride values apart. Reads neither input.lse nor
// previous_same. The same input gives the same bits. Throws like launch_cuda_statistics().
void launch_cuda_lse(const CudaStatisticsInput& input, float* lse, void* stream);

// Puts the statistics pass on `stream` and returns. The same input gives the same bits. Throws like
// cuda_limits() and plan_cuda_statistics(), and (internal, KE10) if an array is missing.
void launch_cuda_statistics(const CudaStatisticsInput& input, const CudaMaps& maps,
                            const CudaStatisticsOutput& output, void* stream);

}  // namespace attnscope
