// File: interval_text.h
// Why an interval is not there, or is of another kind, and how to read it beside p.
#pragma once

#include <string>

#include "attnscope/render/effect_view.h"

namespace attnscope::console {

// "*" behind the interval of an effect that a few groups carry.
std::string interval_mark(const EffectView& table, int method, int cell);

// One line for each kind of interval in the table that is not regular, with numbers.
std::string interval_reasons(const EffectView& table);

// The same, and what interval and p mean where the table has both.
std::string interval_notes(const EffectView& table);

}  // namespace attnscope::console
