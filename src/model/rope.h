// File: rope.h
// Rotary position embedding and its scalings.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "attnscope/kernels/attention_spec.h"

namespace attnscope {

// θ_k of each pair of dims, for a row of `length` tokens (only the dynamic and longrope scalings
// depend on it).
// Sources: Su et al. 2021 (none), Chen et al. 2023 (linear), the NTK-aware base (dynamic), Peng et
// al. 2023 (yarn), Dubey et al. 2024 (llama3), Ding et al. 2024 (longrope).
std::vector<double> rope_frequencies(const RopeSpec& spec, double length);

// Factor on cos and sin: m of yarn and longrope, 1 elsewhere.
double rope_magnitude(const RopeSpec& spec);

// cos and sin of all positions of a batch, computed in double.
struct RopeTable {
  at::Tensor cos;  // [b q 1 r], r = rotary_dims / 2; b is 1 when all rows have the same positions
  at::Tensor sin;
};
RopeTable rope_table(const RopeSpec& spec, const at::Tensor& position_ids,
                     const at::TensorOptions& options);

// x [b q h d] rotated.
at::Tensor rotate(const at::Tensor& x, const RopeTable& table, const RopeSpec& spec);

}  // namespace attnscope
