// File: verify.h
// Checks a file against its schema, its checksums and what must hold of its numbers.
#pragma once

#include <string>
#include <vector>

#include "attnscope/storage/reader.h"

namespace attnscope {

// One thing that is wrong.
struct Finding {
  std::string path;  // inside the file, "" for the whole file
  std::string what;
  std::string expected;
  std::string got;
};

// One line: "/prompts/p000000/tokens/ids: SHA-256 …; expected …, got …".
std::string describe(const Finding& finding);

struct Verification {
  std::vector<Finding> findings;  // what is wrong; empty if nothing is
  std::vector<std::string>
      notes;  // what could not be checked, and NaN that the file is right about
};

// What is wrong with the file:
// - every group, dataset and attribute of the schema is there, with its type, rank and range, and
//   can be read;
// - each dataset's SHA-256, and the file's own where OUT.json lies beside it;
// - rows of patterns add up (2⁻¹¹ for r10 and f16, + T·2⁻²⁴ with a floor or f16, 1e-6 for f32);
//   masked cells are 0 (patterns) or −inf (scores), every other tile is stored; NaN only in rows
//   whose log-sum-exp is NaN; top-k within range and in order; offsets ascend;
// - axes of experiments agree, effects lie within their intervals, p in 0 … 1 and at most the
//   adjusted p, counts are not negative, verdicts are known.
// Decodes on one thread a core. Throws (exit 2) if the file cannot be opened at all.
Verification verify_file(const std::string& path, const ReaderOptions& options = {});

}  // namespace attnscope
