// File: known_answer_gates.h
// Two heads that feed a logic gate (Conmy et al. 2023, "Towards Automated Circuit Discovery"): what
// patching one or both of them must show, and a linear model whose every path is a product by hand.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

enum class Gate { or_gate, and_gate };

// One layer with an MLP of one neuron. Head 0.0 writes a, head 0.1 writes b, both to one coordinate
// S; the MLP raises the logit kGateAnswer by 1 − relu(1 − S) (or) or by relu(S − 1) (and). Weights
// outside a head's token are exactly 0, so that the truth table holds exactly.
Checkpoint known_gate_model(Gate gate);

// BOS, a, b; the answer is read at the last position.
std::vector<std::int64_t> known_gate_prompt(int a, int b);
inline constexpr std::int64_t kGateAnswer = 5;

// |Change of the answer's logit|. Noising: the run of (1, 1) with heads' z from (0, 0). Denoising:
// the run of (0, 0) with z from (1, 1).
struct GateTruth {
  Gate gate{};
  double noise_one = 0;
  double noise_both = 0;
  double denoise_one = 0;
  double denoise_both = 0;
};
inline constexpr std::array<GateTruth, 2> kGateTruth = {{
    {.gate = Gate::or_gate, .noise_one = 0, .noise_both = 1, .denoise_one = 1, .denoise_both = 1},
    {.gate = Gate::and_gate, .noise_one = 1, .noise_both = 1, .denoise_one = 0, .denoise_both = 1},
}};

// Two layers of two heads each that multiply what they read by 1 and 2, then by 3 and 4, with
// nothing that is not linear: a prompt is one token, whose attention to itself is exactly 1. The
// stream has two coordinates, which are the logits of tokens 0 and 1: x → x·(1 + 1 + 2)·(1 + 3 +
// 4).
Checkpoint known_linear_model();

// Tokens 0 to 3 are (1, 0), (0, 1), (1, 1) and (2, −1).
std::vector<std::int64_t> known_linear_prompt(int token);
inline constexpr double kLinearGain = 32;

// What a change of 1 in what `from` writes adds to the output when only `to` sees it, counted from
// the input: gain of the paths that lead to `from` × weight of `to` × gain of all paths behind it.
// −1 stands for the embedding (from) or the logits (to); heads are layer · 2 + head.
struct LinearEdge {
  int from = 0;
  int to = 0;
  double gain = 0;
};
inline constexpr std::array<LinearEdge, 13> kLinearEdges = {{
    {-1, 0, 8},
    {-1, 1, 16},
    {-1, 2, 3},
    {-1, 3, 4},
    {-1, -1, 1},  // sum 32
    {0, 2, 3},
    {0, 3, 4},
    {0, -1, 1},  // sum 8
    {1, 2, 6},
    {1, 3, 8},
    {1, -1, 2},  // sum 16
    {2, -1, 12},
    {3, -1, 16},
}};

}  // namespace attnscope
