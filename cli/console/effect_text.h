// File: effect_text.h
// What the texts about an experiment have in common.
#pragma once

#include <optional>
#include <string>

#include "attnscope/probes/experiment.h"

namespace attnscope::console {

// What stands where there is no value.
inline constexpr const char* kNone = "-";

std::string number_text(double value, int digits = 4);
std::string interval_text(double low, double high);

// "≤0.0001" for the smallest that draws can give: with more of them it might have been less.
std::string p_text(double p, double smallest);

// Text of a file or of a user, safe on a terminal.
std::string safe(const std::string& text);
// The lines of a text of the record; empty without one.
std::string joined_texts(const ExperimentRecord& record, const char* name);

// What the record is, in words, with its name where that tells less: "patch by layer and head
// (patch_layer_head)".
std::string record_title(const ExperimentRecord& record);
// That this is part 2 of 4 of a run; empty for a whole one.
std::string part_text(const std::optional<ShardId>& part);
// What an effect and a recovery of the record are.
std::string meaning_text(const ExperimentRecord& record);
// What was measured, on what.
std::string heading_text(const ExperimentResult& result);
// How it was checked and computed.
std::string checks_text(const ExperimentResult& result);

}  // namespace attnscope::console
