// File: verdict_record.h
// What a verdict leaves in its file and on its page: judge()'s input and result as arrays with
// named axes (render/report.h says what each one is). The caller adds what it alone knows:
// spec_json, the noise floor's kind, what was run again.
#pragma once

#include <string>

#include "attnscope/probes/verdict_rule.h"
#include "attnscope/storage/experiment.h"

namespace attnscope {

// Record "verdict". Effects, attention and verdicts are of the estimation half; rank correlations
// are of all prompts, and so are effect_all and attention_all, which they compare. Withheld
// verdicts leave no `verdict`, but `withheld` with the reasons.
ExperimentRecord verdict_record(const VerdictInput& input, const VerdictOptions& options,
                                const VerdictResult& result, const std::string& metric);

}  // namespace attnscope
