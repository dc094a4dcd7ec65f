// File: attention.h
// What the two ways to compute attention share.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "run.h"

namespace attnscope {

// Queries, keys and values of one layer, rotated where the model rotates.
struct Heads {
  at::Tensor q;  // [b q h d]
  at::Tensor k;  // [b k g d]
  at::Tensor v;  // [b k g d]
};

// Queries of one block of explicit maps.
inline constexpr int kQueryBlock = 128;

// What explicit maps are made for.
enum class ExplicitOutput : std::uint8_t {
  all,    // z, and what is wanted of scores and patterns
  shown,  // what is wanted only: z comes from elsewhere
  z,      // z only: what is wanted comes from elsewhere
};

// What must be made explicit of one layer.
struct ExplicitRequest {
  std::vector<int> heads;  // query heads, ascending
  int q_begin = 0;         // query slots [q_begin, q_end)
  int q_end = 0;
  ExplicitOutput output = ExplicitOutput::all;
};

// Scores and patterns in blocks of queries, shown and changed as the taps ask; z [b q h' d] of the
// request's heads and rows, undefined when it is not needed.
at::Tensor explicit_attention(Run& run, int layer, const Heads& heads,
                              const ExplicitRequest& request);

// Rows of the pattern that observers want.
struct MapRequest {
  std::vector<int> heads;  // query heads, ascending; empty = no maps
  int q_begin = 0;         // query slots [q_begin, q_end)
  int q_end = 0;
};

// Attention in tiles: no map is held. Gives the layer's statistics and the maps of `maps` to those
// that want them; z [b q h d]. On the CPU, without changes of scores or patterns.
at::Tensor tiled_attention(Run& run, int layer, const Heads& heads, const MapRequest& maps);

// Statistics and maps by the CUDA kernels (kernels/cuda_statistics.h); observers are shown them
// later in the run. z [b q h d] by LibTorch's fused pass, or in explicit blocks where that cannot
// do it. No [h q k] array is held.
at::Tensor cuda_attention(Run& run, int layer, const Heads& heads, const MapRequest& maps);

// What a fused pass may hold beside its inputs and z.
enum class FusedMemory : std::uint8_t {
  any,     // one call, with a mask [b 1 q k] where it is needed
  linear,  // nothing that grows with the square of the length, on a GPU too
};

// Scaled dot product attention by LibTorch's fused kernel; z [b q h d].
at::Tensor fused_attention(Run& run, int layer, const Heads& heads, FusedMemory memory);

// All query heads and query slots of a layer.
ExplicitRequest whole_layer(const Run& run, const AttentionSpec& spec);

// Keys that some query in slots [q_begin, q_end) of some row sees.
KeyRange keys_in_sight(const Run& run, const AttentionSpec& spec, int q_begin, int q_end);

// Whether a fused pass needs a mask tensor: what is_causal alone says is not enough.
bool needs_mask(const Run& run, const AttentionSpec& spec);

// True where a key is hidden from a query: [b 1 q k] for query slots [q_begin, q_end), b is 1 when
// all rows are alike.
at::Tensor hidden_keys(const Run& run, const AttentionSpec& spec, int q_begin, int q_end);

// ‖v_j W_O^h‖ of every key [b h k], double (Kobayashi et al. 2020).
at::Tensor value_norms(const Run& run, int layer, const at::Tensor& v);

}  // namespace attnscope
