// Heads into a logic gate, and heads that only multiply.
#include "attnscope/probes/known_answer_gates.h"

#include "circuit.h"

namespace attnscope {
namespace {

constexpr int kTokens = 6;  // BOS, a = 0, a = 1, b = 0, b = 1, the answer
constexpr int kSum = 6;     // coordinate to which the heads write
constexpr int kOut = 7;     // coordinate that is the answer's logit
constexpr int kStream = 8;
// e^−1000 is 0 in every type.
constexpr double kSharpness = 1000;

// Attends to the tokens `zero` and `one`, and writes 1 where it finds `one`.
HeadWeights input_head(int zero, int one) {
  HeadWeights head(1, kStream);
  for (int t = 0; t < kTokens; ++t) head.q.at(0, t) = kSharpness;
  head.k.at(0, zero) = head.k.at(0, one) = 1;
  head.v.at(0, one) = 1;
  head.o.at(kSum, 0) = 1;
  return head;
}

MlpWeights gate_mlp(Gate gate) {
  const double sign = gate == Gate::or_gate ? -1 : 1;
  MlpWeights mlp{.in = Matrix(1, kStream),
                 .in_bias = {-sign},
                 .out = Matrix(kStream, 1),
                 .out_bias = std::vector<double>(kStream, 0.0)};
  mlp.in.at(0, kSum) = sign;
  mlp.out.at(kOut, 0) = sign;
  if (gate == Gate::or_gate) mlp.out_bias[kOut] = 1;
  return mlp;
}

// Reads both coordinates and writes `weight` times of them.
HeadWeights multiplier(double weight) {
  HeadWeights head(2, 2);
  for (int i = 0; i < 2; ++i) {
    head.v.at(i, i) = weight;
    head.o.at(i, i) = 1;
  }
  return head;
}

}  // namespace

Checkpoint known_gate_model(Gate gate) {
  Circuit circuit;
  circuit.name = gate == Gate::or_gate ? "known-answer or gate" : "known-answer and gate";
  circuit.n_context = 3;
  circuit.tokens = Matrix(kTokens, kStream);
  circuit.unembed = Matrix(kTokens, kStream);
  for (int t = 0; t < kTokens; ++t) circuit.tokens.at(t, t) = 1;
  circuit.unembed.at(static_cast<int>(kGateAnswer), kOut) = 1;
  circuit.layers = {{input_head(1, 2), input_head(3, 4)}};
  circuit.mlp = gate_mlp(gate);
  return make_checkpoint(circuit);
}

std::vector<std::int64_t> known_gate_prompt(int a, int b) {
  return {0, 1 + a, 3 + b};
}

Checkpoint known_linear_model() {
  Circuit circuit;
  circuit.name = "known-answer linear model";
  circuit.n_context = 1;
  circuit.tokens = Matrix(4, 2);
  circuit.tokens.values = {1, 0, 0, 1, 1, 1, 2, -1};
  circuit.unembed = Matrix(4, 2);
  circuit.unembed.at(0, 0) = circuit.unembed.at(1, 1) = 1;
  circuit.layers = {{multiplier(1), multiplier(2)}, {multiplier(3), multiplier(4)}};
  return make_checkpoint(circuit);
}

std::vector<std::int64_t> known_linear_prompt(int token) {
  return {token};
}

}  // namespace attnscope
