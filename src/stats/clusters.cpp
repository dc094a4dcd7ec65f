#include "attnscope/stats/clusters.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

// Cluster means nearer than this, relative to the largest, are the same but for rounding.
constexpr double kSameValue = 1e-10;

Variation variation_of(std::span<const double> sums, std::span<const double> sizes) {
  std::vector<double> means(sums.size());
  double largest = 0;
  for (std::size_t c = 0; c < sums.size(); ++c) {
    if (std::isnan(sums[c])) return Variation::missing;
    means[c] = sums[c] / sizes[c];
    largest = std::max(largest, std::fabs(means[c]));
  }
  std::sort(means.begin(), means.end());
  std::size_t commonest = 0, begin = 0;
  for (std::size_t c = 0; c < means.size(); ++c) {
    if (means[c] - means[begin] > kSameValue * largest) begin = c;
    commonest = std::max(commonest, c + 1 - begin);
  }
  const std::size_t different = means.size() - commonest;
  if (different == 0) return Variation::constant;
  return different < std::min(kMinClusters, means.size() - 1) ? Variation::sparse : Variation::full;
}

}  // namespace

bool ClusterSums::equal_sizes() const {
  return std::adjacent_find(sizes.begin(), sizes.end(), std::not_equal_to<>()) == sizes.end();
}

ClusterSums sum_by_cluster(std::span<const double> values, std::size_t units,
                           std::span<const int> cluster_of_prompt) {
  const std::size_t prompts = cluster_of_prompt.size();
  if (values.size() != units * prompts) {
    throw Error(
        ErrorKind::internal, "SA01",
        {.where = "sum_by_cluster",
         .what = "values have the wrong size",
         .expected = std::to_string(units) + " units of " + std::to_string(prompts) + " prompts",
         .got = std::to_string(values.size()) + " values"});
  }
  std::map<int, std::size_t> index;
  for (const int cluster : cluster_of_prompt) index.emplace(cluster, 0);
  std::size_t next = 0;
  for (auto& [cluster, position] : index) position = next++;

  ClusterSums result;
  result.units = units;
  result.clusters = index.size();
  result.prompts = static_cast<double>(prompts);
  result.sums.assign(units * result.clusters, 0);
  result.sizes.assign(result.clusters, 0);
  std::vector<std::size_t> column(prompts);
  for (std::size_t p = 0; p < prompts; ++p) {
    column[p] = index.at(cluster_of_prompt[p]);
    result.sizes[column[p]] += 1;
  }
  for (std::size_t u = 0; u < units; ++u) {
    double* sums = result.sums.data() + u * result.clusters;
    for (std::size_t p = 0; p < prompts; ++p) sums[column[p]] += values[u * prompts + p];
  }
  return result;
}

MeanEstimate estimate_mean(const ClusterSums& sums, std::size_t unit) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const std::span<const double> s = sums.of(unit);
  MeanEstimate estimate;
  estimate.variation = variation_of(s, sums.sizes);
  double total = 0;
  for (const double value : s) total += value;
  estimate.mean = total / sums.prompts;
  if (sums.clusters < 2 || estimate.variation == Variation::missing) {
    estimate.se = kNaN;
    return estimate;
  }
  if (estimate.variation == Variation::constant) return estimate;
  double squares = 0;
  for (std::size_t c = 0; c < sums.clusters; ++c) {
    const double residual = s[c] - estimate.mean * sums.sizes[c];
    squares += residual * residual;
  }
  const auto n = static_cast<double>(sums.clusters);
  estimate.se = std::sqrt(n / (n - 1) * squares) / sums.prompts;
  return estimate;
}

}  // namespace attnscope
