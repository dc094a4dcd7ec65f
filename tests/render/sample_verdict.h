// File: sample_verdict.h
// A verdict with everything that a report can show.
#pragma once

#include "attnscope/render/report.h"

namespace attnscope::testing {

// Heads 0.0 … 5.7. 1.3 is the strongest (effect −3.25 under zero); 4.6 is the loudest (first
// measure .91) and has no effect; 2.5 is backed up; 3.1 is unspecific; 0.0 has no interval.
VerdictReport sample_verdict();

}  // namespace attnscope::testing
