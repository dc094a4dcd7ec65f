// File: family_comparison.h
// One family's runtime against its oracle, array by array.
#pragma once

#include <c10/core/Device.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "attnscope/model/model.h"
#include "oracle.h"

namespace attnscope::testing {

struct FamilyModel {
  Checkpoint checkpoint;
  Model model;
};
FamilyModel load_model(const std::string& path, DType dtype, c10::Device device = c10::kCPU);
inline FamilyModel load_family(const std::string& family, DType dtype,
                               c10::Device device = c10::kCPU) {
  return load_model(family_folder(family), dtype, device);
}

// Largest |difference| allowed, as a part of max(1, |x|max) of the array (one row of it if padded).
struct Tolerance {
  double hidden = 1e-5;  // maps, z and residuals
  double logits = 1e-4;
};
Tolerance tolerance_of(DType dtype);

struct FamilyComparison {
  int n_arrays = 0;
  std::map<std::string, double> largest;  // |difference| by kind of array, for the table
  std::vector<std::string> failures;
  std::set<std::string> engines;  // that computed attention, whatever was asked for
};
// All arrays of all cases. Left-padded rows are compared with what the rows give unpadded. The
// fused engine shows no maps, so maps are left out with it.
FamilyComparison compare_with_oracle(const std::string& family, DType dtype, Engine engine,
                                     c10::Device device = c10::kCPU);
// Number of arrays of a family that tests/parity/arrays.tsv says are compared. Fewer is a failure:
// an oracle that lost arrays must not pass unnoticed.
int committed_arrays(const std::string& family);
// The texts, one a line.
std::string lines(const std::vector<std::string>& texts);

// The left-padded case with position ids that count the pads, as the original model numbers them.
FamilyComparison compare_counting_pads(const std::string& family, DType dtype);

// Families whose original implementation counts pads in the positions.
bool original_counts_pads(const std::string& family);

}  // namespace attnscope::testing
