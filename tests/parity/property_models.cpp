#include "property_models.h"

#include <algorithm>

#include "attnscope/probes/known_answer.h"
#include "attnscope/support/warnings.h"
#include "family_comparison.h"
#include "oracle.h"

namespace attnscope::testing {
namespace {

constexpr char kKnownAnswer[] = "known_answer";

PropertyModel known_answer(DType dtype, c10::Device device) {
  Warnings warnings;
  const LoadOptions options{.dtype = dtype, .device = device};
  PropertyModel loaded{Model::load(known_induction_model(), options, warnings), {}};
  loaded.rows = {{.ids = known_induction_prompt()}, {.ids = {0, 3, 1, 3, 1}}, {.ids = {0, 5, 5}}};
  return loaded;
}

}  // namespace

const std::vector<std::string>& property_models() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = families();
    all.push_back(kKnownAnswer);
    return all;
  }();
  return names;
}

PropertyModel load_property_model(const std::string& name, DType dtype, c10::Device device) {
  if (name == kKnownAnswer) return known_answer(dtype, device);
  const Oracle oracle(family_folder(name) + "/oracle.npz");
  return {load_family(name, dtype, device).model,
          {oracle.input("seq1").rows[0], oracle.input("seq0").rows[0],
           oracle.input("padright").rows[1]}};
}

std::vector<HookId> hooks_of(const Model& model, const std::vector<Site>& sites) {
  std::vector<HookId> hooks;
  for (const HookId hook : model.sites().hooks) {
    if (std::find(sites.begin(), sites.end(), hook.site) != sites.end()) hooks.push_back(hook);
  }
  return hooks;
}

}  // namespace attnscope::testing
