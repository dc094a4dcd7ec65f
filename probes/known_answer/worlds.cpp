// One head with the attention and the values that a world asks for.
#include "attnscope/probes/known_answer_worlds.h"

#include <cmath>

#include "attnscope/support/error.h"
#include "circuit.h"

namespace attnscope {
namespace {

void expect_world(const AttentionWorld& world) {
  double sum = 0;
  bool positive = true;
  for (const double weight : world.weights) {
    sum += weight;
    positive = positive && weight > 0;
  }
  const bool fits = world.weights.size() >= 2 && world.weights.size() == world.values.size();
  if (fits && positive && std::abs(sum - 1) < 1e-12) return;
  throw Error(ErrorKind::internal, "KA03",
              {.where = "attention world",
               .what = "weights and values do not describe one",
               .expected = "two or more positive weights that add up to 1, and as many values"});
}

}  // namespace

Checkpoint known_world_model(const AttentionWorld& world) {
  expect_world(world);
  const auto n = static_cast<int>(world.weights.size());
  const int out = n;  // coordinate behind the tokens' one-hots
  Circuit circuit;
  circuit.name = "known-answer attention world";
  circuit.n_context = n;
  circuit.tokens = Matrix(n, n + 1);
  circuit.unembed = Matrix(n, n + 1);
  circuit.unembed.at(static_cast<int>(kWorldLabel), out) = 1;
  HeadWeights head(1, n + 1);
  head.o.at(out, 0) = 1;
  for (int t = 0; t < n; ++t) {
    circuit.tokens.at(t, t) = 1;
    head.q.at(0, t) = 1;
    head.k.at(0, t) = std::log(world.weights[static_cast<std::size_t>(t)]);
    head.v.at(0, t) = world.values[static_cast<std::size_t>(t)];
  }
  circuit.layers = {{head}};
  return make_checkpoint(circuit);
}

std::vector<std::int64_t> known_world_prompt(const AttentionWorld& world) {
  std::vector<std::int64_t> ids;
  for (std::size_t t = 0; t < world.weights.size(); ++t)
    ids.push_back(static_cast<std::int64_t>(t));
  return ids;
}

AttentionWorld world_of_equal_values() {
  return {.weights = {0.1, 0.2, 0.3, 0.4}, .values = {2, 2, 2, 2}};
}

AttentionWorld world_of_distinct_values() {
  return {.weights = {0.4, 0.3, 0.2, 0.1}, .values = {1, -2, 3, 0.5}};
}

AttentionWorld world_of_a_sink() {
  return {.weights = {0.9, 0.04, 0.03, 0.03}, .values = {0, 1, 2, 3}};
}

double world_output(const AttentionWorld& world) {
  double sum = 0;
  for (std::size_t j = 0; j < world.weights.size(); ++j) sum += world.weights[j] * world.values[j];
  return sum;
}

double world_knockout(const AttentionWorld& world, int j) {
  const auto at = static_cast<std::size_t>(j);
  const double weight = world.weights.at(at);
  return weight / (1 - weight) * (world_output(world) - world.values.at(at));
}

double world_value_zero(const AttentionWorld& world, int j) {
  const auto at = static_cast<std::size_t>(j);
  return -world.weights.at(at) * world.values.at(at);
}

}  // namespace attnscope
