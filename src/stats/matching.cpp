#include "attnscope/stats/matching.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "attnscope/stats/distributions.h"
#include "parallel.h"

namespace attnscope {
namespace {

// Every trait with mean 0 and standard deviation 1 over all units; a constant trait becomes 0.
std::vector<double> standardise(std::span<const double> traits, std::size_t units) {
  const std::size_t n_traits = units > 0 ? traits.size() / units : 0;
  const auto n = static_cast<double>(units);
  std::vector<double> result(traits.begin(), traits.end());
  for (std::size_t t = 0; t < n_traits; ++t) {
    double mean = 0, squares = 0;
    for (std::size_t u = 0; u < units; ++u) mean += traits[u * n_traits + t] / n;
    for (std::size_t u = 0; u < units; ++u) squares += std::pow(traits[u * n_traits + t] - mean, 2);
    const double deviation = std::sqrt(squares / n);
    for (std::size_t u = 0; u < units; ++u) {
      double& value = result[u * n_traits + t];
      value = deviation > 0 ? (value - mean) / deviation : 0;
    }
  }
  return result;
}

class Matcher {
 public:
  Matcher(std::span<const int> target, std::span<const int> layers, std::span<const double> traits)
      : target_(target.begin(), target.end()),
        layers_(layers.begin(), layers.end()),
        traits_(standardise(traits, layers.size())),
        n_traits_(layers.empty() ? 0 : traits.size() / layers.size()) {}

  bool possible() const {
    std::map<int, int> others;
    for (const int layer : layers_) ++others[layer];
    for (const int unit : target_) others[layer_of(unit)] -= 2;
    return std::all_of(others.begin(), others.end(), [](const auto& e) { return e.second >= 0; });
  }

  std::vector<int> draw(double jitter, Philox& random) const {
    std::vector<int> order = target_;
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
    }
    std::vector<char> taken(layers_.size());
    for (const int unit : target_) taken[static_cast<std::size_t>(unit)] = 1;
    std::vector<int> set;
    for (const int unit : order) {
      std::vector<double> wanted(n_traits_);
      for (std::size_t t = 0; t < n_traits_; ++t) {
        // 1 − uniform is never 0, whose quantile is infinite.
        wanted[t] = trait(unit, t) + jitter * normal_quantile(1 - random.uniform());
      }
      const int found = nearest_free(layer_of(unit), wanted, taken);
      taken[static_cast<std::size_t>(found)] = 1;
      set.push_back(found);
    }
    std::sort(set.begin(), set.end());
    return set;
  }

 private:
  int layer_of(int unit) const { return layers_[static_cast<std::size_t>(unit)]; }
  double trait(int unit, std::size_t t) const {
    return traits_[static_cast<std::size_t>(unit) * n_traits_ + t];
  }

  int nearest_free(int layer, std::span<const double> wanted, std::span<const char> taken) const {
    int best = -1;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t u = 0; u < layers_.size(); ++u) {
      if (layers_[u] != layer || taken[u] != 0) continue;
      double distance = 0;
      for (std::size_t t = 0; t < n_traits_; ++t) {
        distance += std::pow(trait(static_cast<int>(u), t) - wanted[t], 2);
      }
      if (best >= 0 && !(distance < least)) continue;
      best = static_cast<int>(u);
      least = distance;
    }
    return best;
  }

  std::vector<int> target_;
  std::vector<int> layers_;
  std::vector<double> traits_;
  std::size_t n_traits_;
};

}  // namespace

std::vector<std::vector<int>> matched_sets(std::span<const int> target, std::span<const int> layers,
                                           std::span<const double> traits,
                                           const MatchOptions& options) {
  const Matcher matcher(target, layers, traits);
  std::vector<std::vector<int>> sets;
  if (!matcher.possible()) return sets;
  for (int i = 0; i < options.sets; ++i) {
    Philox random = random_of(options.seed, RandomUse::matching, 0, static_cast<std::uint64_t>(i));
    sets.push_back(matcher.draw(options.jitter, random));
  }
  return sets;
}

double percentile_among(double value, std::span<const double> controls) {
  if (controls.empty()) return std::numeric_limits<double>::quiet_NaN();
  double below = 0;
  for (const double control : controls) below += control < value ? 1 : control == value ? 0.5 : 0;
  return below / static_cast<double>(controls.size());
}

}  // namespace attnscope
