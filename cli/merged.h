// File: merged.h
// merge in both executables: parts of an experiment are estimated anew by attnscope-run, everything
// else is joined by attnscope alone.
#pragma once

#include <string>
#include <vector>

#include "attnscope/spec/file_specs.h"
#include "attnscope/storage/merge.h"

namespace attnscope::cli {

// Merges the files of the spec, writes OUT.json and says so. `join`: for parts of an experiment.
void write_merged(const MergeSpec& spec, const std::vector<std::string>& command_line,
                  JoinRecords join);

}  // namespace attnscope::cli
