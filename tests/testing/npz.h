// File: npz.h
// Reads numpy's .npz files (zip, stored or deflated, version 1 and 2 headers, C order).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace attnscope::testing {

struct NpzArray {
  std::string dtype;                // "<f8", "<i8", "|S123"
  std::vector<std::int64_t> shape;  // empty for a scalar
  std::vector<char> bytes;

  std::int64_t numel() const;
  // Values as doubles or integers, whatever the stored number type.
  std::vector<double> as_double() const;
  std::vector<std::int64_t> as_int64() const;
};

using Npz = std::map<std::string, NpzArray>;

Npz read_npz(const std::string& path);

}  // namespace attnscope::testing
