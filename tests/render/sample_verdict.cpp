#include "render/sample_verdict.h"

#include <cmath>
#include <limits>

namespace attnscope::testing {
namespace {

constexpr int kLayers = 6, kHeads = 8, kCells = kLayers * kHeads;

int cell_of(int layer, int head) {
  return layer * kHeads + head;
}

double total_effect(int cell) {
  if (cell == cell_of(1, 3)) return -3.25;
  if (cell == cell_of(3, 1)) return -1.4;
  if (cell == cell_of(5, 2)) return 0.85;
  if (cell == cell_of(4, 6) || cell == cell_of(2, 5)) return 0.004;
  return 0.12 * std::sin(1.7 * cell) * std::cos(0.3 * cell);
}

double mass(int cell) {
  if (cell == cell_of(4, 6)) return 0.91;
  if (cell == cell_of(1, 3)) return 0.22;
  return 0.05 + 0.5 * std::pow(std::sin(0.9 * cell + 1), 2);
}

VerdictLevel level(int cell) {
  if (cell == cell_of(2, 5)) return VerdictLevel::backed_up;
  const double effect = std::fabs(total_effect(cell));
  if (effect > 0.5) return VerdictLevel::causal;
  return effect < 0.05 ? VerdictLevel::no_effect : VerdictLevel::undetermined;
}

// Values of the first method; those of the two others are not there.
NamedArray by_measure(const std::string& name, std::vector<double> values) {
  values.resize(15, std::numeric_limits<double>::quiet_NaN());
  return {name, {"method", "measure"}, {3, 5}, std::move(values)};
}

}  // namespace

VerdictReport sample_verdict() {
  VerdictReport report;
  report.model = {.name = "tiny-ioi", .family = "gpt2", .weights_sha256 = std::string(64, 'a')};
  report.run = {.device = "cpu", .dtype = "float32", .engine = "aten", .seed = 7};
  report.prompts = 200;
  report.clusters = 100;
  ExperimentRecord& record = report.record;
  record.name = record.kind = "verdict";
  record.metric = "logit-diff";
  record.noise_floor = 2.4e-6;
  record.attributes = {{"delta", 0.05},
                       {"clusters", std::int64_t{100}},
                       {"prompts", std::int64_t{200}},
                       {"estimation_prompts", std::int64_t{98}}};
  record.spec_json = R"({"resamples": 3332})";
  const std::vector<std::string> methods{"zero", "mean", "resample"};
  const std::vector<std::string> measures{"mass", "max", "entropy", "norm-weighted", "source"};
  NamedArray effect{"effect", {"method", "cell"}, {3, kCells}, {}};
  NamedArray low = effect, high = effect, adjusted = effect;
  low.name = "ci_sim_low";
  high.name = "ci_sim_high";
  adjusted.name = "p_adjusted";
  NamedArray direct{"direct", {"cell"}, {kCells}, {}};
  NamedArray detectable{"minimal_detectable", {"cell"}, {kCells}, {}};
  NamedArray attention{"attention", {"cell", "measure"}, {kCells, 5}, {}};
  NamedIntegers n{"n", {"method", "cell"}, {3, kCells}, {}};
  NamedIntegers verdict{"verdict", {"cell"}, {kCells}, {}};
  NamedIntegers unspecific{"unspecific", {"cell"}, {kCells}, {}};
  NamedIntegers layers{"layers", {"cell"}, {kCells}, {}};
  NamedIntegers heads{"heads", {"cell"}, {kCells}, {}};
  NamedIntegers positions{"positions", {"cell"}, {kCells}, std::vector<std::int64_t>(kCells, -1)};
  NamedTexts cells{"cells", {"cell"}, {kCells}, {}};
  for (int method = 0; method < 3; ++method) {
    for (int cell = 0; cell < kCells; ++cell) {
      const double value = total_effect(cell) * (1 - 0.15 * method);
      const double half = cell == 0 ? std::numeric_limits<double>::quiet_NaN()
                                    : 0.03 + 0.08 * std::fabs(value) + 0.02 * (cell % 3);
      effect.values.push_back(value);
      low.values.push_back(value - half);
      high.values.push_back(value + half);
      adjusted.values.push_back(std::fabs(value) > 0.5 ? 1.0 / 3333 : 1.0);
      n.values.push_back(200);
    }
  }
  for (int cell = 0; cell < kCells; ++cell) {
    direct.values.push_back(cell == cell_of(2, 5) ? -1.1 : 0.8 * total_effect(cell));
    detectable.values.push_back(0.03 + 0.01 * (cell % 4));
    for (const double value : {mass(cell), std::min(1.0, 1.2 * mass(cell)), 2.2 - 2 * mass(cell),
                               0.7 * mass(cell), 0.3 * std::pow(std::cos(0.8 * cell), 2)}) {
      attention.values.push_back(value);
    }
    verdict.values.push_back(static_cast<std::int64_t>(level(cell)));
    unspecific.values.push_back(cell == cell_of(3, 1) ? 1 : 0);
    layers.values.push_back(cell / kHeads);
    heads.values.push_back(cell % kHeads);
    cells.values.push_back(std::to_string(cell / kHeads) + "." + std::to_string(cell % kHeads));
  }
  record.arrays = {effect,
                   low,
                   high,
                   adjusted,
                   direct,
                   detectable,
                   attention,
                   by_measure("rank_correlation", {0.11, 0.14, -0.09, 0.31, 0.22}),
                   by_measure("rank_correlation_low", {-0.02, 0.01, -0.22, 0.17, 0.08}),
                   by_measure("rank_correlation_high", {0.24, 0.27, 0.04, 0.44, 0.35}),
                   by_measure("rank_correlation_p", {0.092, 0.001, 0.31, 0.004, 0.02}),
                   by_measure("rank_ceiling", {0.71, 0.71, 0.71, 0.71, 0.71}),
                   by_measure("rank_attainable", {0.83, 0.83, 0.83, 0.83, 0.83}),
                   by_measure("rank_ceiling_low", {0.6, 0.6, 0.6, 0.6, 0.6}),
                   by_measure("rank_ceiling_high", {0.79, 0.79, 0.79, 0.79, 0.79})};
  NamedIntegers shuffles{"rank_correlation_shuffles", {"method", "measure"}, {3, 5}, {}};
  shuffles.values.assign(15, 999);
  shuffles.values[2] = 0;
  record.integers = {n, verdict, unspecific, layers, heads, positions, shuffles};
  record.texts = {
      {"methods", {"method"}, {3}, methods},
      {"measures", {"measure"}, {5}, measures},
      cells,
      {"paragraph",
       {},
       {},
       {"On these 200 prompts attention mass is a poor guide to importance: τ-b 0.11 "
        "[−0.02, 0.24]. 7 of the 10 loudest heads have no effect larger than ±0.05 logits; the "
        "strongest head, 1.3, ranks 31st of 48 in attention."}},
      {"controls",
       {"control"},
       {3},
       {"Known answer", "Answers swapped", "Random vectors of equal norm"}},
      {"control_results", {"control"}, {3}, {"passed", "passed", "reported"}},
      {"control_details",
       {"control"},
       {3},
       {"Planted heads of 3δ and 0.3δ came out causal and without effect.",
        "With answer and wrong answer swapped at random per group, no head is found (p = 0.62).",
        "Twenty draws a head: the median |effect| is 0.021 logits, of the causal heads' place "
        "0.19."}},
      {"notes",
       {"note"},
       {2},
       {"Halves were split by group: means and δ come from one half, effects from the other.",
        "mass = mean over the rows that the metric reads of 1 − first token − self."}}};
  return report;
}

}  // namespace attnscope::testing
