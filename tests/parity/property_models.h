// File: property_models.h
// The models on which properties of the runtime are tested: every family, and a model without norm.
#pragma once

#include <string>
#include <vector>

#include "attnscope/model/model.h"

namespace attnscope::testing {

struct PropertyModel {
  Model model;
  std::vector<TokenRow> rows;  // three prompts of different lengths
};

// Names of all of them.
const std::vector<std::string>& property_models();
PropertyModel load_property_model(const std::string& name, DType dtype,
                                  c10::Device device = c10::kCPU);

// Hooks of one site in every layer, those that the model has.
std::vector<HookId> hooks_of(const Model& model, const std::vector<Site>& sites);

}  // namespace attnscope::testing
