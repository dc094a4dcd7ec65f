#include "weighted_sums.h"

#include <algorithm>

#include "attnscope/support/vector_clones.h"

namespace attnscope {
namespace {

// A tile of the product that fits in the vector registers of AVX2.
constexpr std::size_t kRows = 4;
constexpr std::size_t kColumns = 8;

ATTNSCOPE_CLONES
void multiply_rows(const double* weights, std::size_t clusters, const double* columns,
                   std::size_t stride, double* out) {
  for (std::size_t first = 0; first < stride; first += kColumns) {
    double tile[kRows][kColumns] = {};
    for (std::size_t c = 0; c < clusters; ++c) {
      const double* values = columns + c * stride + first;
      for (std::size_t r = 0; r < kRows; ++r) {
        const double weight = weights[r * clusters + c];
        for (std::size_t k = 0; k < kColumns; ++k) tile[r][k] += weight * values[k];
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t k = 0; k < kColumns; ++k) out[r * stride + first + k] = tile[r][k];
    }
  }
}

}  // namespace

ClusterColumns::ClusterColumns(std::size_t clusters, std::size_t columns)
    : clusters_(clusters),
      stride_((columns + kColumns - 1) / kColumns * kColumns),
      values_(clusters * stride_) {}

void weighted_sums(std::span<const double> weights, std::size_t rows, const ClusterColumns& columns,
                   std::vector<double>& out) {
  const std::size_t clusters = columns.clusters(), stride = columns.stride();
  const std::size_t whole = rows / kRows * kRows;
  out.resize(rows * stride);
  for (std::size_t row = 0; row < whole; row += kRows) {
    multiply_rows(weights.data() + row * clusters, clusters, columns.data(), stride,
                  out.data() + row * stride);
  }
  if (whole == rows) return;
  std::vector<double> last(kRows * clusters), last_out(kRows * stride);
  std::copy(weights.begin() + static_cast<std::ptrdiff_t>(whole * clusters),
            weights.begin() + static_cast<std::ptrdiff_t>(rows * clusters), last.begin());
  multiply_rows(last.data(), clusters, columns.data(), stride, last_out.data());
  std::copy_n(last_out.begin(), (rows - whole) * stride,
              out.begin() + static_cast<std::ptrdiff_t>(whole * stride));
}

}  // namespace attnscope
