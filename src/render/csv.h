// File: csv.h
#pragma once

#include <string>

namespace attnscope::render {

// A field of RFC 4180: in quotes where it has to be.
std::string csv_field(const std::string& text);

}  // namespace attnscope::render
