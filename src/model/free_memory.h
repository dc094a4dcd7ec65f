// File: free_memory.h
// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace attnscope {

struct FreeMemory {
  std::uint64_t bytes = 0;
  std::string source;  // "MemAvailable" or "the memory limit of the control group"
};

// The least of MemAvailable and what the control groups leave; nothing where neither is known.
std::optional<FreeMemory> free_memory();

// Throws Error (exit 4) with both figures when `bytes` do not fit.
void expect_memory_for(std::uint64_t bytes, const std::string& what, const std::string& where);

}  // namespace attnscope
