// File: doctor.h
// Does a model compute what its sites say? Identities that hold for every transformer, checked on
// one model: sums of the residual stream, rows of the maps, edits that must or must not change the
// output, padding. Definitions: probes/doctor/README.md.
//
// Example:
//   const std::vector<DoctorCheck> checks = check_model(model, {});
//   all_passed(checks);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/model/model.h"

namespace attnscope {

struct DoctorOptions {
  int tokens = 12;         // length of the random prompt, cut to the context
  std::uint64_t seed = 1;  // of the random token ids
};

enum class CheckResult {
  passed,
  failed,
  not_applicable,  // the model has nothing that this check is about; `note` says what is missing
};

// One line of the report. The largest error over all layers stands against what is allowed.
struct DoctorCheck {
  std::string name;  // "resid_pre + attn_out = resid_mid"
  CheckResult result = CheckResult::passed;
  double measured = 0;  // largest error, in the unit of the values
  double allowed = 0;   // NaN where no bound is set and the note says what must hold
  int layer = -1;       // where it was largest; −1 outside the layers
  std::string note;
};

// Runs the model a few times on a random prompt. Throws what Model::run throws.
std::vector<DoctorCheck> check_model(const Model& model, const DoctorOptions& options);

bool all_passed(const std::vector<DoctorCheck>& checks);

}  // namespace attnscope
