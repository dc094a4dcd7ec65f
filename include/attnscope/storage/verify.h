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

// Everything that is wrong with the file, empty if nothing is:
// - every group, dataset and attribute of the schema is there, with its type and rank;
// - each dataset's SHA-256, and the file's own where OUT.json lies beside it;
// - rows of patterns add up (2⁻¹¹ for r10 and f16, + T·2⁻²⁴ with a floor or f16, 1e-6 for f32);
//   masked cells are 0 (patterns) or −inf (scores); no NaN in maps; top-k within range and in
//   order; offsets ascend.
// Throws (exit 2) if the file cannot be opened at all.
std::vector<Finding> verify_file(const std::string& path, const ReaderOptions& options = {});

}  // namespace attnscope
