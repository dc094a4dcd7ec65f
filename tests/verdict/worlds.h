// Made-up measurements whose right verdict is known.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/probes/verdict_rule.h"
#include "attnscope/stats/distributions.h"
#include "attnscope/support/philox.h"

namespace attnscope {

inline double normal(Philox& random) {
  return normal_quantile(1 - random.uniform());
}

// What is true of one unit.
struct TrueUnit {
  int layer = 0;
  double total = 0;
  double direct = 0;
  double conditional = 0;  // given any other unit
  double placebo = 0;
  double attention = 0;
};

struct WorldOptions {
  std::size_t clusters = 60;
  std::size_t per_cluster = 2;
  double noise = 0;  // standard deviation of every prompt's effect
  std::uint64_t seed = 1;
  std::vector<std::size_t> given;  // units whose removal is a condition
};

class World {
 public:
  World(std::vector<TrueUnit> units, const WorldOptions& options)
      : units_(std::move(units)), options_(options), random_(options.seed, 99) {
    const std::size_t prompts = options.clusters * options.per_cluster;
    for (std::size_t p = 0; p < prompts; ++p) {
      input.cluster_of_prompt.push_back(static_cast<int>(p / options.per_cluster));
    }
    input.half_of_cluster = split_clusters(options.clusters, options.seed);
    for (std::size_t u = 0; u < units_.size(); ++u) {
      input.units.push_back(std::to_string(units_[u].layer) + "." + std::to_string(u));
      input.layers.push_back(units_[u].layer);
    }
    for (const char* name : {"zero", "mean", "resample"}) {
      input.methods.push_back({.name = name,
                               .total = matrix(&TrueUnit::total),
                               .direct = matrix(&TrueUnit::direct),
                               .placebo = matrix(&TrueUnit::placebo)});
    }
    for (const std::size_t given : options.given) {
      input.conditional.push_back({0, given, matrix(&TrueUnit::conditional)});
    }
    input.attention.push_back({"attention mass", matrix(&TrueUnit::attention)});
  }

  // [unit, prompt]: the truth plus noise.
  std::vector<double> matrix(double TrueUnit::*truth) {
    std::vector<double> values;
    for (const TrueUnit& unit : units_) {
      for (std::size_t p = 0; p < input.cluster_of_prompt.size(); ++p) {
        values.push_back(unit.*truth + options_.noise * normal(random_));
      }
    }
    return values;
  }

  double& total(std::size_t method, std::size_t unit, std::size_t prompt) {
    return input.methods[method].total[unit * input.cluster_of_prompt.size() + prompt];
  }

  VerdictInput input;

 private:
  std::vector<TrueUnit> units_;
  WorldOptions options_;
  Philox random_;
};

}  // namespace attnscope
