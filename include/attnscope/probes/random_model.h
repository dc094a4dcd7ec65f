// File: random_model.h
// The negative control: a model of a given shape that knows nothing.
#pragma once

#include <cstdint>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

// A checkpoint of the same configuration with weights of its own: matrices and embeddings normal
// with variance 1 / (size of the axis that is summed over), gains of norms such that they change
// nothing, biases 0. Made from `seed` by a counter (Philox) as they are read, so nothing is held in
// memory and the same seed gives the same model anywhere. A tied head stays tied.
Checkpoint random_model(const Checkpoint& like, std::uint64_t seed);

}  // namespace attnscope
