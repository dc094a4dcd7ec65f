// File: checks.h
// The groups of checks behind check_model.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <vector>

#include "attnscope/probes/doctor.h"

namespace attnscope {

// What every check gets: the model, a random prompt and its run.
struct Patient {
  const Model& model;
  TokenRow prompt;
};

// Largest error of one check, kept over the layers.
class Worst {
 public:
  explicit Worst(std::string name) { check_.name = std::move(name); }
  // |got − expected|, against `relative`·max(1, |expected|max).
  void compare(const at::Tensor& got, const at::Tensor& expected, double relative, int layer);
  // The check, or one that does not apply for the reason `missing` when nothing was compared.
  DoctorCheck finish(const std::string& missing) const;

 private:
  DoctorCheck check_;
  std::optional<double> worst_ratio_;  // error ÷ allowed, so far
};

// What a run puts out: logits where the model has a head, else the last hidden state. [b q v|m]
at::Tensor output_of(const RunResult& result);

// Tolerances of hidden states and patterns, and of logits, for the type the model runs in.
struct Tolerance {
  double hidden = 0;
  double logits = 0;
};
Tolerance tolerance_of(const Model& model);

std::vector<DoctorCheck> check_sums(const Patient& patient);
std::vector<DoctorCheck> check_maps(const Patient& patient);
std::vector<DoctorCheck> check_batches(const Patient& patient);

}  // namespace attnscope
