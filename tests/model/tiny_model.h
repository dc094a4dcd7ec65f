// File: tiny_model.h
// Small models made in memory, for facts that need no trained weights.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attnscope/model/model.h"

namespace attnscope::testing {

// One attention-only layer without norms or positions.
struct TinyShape {
  int n_layers = 1;
  int n_heads = 1;
  int n_kv_heads = 1;
  int d_model = 2;
  int d_head = 2;
  int d_vocab = 3;
  int n_context = 64;
  double scale = 1;
  MaskKind mask = MaskKind::causal;
  int window = 0;
  bool rotary = false;
  double softcap = 0;
  bool learned_sink = false;
};
ModelConfig tiny_config(const TinyShape& shape);

// Values of one weight [rows cols], by its role.
using WeightValues =
    std::function<std::vector<double>(Role role, int layer, std::int64_t rows, std::int64_t cols)>;

// Identity where the shape is square, else random.
std::vector<double> identity(std::int64_t rows, std::int64_t cols);
// Uniform in ±1/√cols, the same for the same role and layer.
std::vector<double> random_values(Role role, int layer, std::int64_t rows, std::int64_t cols);

// The model's checkpoint: token embedding [v m], q, k, v and o of each layer; no head.
Checkpoint tiny_checkpoint(const ModelConfig& config, const WeightValues& values);
Model tiny_model(const ModelConfig& config, const WeightValues& values, DType dtype = DType::f64);

// Opens a family's fixture.
Model fixture_model(const std::string& family, DType dtype = DType::f64);
// All eleven families.
std::vector<std::string> fixture_families();
// Ids that fit every fixture.
TokenRow sample_row(int length, int seed = 1);

}  // namespace attnscope::testing
