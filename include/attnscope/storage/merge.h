// File: merge.h
// Joins captures of one model into one file, stored chunks copied as they are; and parts of a run.
#pragma once

#include <string>
#include <vector>

#include "attnscope/storage/experiment.h"
#include "attnscope/storage/output.h"
#include "attnscope/storage/schema.h"

namespace attnscope {

// The records of every part of a run, in the order of the parts.
using PartRecords = std::vector<std::vector<ExperimentRecord>>;
// From them and the prompts of the run to the records of the whole.
using JoinRecords = std::vector<ExperimentRecord> (*)(const PartRecords& parts,
                                                      const std::vector<PromptRecord>& prompts);

struct MergeOptions {
  std::vector<std::string> inputs;  // two or more
  std::string path;                 // OUT.h5
  IfExists if_exists = IfExists::refuse;
  JoinRecords join_records = nullptr;  // for parts of an experiment, which are refused without it
};

// Whole captures: prompts are renumbered in the order of the inputs, `prompt_index` of experiments
// with them. Parts of one run (--shard i/N): joined in the order of their numbers to what the run
// would have written without --shard; all must be there. Parts of an experiment have the same
// prompts and are joined by `join_records`.
// Errors (exit 2): one file or one run twice, parts missing or of different runs, other model
// hashes, kinds, layouts, dtypes or sites, options that decide what is stored, one experiment name
// twice. Returns the SHA-256 of the merged file.
std::string merge_files(const MergeOptions& options);

}  // namespace attnscope
