// File: unfinished.h
// How to go on after an error that ended a run: what lies in OUT.h5.parts/ decides it.
//
// Example:
//   return saying_what_is_kept(spec.output, [&] { return Job(spec).run(); });
#pragma once

#include "attnscope/spec/capture_spec.h"
#include "attnscope/support/error.h"

namespace attnscope {

// The same error, which a signal or the disk caused, with what is kept of the whole run and the
// command that goes on from there. Other errors as they are.
[[noreturn]] void rethrow_with_what_is_kept(const Error& error, const DeliveryOptions& output);

// Calls work(), all of whose outputs are closed when it throws.
template <typename Work>
auto saying_what_is_kept(const DeliveryOptions& output, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    rethrow_with_what_is_kept(error, output);
  }
}

}  // namespace attnscope
