// File: oracle.h
// The reference arrays of a family: random weights run in float64 by an independent implementation.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "attnscope/core/batch.h"
#include "testing/npz.h"

namespace attnscope::testing {

const std::vector<std::string>& families();
std::string family_folder(const std::string& family);

// One input of an oracle: "seq0", "seq1", "seq2" (one row), "padleft", "padright" (two rows).
struct OracleCase {
  std::string name;
  std::vector<TokenRow> rows;  // without pads
  std::vector<RowSpan> spans;  // where the rows lie in the oracle's arrays
};

class Oracle {
 public:
  explicit Oracle(const std::string& path) : arrays_(read_npz(path)) {}

  bool has(const std::string& array) const { return arrays_.contains(array); }
  OracleCase input(const std::string& name) const;
  at::Tensor array(const std::string& name) const;  // float64
  std::vector<std::int64_t> integers(const std::string& name) const {
    return arrays_.at(name).as_int64();
  }
  // Names of the arrays that belong to `name`, without "seq0/" and without the inputs.
  std::vector<std::string> outputs(const std::string& name) const;

 private:
  Npz arrays_;
};

inline const std::vector<std::string> kOracleCases = {"seq0", "seq1", "seq2", "padleft",
                                                      "padright"};

// Row `row` of a padded array [b …] or, for maps, [b h q k]: the part of its real tokens.
at::Tensor oracle_row(const OracleCase& input, const std::string& array, const at::Tensor& value,
                      int row);

}  // namespace attnscope::testing
