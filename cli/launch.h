// File: launch.h
// Handing work to attnscope-run, the executable that links LibTorch.
#pragma once

#include <string>
#include <vector>

#include "attnscope/spec/spec_json.h"

namespace attnscope::cli {

// The descriptor on which attnscope-run reads its envelope.
inline constexpr int kEnvelopeDescriptor = 3;

// Replaces this process by attnscope-run with `envelope`; returns only by Error LA0n (exit 3).
[[noreturn]] void exec_runner(const Envelope& envelope);

struct ChildResult {
  int exit_code = 0;  // 128 + signal when a signal ended it
  std::string output;
};

// Runs attnscope-run as a child with `arguments`, and with `envelope` where that is not null.
// Standard error is shared, standard output is returned.
ChildResult run_child(const std::vector<std::string>& arguments, const Envelope* envelope);

}  // namespace attnscope::cli
