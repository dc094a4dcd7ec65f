// File: fixtures.h
// Where test data lies.
#pragma once

#include <optional>
#include <string>

namespace attnscope::testing {

// A file or folder under tests/fixtures, which is in every clone.
std::string fixture(const std::string& relative);

// A file or folder of the larger test material: the folder that ATTNSCOPE_MATERIAL names. Nothing
// when the variable is not set; the test then skips with a printed reason. When the variable is
// set and the file is missing the test fails.
std::optional<std::string> material(const std::string& relative);

}  // namespace attnscope::testing
