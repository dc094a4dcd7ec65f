// File: merge.h
// Joins captures of one model into one file, stored chunks copied as they are.
#pragma once

#include <string>
#include <vector>

#include "attnscope/storage/output.h"

namespace attnscope {

struct MergeOptions {
  std::vector<std::string> inputs;  // two or more
  std::string path;                 // OUT.h5
  IfExists if_exists = IfExists::refuse;
};

// Prompts are renumbered in the order of the inputs, `prompt_index` of experiments with them.
// Errors (exit 2): other model hashes, other kinds or layouts, packed sites that are not in all
// inputs, one experiment name twice. Returns the SHA-256 of the merged file.
std::string merge_files(const MergeOptions& options);

}  // namespace attnscope
