// File: cost.h
// Floating-point operations of runs: 2 × weights touched × positions, the products of attention at
// the keys that are seen, the unembedding where it is read. Norms, activations and softmax are not
// counted.
#pragma once

#include <cstdint>

#include "attnscope/model/model.h"

namespace attnscope {

struct RunShape {
  std::int64_t length = 0;   // of the whole row
  std::int64_t first = 0;    // first position that runs
  std::int64_t reads = 1;    // positions at which logits are read
  std::int64_t columns = 1;  // vocabulary entries read there
};

// A full forward pass with logits at all positions.
double full_run_flops(const ModelConfig& config, std::int64_t length);

// One row from `point` to the logits; the last layer only where the logits are read.
double suffix_flops(const ModelConfig& config, ResumePoint point, const RunShape& shape);

}  // namespace attnscope
