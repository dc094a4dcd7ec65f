// File: free_memory.h
// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace attnscope {

struct FreeMemory {
  std::uint64_t bytes = 0;
  std::string source;  // "MemAvailable", "the memory limit of the control group", "ulimit -v" …
};

// What the limits of this process (ulimit -v, -d) leave; nothing without a limit.
std::optional<FreeMemory> free_addresses();
// The least of that, of MemAvailable and of what the control groups leave; nothing where none is
// known.
std::optional<FreeMemory> free_memory();

struct MemoryNeed {
  std::uint64_t bytes = 0;
  std::string what;   // "the weights"
  std::string where;  // file or option
  std::string next;   // what would help
};

// Throws Error (exit 4) with both figures when the need does not fit.
void expect_within(const std::optional<FreeMemory>& free, const MemoryNeed& need);

}  // namespace attnscope
