// The half of doctor that needs LibTorch: what it is, and the checks of a model. Prints JSON.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/headeronly/version.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "attnscope/core/device.h"
#include "attnscope/probes/doctor.h"
#include "attnscope/probes/known_answer.h"
#include "console/output.h"
#include "run/verbs.h"

namespace attnscope::run {
namespace {

const char* result_name(CheckResult result) {
  switch (result) {
    case CheckResult::passed:
      return "passed";
    case CheckResult::failed:
      return "failed";
    case CheckResult::not_applicable:
      break;
  }
  return "not applicable";
}

nlohmann::ordered_json checks_json(const std::vector<DoctorCheck>& checks) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const DoctorCheck& check : checks) {
    nlohmann::ordered_json entry = {{"check", check.name}, {"result", result_name(check.result)}};
    if (check.result != CheckResult::not_applicable) {
      entry["measured"] = check.measured;
      if (!std::isnan(check.allowed)) entry["allowed"] = check.allowed;
    }
    if (check.layer >= 0) entry["layer"] = check.layer;
    if (!check.note.empty()) entry["note"] = check.note;
    list.push_back(entry);
  }
  return list;
}

}  // namespace

int run_doctor(const DoctorSpec& spec) {
  set_up_process({.threads = spec.threads});
  Warnings warnings;
  const Strictness strictness = spec.strict ? Strictness::strict : Strictness::lenient;
  const Checkpoint checkpoint = spec.model.empty()
                                    ? known_induction_model()
                                    : open_checkpoint(spec.model, {strictness}, warnings);
  const Model model = Model::load(
      checkpoint, {.device = parse_device(spec.device), .strictness = strictness}, warnings);
  console::print_warnings(warnings.lines());
  const std::vector<DoctorCheck> checks = check_model(model, {});

  const nlohmann::ordered_json report = {
      {"libtorch", TORCH_VERSION},        {"instructions", at::get_cpu_capability()},
      {"threads", at::get_num_threads()}, {"gpu", describe_gpus()},
      {"model", checkpoint.config.name},  {"device", model.device().str()},
      {"checks", checks_json(checks)},    {"passed", all_passed(checks)}};
  console::print(report.dump() + "\n");
  return 0;
}

}  // namespace attnscope::run
