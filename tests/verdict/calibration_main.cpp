// Prints the figures of the calibration, one a line: name, share, repeats. calibrate.py compares
// them with what they must be.
#include <cstdio>
#include <initializer_list>
#include <string>
#include <utility>

#include "calibration.h"

int main() {
  using namespace attnscope;
  const auto print = [](const char* name, double share, const Repeats& repeats) {
    std::printf("%s %.6f %d\n", name, share, repeats.count);
    std::fflush(stdout);
  };
  const Repeats null = {.count = 400, .draws = 10000, .seed = 1};
  const NullRates rates = null_rates(null);
  print("null_raw", rates.raw, null);
  print("null_adjusted", rates.adjusted, null);
  print("null_simultaneous", rates.simultaneous, null);
  const Repeats power = {.count = 400, .draws = 2000, .seed = 1};
  print("raw_power_2.0", raw_power(2, power), power);
  print("raw_power_2.8", raw_power(2.8, power), power);
  for (const double error : {.4, .55, .25}) {
    const VerdictRates verdicts = verdict_rates(error, power);
    char name[64];
    std::snprintf(name, sizeof name, "causal_%.2f", error);
    print(name, verdicts.causal, power);
    std::snprintf(name, sizeof name, "no_effect_%.2f", error);
    print(name, verdicts.no_effect, power);
  }
  const Repeats many = {.count = 2000, .draws = 2000, .seed = 1};
  print("coverage_normal", coverage(Shape::normal, many), many);
  print("coverage_exponential", coverage(Shape::exponential, many), many);
  const Repeats together = {.count = 1000, .draws = 999, .seed = 1};
  for (const auto& [name, world] : {std::pair("exponential", SkewedWorld::exponential),
                                    std::pair("half-zero", SkewedWorld::half_zero),
                                    std::pair("one-in-six", SkewedWorld::one_in_six)}) {
    for (const std::size_t clusters : {12, 40}) {
      const std::string of = "_" + std::string(name) + "_" + std::to_string(clusters);
      const SkewedRates skewed = skewed_rates(world, clusters, many);
      print(("few" + of).c_str(), skewed.covered, many);
      print(("marked" + of).c_str(), skewed.marked, many);
      print(("beyond" + of).c_str(), skewed.beyond, many);
    }
    const std::string of = "together_" + std::string(name) + "_40";
    print(of.c_str(), covered_together(world, 40, together), together);
  }
  return 0;
}
