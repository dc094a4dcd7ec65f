// File: published.h
// Shared by the tests of models with published references.
#pragma once

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnscope/core/taps.h"
#include "attnscope/model/model.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {

nlohmann::json read_reference(const std::string& path);

// A JSON array of numbers, nested to any depth, as a float64 tensor.
at::Tensor to_tensor(const nlohmann::json& numbers);

// Replaces z of one head by `value`, which broadcasts to [q 1 d].
Intervention replace_z(int layer, int head, const at::Tensor& value, std::vector<int> rows = {});

struct Score {
  double accuracy = 0;
  double loss = 0;
};

// A custom model's FILE.json of the fixtures, beside weights that lie elsewhere.
Model load_with_weights(const TempFolder& folder, const std::string& name,
                        const std::string& weights);

// "1.3" → layer 1, head 3.
struct LayerHead {
  int layer = 0;
  int head = 0;
};
LayerHead layer_and_head(const std::string& name);

}  // namespace attnscope::testing
