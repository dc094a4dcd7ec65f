// File: guard.h
// Work on a file that is not trusted, in a child process with limits: a damaged HDF5 file can crash
// the library, keep it busy forever or make it allocate without end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "attnscope/storage/h5.h"

namespace attnscope::storage_detail {

struct GuardLimits {
  unsigned seconds = 10;  // of processor time; six times as much on the clock
  std::uint64_t memory_bytes = 4ULL << 30U;
};

// Runs `work` in a child and returns its text. An Error thrown there is thrown here again; a crash
// or a limit becomes an Error (exit 2) about `path`.
std::string run_guarded(const std::string& path, const GuardLimits& limits,
                        const std::function<std::string()>& work);

// Opens every group and dataset below the root with the checks of Group::open_dataset. Throws on
// the first that is refused.
void walk_file(const h5::File& file);

}  // namespace attnscope::storage_detail
