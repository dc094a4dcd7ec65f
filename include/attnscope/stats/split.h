// File: split.h
// Selection on one half of the clusters, estimation on the other, so that what was picked for being
// large is not also reported as large for that reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attnscope {

enum class Half { selection, estimation };

// The half of each cluster 0 … clusters − 1, drawn by seed; estimation gets the odd one.
std::vector<Half> split_clusters(std::size_t clusters, std::uint64_t seed);

// Indices of the prompts whose cluster is in `half`.
std::vector<int> prompts_of(Half half, std::span<const Half> half_of_cluster,
                            std::span<const int> cluster_of_prompt);

// Columns `prompts` of a row-major matrix [rows, all prompts].
std::vector<double> take_prompts(std::span<const double> values, std::size_t rows,
                                 std::span<const int> prompts);

}  // namespace attnscope
