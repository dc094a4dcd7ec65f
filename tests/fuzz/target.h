// File: target.h
// What the fuzz targets share. Each target defines LLVMFuzzerTestOneInput; libFuzzer calls it in a
// build with ATTNSCOPE_FUZZ, replay.cpp in every other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "attnscope/support/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace attnscope::fuzz {

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the process, which the fuzzer reports as a finding, unless `holds`.
void check(bool holds, const char* what);

// What an error says about hostile input: exit 2 or 4, and one clean line.
void check_refusal(const Error& error);

// Runs `work`; false if it refused its input. Any exception but a proper Error is a finding.
template <typename Work>
bool accepts(Work&& work) {
  try {
    std::forward<Work>(work)();
    return true;
  } catch (const Error& error) {
    check_refusal(error);
    return false;
  }
}

}  // namespace attnscope::fuzz
