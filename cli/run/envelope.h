// File: envelope.h
// The spec that attnscope passes to attnscope-run.
#pragma once

#include "attnscope/spec/spec_json.h"

namespace attnscope::run {

// Reads descriptor 3 to its end. Throws RU01 (exit 2) when nothing was passed there.
Envelope read_envelope();

}  // namespace attnscope::run
