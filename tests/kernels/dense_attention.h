// File: dense_attention.h
// Attention in double by index loops over whole [q k] maps, and the kernel run on the same inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/kernels/tiled_attention.h"
#include "brute_force.h"

namespace attnscope::testing {

// One layer's attention of one prompt; inputs are seeded normal values that a float holds exactly.
struct AttentionCase {
  int n_queries = 7;
  int n_keys = 7;
  int first_query = 0;
  int n_heads = 2;
  int n_kv_heads = 2;
  int d_head = 4;
  MaskKind mask = MaskKind::causal;
  int window = 0;
  double softcap = 0;
  bool bias = false;   // a random bias for each distance and head
  int shaw_clip = -1;  // −1: no relative positions
  bool shaw_values = false;
  bool sink = false;
  int top_k = 8;
  unsigned seed = 1;

  std::string name() const;
  bool sees(int query, int key) const;
};

struct AttentionArrays {
  std::vector<double> q, k, v;  // [q h d], [k g d], [k g d]
  std::vector<double> sink;     // [h]
  std::vector<double> bias;     // [h distance], distance 0 at `bias_zero`
  std::int64_t bias_width = 0, bias_zero = 0;
  std::vector<double> shaw_key, shaw_value;  // [distance d]
  std::vector<std::int64_t> ids;             // [k]
};
AttentionArrays random_arrays(const AttentionCase& c);

struct DenseAttention {
  std::vector<double> pattern;    // [h q k]
  std::vector<double> z;          // [q h d]
  std::vector<double> lse;        // [h q]
  std::vector<double> sink_mass;  // [h q]
};
DenseAttention dense_attention(const AttentionCase& c, const AttentionArrays& arrays);

// The map of one head, as the definitions of the statistics want it.
Map map_of_head(const AttentionCase& c, const AttentionArrays& arrays, const DenseAttention& dense,
                int head);

// What the kernel is asked for besides z.
struct Asked {
  bool lse = true;
  bool statistics = true;
  bool pattern = true;
  std::vector<int> heads;  // empty: all
  int n_threads = 1;
  int part_queries = 0;  // 0: a whole head at once
};

template <typename T>
struct TiledResult {
  std::vector<T> z;        // [q h d]
  std::vector<T> lse;      // [h q]
  std::vector<T> pattern;  // [h q k]
  AttentionStatistics statistics;
};
template <typename T>
TiledResult<T> run_tiled(const AttentionCase& c, const AttentionArrays& arrays,
                         const Asked& asked = {});

// The product that run_tiled() passes on: three loops, which count their multiplications.
template <typename T>
void plain_product(const MatrixTask<T>& task);
std::int64_t multiplications_since_last_call();

}  // namespace attnscope::testing
