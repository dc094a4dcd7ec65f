// File: lens_text.h
// What the layers would say and who says it, for people.
#pragma once

#include <string>

#include "attnscope/probes/experiment.h"

namespace attnscope::console {

// For each of the first prompts: the first choices of every stage at the last position that was
// read, and the parts that add most to the answer; then means over all prompts.
std::string lens_text(const ExperimentResult& result);

}  // namespace attnscope::console
