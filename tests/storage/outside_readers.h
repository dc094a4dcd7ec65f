// File: outside_readers.h
// Reads files with programs that are not ours: h5py and h5dump.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/sample.h"

namespace attnscope::testing {

// A Python that can import h5py: $ATTNSCOPE_PYTHON, else the source tree's .venv.
std::optional<std::string> python_with_h5py();

// Both print why they check nothing when their program is missing.
void expect_h5py_equal(const std::string& path, const std::vector<Expected>& expected,
                       const std::string& scratch);
void expect_h5dump_equal(const std::string& path, const std::vector<Expected>& expected,
                         const std::string& scratch);

}  // namespace attnscope::testing
