// File: low_precision.h
// Errors of bfloat16 and float16 runs, held to those of Hugging Face's own runs in the same type
// (low_precision.json, written by make_low_precision.py).
#pragma once

#include <cmath>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "attnscope/model/model.h"
#include "oracle.h"

namespace attnscope::testing {

struct LowPrecisionErrors {
  double square_sum = 0;
  double largest = 0;
  std::int64_t count = 0;

  void add(const at::Tensor& got, const at::Tensor& expected);
  double rms() const { return std::sqrt(square_sum / static_cast<double>(count)); }
};

// By "last_hidden" and "logits", over the three unpadded sequences as in the table.
std::map<std::string, LowPrecisionErrors> errors_of(const Model& model, const Oracle& oracle,
                                                    Engine engine);

// One model and type of the table; group is "families" or "real_models".
const nlohmann::json& original_errors(const char* group, const std::string& model, DType dtype);

// Fails the test unless errors are at most twice those of `original`. The engine that is like eager
// attention is held to eager attention, as are tiles; LibTorch's fused one to fused.
void expect_at_most_twice(const std::map<std::string, LowPrecisionErrors>& ours,
                          const nlohmann::json& original, Engine engine);

}  // namespace attnscope::testing
