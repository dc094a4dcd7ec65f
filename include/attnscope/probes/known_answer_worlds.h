// File: known_answer_worlds.h
// One head whose attention and values are chosen freely, so that every claim about attention as
// explanation has a closed form (methods: Jain & Wallace 2019, Serrano & Smith 2019).
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

// At the last position the head gives token j the weight weights[j] (they add up to 1, each above
// 0) and adds values[j] for it to the logit kWorldLabel; all other logits are 0.
struct AttentionWorld {
  std::vector<double> weights;
  std::vector<double> values;
};
inline constexpr std::int64_t kWorldLabel = 1;

Checkpoint known_world_model(const AttentionWorld& world);
// One token for each weight, in order.
std::vector<std::int64_t> known_world_prompt(const AttentionWorld& world);

// All values equal: any attention gives the same output, and no edge has an effect.
AttentionWorld world_of_equal_values();
// Different values: attention matters.
AttentionWorld world_of_distinct_values();
// Nine tenths of the attention on a token without a value: silencing that token changes nothing,
// cutting the edge to it makes the output ten times as large.
AttentionWorld world_of_a_sink();

// o = Σ_j weights[j] · values[j].
double world_output(const AttentionWorld& world);
// Change of the output when the edge to token j is cut (its score −∞, the others share its weight):
// α / (1 − α) · (o − v).
double world_knockout(const AttentionWorld& world, int j);
// Change when its value is taken as 0 along the edge: −α · v.
double world_value_zero(const AttentionWorld& world, int j);

}  // namespace attnscope
