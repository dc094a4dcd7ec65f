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

// Whole captures: prompts are renumbered in the order of the inputs, `prompt_index` of experiments
// with them. Parts of one run (--shard i/N): joined in the order of their numbers to what the run
// would have written without --shard; all must be there.
// Errors (exit 2): one file or one run twice, parts missing or of different runs, other model
// hashes, kinds, layouts, dtypes or sites, options that decide what is stored, one experiment name
// twice. Returns the SHA-256 of the merged file.
std::string merge_files(const MergeOptions& options);

}  // namespace attnscope
