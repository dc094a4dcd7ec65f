// File: cuda_cases.h
// Layers for the tests of the CUDA statistics pass: q and k, what a forward pass would give of
// them, and the whole pattern in double by loops over its indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attnscope/kernels/cuda_finish.h"
#include "brute_force.h"
#include "cuda_emulation.h"

namespace attnscope::testing {

enum class Bias : std::uint8_t {
  none,
  alibi,
  buckets,
  holes,  // −inf at every third distance
};

// Exact: small multiples of 1/8, so that scores are the same numbers in float and double, ties and
// all. Real: normal values.
enum class Numbers : std::uint8_t { exact, real };

struct CudaCase {
  const char* name = "";
  int n_heads = 2, n_kv_heads = 2, d_head = 16;
  int n_queries = 7, n_keys = 7;
  bool causal = true, cross = false;
  int window = 0;
  bool sink = false;
  double softcap = 0;
  Bias bias = Bias::none;
  CudaValue value = CudaValue::f32;
  int top_k = 8;
  int pads_before = 0, pads_after = 0;  // positions around the prompt, filled with NaN
  int row_gap = 0;                      // values between the positions of q and k, NaN too
  std::vector<int> masked_rows;         // rows whose lse says that they see nothing
  std::vector<int> nan_rows;            // rows whose lse is NaN
  Numbers numbers = Numbers::exact;
  int n_ids = 4;
  unsigned seed = 1;
};

std::string name_of(const CudaCase& layer);

// Every mask, variant and ragged size, small enough for loops over [h q k].
const std::vector<CudaCase>& dense_cases();

// A case with its arrays. The input's pointers are into them.
class CudaLayer {
 public:
  explicit CudaLayer(const CudaCase& options);
  CudaLayer(const CudaLayer&) = delete;

  const CudaStatisticsInput& input() const { return input_; }
  // The same input with its arrays elsewhere: `place` takes one and says where it now begins.
  using Place = std::function<const void*(const void* array, std::size_t bytes)>;
  CudaStatisticsInput input_at(const Place& place) const;
  // Another log-sum-exp [h q] than that of the loops, for a layer without pads.
  void set_lse(const std::vector<float>& lse) {
    lse_ = lse;
    input_.lse = lse_.data();
  }
  const Map& map() const { return map_; }  // the pattern, α in double
  StatisticsShape shape() const;           // with its ids

 private:
  void make_vectors();
  void make_pattern();
  double score(int head, int query, int key) const;
  float q_at(int position, int head, int d) const;
  float k_at(int position, int head, int d) const;

  CudaCase options_;
  AttentionSpec spec_;
  CudaStatisticsInput input_;
  Map map_;
  std::vector<float> q_, k_;                    // [position, head d, gap] as stored
  std::vector<std::uint16_t> q_half_, k_half_;  // the same in 16 bits
  std::vector<float> lse_, sink_, bias_;
  std::vector<std::int32_t> previous_same_;
  int n_distances_ = 0;
};

// The arrays that a pass fills, as they are before it.
struct CudaResult {
  explicit CudaResult(const CudaStatisticsPlan& plan);

  std::vector<float> rows, topk_value;
  std::vector<std::int32_t> topk_index;
  std::vector<std::uint64_t> key_sum;
  std::vector<std::uint32_t> overview;
  std::vector<std::uint32_t> tiles;  // two halves a word in f16
  CudaStatisticsPlan plan;

  bool operator==(const CudaResult& other) const;  // bit by bit
};

struct CudaMapChoice {
  std::vector<int> heads;
  CudaMapValue value = CudaMapValue::f32;
  float floor = 0;
};

// [h q], without pads.
std::vector<float> run_lse(const CudaLayer& layer, const Emulation& emulation = {});

CudaResult run_pass(const CudaLayer& layer, const Emulation& emulation = {},
                    const CudaMapChoice& maps = {});

// What finish_cuda_statistics() makes of it.
AttentionStatistics finish(const CudaLayer& layer, const CudaResult& result);

// Where the statistics differ from what is expected by more than tolerance · max(1, |expected|), or
// in a byte of the overview, or, of exact numbers, in a top key; empty if nowhere. Two real scores
// may be nearer to each other than their rounding.
std::string first_difference(const CudaCase& layer, const AttentionStatistics& got,
                             const BruteForce& expected, double tolerance);

}  // namespace attnscope::testing
