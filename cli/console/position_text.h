// File: position_text.h
// Effects by position over prompts of unequal length: the last positions are those of few prompts.
#pragma once

#include <string>
#include <vector>

#include "attnscope/render/effect_view.h"

namespace attnscope::console {

// Puts cells that exist in fewer than half of the prompts behind the others, each part in its
// order.
void put_rare_last(const EffectView& table, int method, std::vector<int>& cells);

// Which positions are not in all prompts, and what to do; empty where all are.
std::string position_notes(const EffectView& table);

}  // namespace attnscope::console
