// The plain English of a verdict. All its sentences are in sentences.cpp.
#pragma once

#include <string>

#include "attnscope/probes/verdict_rule.h"

namespace attnscope {

// Three digits, with a minus sign and not a hyphen.
std::string number_in_text(double value);

std::string not_finite(std::int64_t effects);
std::string too_few_clusters(std::size_t clusters);
std::string positive_control_failed(const std::string& note);
std::string negative_control_rejects(double p);
// Why a metric has no negative control.
std::string swap_turns_nothing(MetricChoice metric);

// "On these 200 prompts attention mass is a poor guide to importance: …"
std::string verdict_paragraph(const VerdictInput& input, const VerdictOptions& options,
                              const VerdictResult& result);

}  // namespace attnscope
