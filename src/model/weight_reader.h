// File: weight_reader.h
// Reads checkpoint tensors straight into their places.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

// One tensor of the checkpoint and where its values go.
struct ReadTask {
  const TensorInfo* info = nullptr;
  at::Tensor place;  // contiguous, in the run's dtype
  // Axes of the file in the order in which `place` holds them; empty when it holds them as stored.
  std::vector<std::int64_t> axes;
};

// Flat index, in file order, of the first value that is NaN or infinite.
using FirstNonFinite = std::optional<std::int64_t>;

// Reads all tasks with `threads` threads, in the order in which the source lists the tensors, and
// converts where the types differ. Returns one entry a task.
std::vector<FirstNonFinite> read_tensors(const TensorSource& source, std::vector<ReadTask>& tasks,
                                         int threads);

// Whether two tensors of the source hold the same bytes.
bool same_values(const TensorSource& source, const TensorInfo& a, const TensorInfo& b);

FirstNonFinite first_non_finite(const at::Tensor& tensor);

}  // namespace attnscope
