// Prints the figures of the calibration, one a line: name, share, repeats. calibrate.py compares
// them with what they must be.
#include <cstdio>
#include <initializer_list>

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
  return 0;
}
