// File: attention_spec.h
// The one place where attention variants meet. Plain C++17 so that device code can include it.
//
// Scores are computed in this order: q·k, scale, soft-cap, bias, mask (−inf), softmax. A fully
// masked row is 0.
#pragma once

#include <cstdint>
#include <vector>

namespace attnscope {

enum class MaskKind : std::uint8_t { bidirectional, causal };

enum class RopeLayout : std::uint8_t {
  half,         // pairs (i, i + d/2): Llama, NeoX, Hugging Face
  interleaved,  // pairs (2i, 2i + 1): GPT-J, Meta's own files
};

enum class RopeScaling : std::uint8_t { none, linear, dynamic, yarn, llama3, longrope };

// Rotary position embedding (methods: Su et al. 2021) and its scalings.
struct RopeSpec {
  int rotary_dims = 0;  // first dims of each head that are rotated
  double theta = 10000.0;
  RopeLayout layout = RopeLayout::half;
  RopeScaling scaling = RopeScaling::none;
  double factor = 1.0;
  double original_context = 0;       // llama3, yarn, dynamic
  double low_freq_factor = 1.0;      // llama3
  double high_freq_factor = 4.0;     // llama3
  double beta_fast = 32.0;           // yarn
  double beta_slow = 1.0;            // yarn
  double attention_factor = 0;       // yarn; 0 means 0.1·ln(factor) + 1
  bool truncate = true;              // yarn: floor and ceil of the correction range
  std::vector<double> short_factor;  // longrope
  std::vector<double> long_factor;   // longrope
};

struct AttentionSpec {
  int n_heads = 0;     // H query heads
  int n_kv_heads = 0;  // G key-value heads; query head h reads kv head h / (H / G)
  int d_head = 0;      // d
  double scale = 0;    // multiplies q·k
  MaskKind mask = MaskKind::causal;
  int window = 0;  // sliding window in keys including the query's own; 0 = none
  bool rotary = false;
  RopeSpec rope;
  double softcap = 0;    // c·tanh(s/c); 0 = none
  bool qk_norm = false;  // per-head RMS norm of q and k before the rotation
  bool alibi = false;
  bool learned_sink = false;  // one logit a head in the softmax denominator
  // pattern = mix·softmax + (1 − mix) on the unmasked keys; 1 in every published transformer, other
  // values in the small research models of Zhong et al. 2023 ("The Clock and the Pizza").
  double softmax_mix = 1.0;
};

}  // namespace attnscope
