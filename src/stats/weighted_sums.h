// The product that resampling is made of.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attnscope {

// Columns of cluster values, padded to whole tiles so that the product needs no special last tile.
class ClusterColumns {
 public:
  ClusterColumns(std::size_t clusters, std::size_t columns);
  double& at(std::size_t cluster, std::size_t column) {
    return values_[cluster * stride_ + column];
  }
  std::size_t clusters() const { return clusters_; }
  std::size_t stride() const { return stride_; }
  const double* data() const { return values_.data(); }

 private:
  std::size_t clusters_;
  std::size_t stride_;
  std::vector<double> values_;
};

// out[row, column] = Σ over clusters of weights[row, cluster] · columns[cluster, column]; `out` has
// `rows` × columns.stride() values. Every sum runs over clusters in order, whatever the blocks.
void weighted_sums(std::span<const double> weights, std::size_t rows, const ClusterColumns& columns,
                   std::vector<double>& out);

}  // namespace attnscope
