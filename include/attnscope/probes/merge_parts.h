// File: merge_parts.h
// From the parts of a sweep (--shard i/N) to the results of the whole: effects on each prompt are
// put side by side, and everything that is estimated from them is estimated anew, because tests
// are simultaneous over all cells of a method.
#pragma once

#include <vector>

#include "attnscope/storage/experiment.h"
#include "attnscope/storage/merge.h"
#include "attnscope/storage/schema.h"

namespace attnscope {

// `parts`: the records of each part, in the order of their numbers, with `per_prompt`, which every
// part stores; `prompts`: those of the run. Differences that were measured (noise floor,
// verification) are the largest of the parts, counts their sums. Throws Error MP01 (exit 2) where
// the records of the parts do not belong together.
std::vector<ExperimentRecord> merge_part_records(const PartRecords& parts,
                                                 const std::vector<PromptRecord>& prompts);

}  // namespace attnscope
