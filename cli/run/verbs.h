// File: verbs.h
// The verbs that compute: one function each, spec in, exit code out.
#pragma once

#include <string>
#include <vector>

#include "attnscope/spec/spec_json.h"

namespace attnscope::run {

int run_verb(const Envelope& envelope);

int run_ablate(const AblateSpec& spec, const std::vector<std::string>& command_line);
int run_capture(const CaptureSpec& spec, const std::vector<std::string>& command_line);
int run_demo(const DemoSpec& spec, const std::vector<std::string>& command_line);
int run_verdict(const VerdictSpec& spec, const std::vector<std::string>& command_line);
int run_patch(const PatchSpec& spec, const std::vector<std::string>& command_line);
int run_lens(const LensSpec& spec, const std::vector<std::string>& command_line);
// Parts of an experiment.
int run_merge(const MergeSpec& spec, const std::vector<std::string>& command_line);
// Prints the checks as JSON; attnscope shows them.
int run_doctor(const DoctorSpec& spec);

}  // namespace attnscope::run
