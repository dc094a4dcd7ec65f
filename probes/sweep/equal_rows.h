// File: equal_rows.h
// What it takes for equal rows of a batch to come out with equal bits, so that a cell that changes
// nothing has the effect 0 exactly. Libraries do not promise it: matrix products treat the last
// rows of an odd count in another way, activations the last few values of a tensor, and products
// and fused attention rows that are not aligned.
#pragma once

#include <optional>

#include "attnscope/model/model.h"

namespace attnscope {

// Batches are filled up with rows that nobody reads to a multiple of this.
int row_multiple(const Model& model);

// The engine that gives equal rows of this many tokens equal bits, found by trying: `asked` if it
// does; where `automatic` does not, `reference` if that does. Nothing: rows must run one by one.
std::optional<Engine> engine_of_equal_rows(const Model& model, int length, Engine asked);

}  // namespace attnscope
