#include "attnscope/probes/doctor.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "attnscope/support/philox.h"
#include "checks.h"

namespace attnscope {
namespace {

TokenRow random_prompt(const ModelConfig& config, const DoctorOptions& options) {
  const int length = std::max(2, std::min(options.tokens, config.n_context));
  Philox random(options.seed, 0);
  TokenRow row;
  for (int i = 0; i < length; ++i) {
    row.ids.push_back(random.below(static_cast<std::uint32_t>(config.d_vocab)));
  }
  return row;
}

void append(std::vector<DoctorCheck>& all, std::vector<DoctorCheck> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

}  // namespace

void Worst::compare(const at::Tensor& got, const at::Tensor& expected, double relative, int layer) {
  const double error = (got - expected).abs().max().item<double>();
  const double allowed = relative * std::max(1.0, expected.abs().max().item<double>());
  // A NaN or an error where none is allowed is worse than everything.
  const double ratio = error == 0 ? 0
                       : allowed > 0 && std::isfinite(error)
                           ? error / allowed
                           : std::numeric_limits<double>::infinity();
  if (worst_ratio_ && ratio <= *worst_ratio_) return;
  worst_ratio_ = ratio;
  check_.measured = error;
  check_.allowed = allowed;
  check_.layer = layer;
  check_.result = ratio > 1 ? CheckResult::failed : CheckResult::passed;
}

DoctorCheck Worst::finish(const std::string& missing) const {
  if (worst_ratio_) return check_;
  DoctorCheck check = check_;
  check.result = CheckResult::not_applicable;
  check.note = missing;
  return check;
}

at::Tensor output_of(const RunResult& result) {
  return (result.logits.defined() ? result.logits : result.hidden).to(at::kCPU, at::kDouble);
}

Tolerance tolerance_of(const Model& model) {
  switch (model.dtype()) {
    case DType::f64:
      return {1e-10, 1e-10};
    case DType::f16:
      return {1e-2, 1e-2};
    case DType::bf16:
      return {5e-2, 5e-2};
    default:
      return {1e-5, 1e-4};
  }
}

std::vector<DoctorCheck> check_model(const Model& model, const DoctorOptions& options) {
  const Patient patient{model, random_prompt(model.config(), options)};
  std::vector<DoctorCheck> checks = check_sums(patient);
  append(checks, check_maps(patient));
  append(checks, check_batches(patient));
  return checks;
}

bool all_passed(const std::vector<DoctorCheck>& checks) {
  return std::none_of(checks.begin(), checks.end(),
                      [](const DoctorCheck& check) { return check.result == CheckResult::failed; });
}

}  // namespace attnscope
