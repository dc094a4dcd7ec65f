// File: circuit.h
// A transformer written down by hand, matrix by matrix, and the checkpoint it becomes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

// A dense matrix by rows.
struct Matrix {
  int rows = 0;
  int cols = 0;
  std::vector<double> values;

  Matrix() = default;
  Matrix(int n_rows, int n_cols)
      : rows(n_rows), cols(n_cols), values(static_cast<std::size_t>(n_rows * n_cols), 0.0) {}
  double& at(int row, int col) { return values[static_cast<std::size_t>(row * cols + col)]; }
};

// The weights of one head: what it asks for, what it answers to, what it carries and where to.
struct HeadWeights {
  Matrix q, k, v;  // [d m]
  Matrix o;        // [m d]
  HeadWeights(int d_head, int d_model)
      : q(d_head, d_model), k(d_head, d_model), v(d_head, d_model), o(d_model, d_head) {}
};

// out · relu(in · x + in_bias) + out_bias.
struct MlpWeights {
  Matrix in;                     // [f m]
  std::vector<double> in_bias;   // [f]
  Matrix out;                    // [m f]
  std::vector<double> out_bias;  // [m]
};

using HeadList = std::vector<HeadWeights>;

// No norm, no score scale, causal attention; token 0 is BOS.
struct Circuit {
  std::string name;
  Matrix tokens;                  // [v m]
  Matrix positions;               // [n m]; no rows: the model has no positions
  Matrix unembed;                 // [v m]
  std::vector<HeadList> layers;   // heads of a layer have one size
  std::optional<MlpWeights> mlp;  // of every layer
  int n_context = 0;
};

Checkpoint make_checkpoint(const Circuit& circuit);

}  // namespace attnscope
