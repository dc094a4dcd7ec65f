// Every site can be seen and, where the table of sites says so, changed; the change is on the
// compute path. A site set to the value it has changes no bit.
#include <gtest/gtest.h>

#include <algorithm>

#include "oracle.h"
#include "property_models.h"
#include "recorder.h"

namespace attnscope::testing {
namespace {

class Edits : public ::testing::TestWithParam<std::string> {};
// Without the known-answer model, which is built to withstand small changes.
class Changes : public ::testing::TestWithParam<std::string> {};

Intervention set_to(HookId hook, const at::Tensor& value) {
  return {.hook = hook, .operation = Operation::set, .value = value};
}

// Noise of the size of the value itself; maps get noise on the visible keys only.
at::Tensor disturbed(HookId hook, const at::Tensor& value) {
  at::Generator generator = at::detail::createCPUGenerator(7);
  at::Tensor noise = at::empty_like(value).normal_(0, 1, generator);
  if (hook.site == Site::attn_scores) return value + noise;
  if (hook.site == Site::pattern) return value * noise.abs();
  return value + noise * std::max(0.1, value.abs().mean().item<double>());
}

TEST_P(Edits, EverySiteIsShown) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f32);
  const Batch batch = make_batch({loaded.rows[0]});
  const std::vector<HookId>& hooks = loaded.model.sites().hooks;
  const Outcome outcome = run_and_record(loaded.model, batch, hooks);
  for (const HookId hook : hooks) {
    ASSERT_TRUE(outcome.values.contains(hook)) << hook_name(hook);
    const std::string dims = site_info(hook.site).dims;
    const auto rank = 1 + std::count(dims.begin(), dims.end(), ' ');
    EXPECT_EQ(outcome.values.at(hook).dim(), rank) << hook_name(hook);
    EXPECT_FALSE(outcome.values.at(hook).isnan().any().item<bool>()) << hook_name(hook);
  }
}

TEST_P(Edits, SetToItselfChangesNoBit) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f32);
  const Batch batch = make_batch({loaded.rows[0]});
  const std::vector<HookId>& hooks = loaded.model.sites().hooks;
  const Outcome clean = run_and_record(loaded.model, batch, hooks);
  const double scale = std::max(1.0, clean.output.abs().max().item<double>());
  for (const HookId hook : hooks) {
    if (!site_info(hook.site).patchable) continue;
    Taps taps;
    taps.interventions = {set_to(hook, clean.values.at(hook))};
    const Outcome same = run_and_record(loaded.model, batch, {}, taps);
    // With results to change, attn_out is their sum instead of one product over all heads.
    const double allowed = hook.site == Site::result ? 1e-5 * scale : 0;
    EXPECT_LE(largest_difference(same.output, clean.output), allowed) << hook_name(hook);
    EXPECT_EQ(same.result.interventions.at(0).change_norm, 0) << hook_name(hook);
    EXPECT_GT(same.result.interventions.at(0).fired, 0) << hook_name(hook);
  }
}

TEST_P(Changes, MoveTheOutput) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f32);
  const Batch batch = make_batch({loaded.rows[0]});
  const std::vector<HookId>& hooks = loaded.model.sites().hooks;
  const Outcome clean = run_and_record(loaded.model, batch, hooks);
  for (const HookId hook : hooks) {
    if (!site_info(hook.site).patchable) continue;
    Taps taps;
    taps.interventions = {set_to(hook, disturbed(hook, clean.values.at(hook)))};
    const Outcome changed = run_and_record(loaded.model, batch, {hook}, taps);
    EXPECT_GT(largest_difference(changed.output, clean.output), 1e-4) << hook_name(hook);
    EXPECT_LE(largest_difference(changed.values.at(hook), taps.interventions[0].value), 1e-12)
        << "an observer sees the changed value: " << hook_name(hook);
  }
}

// Other tools discard such edits in some families.
TEST_P(Edits, AllPatternsOverwrittenWithThemselves) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const PropertyModel loaded = load_property_model(GetParam(), dtype);
    const Batch batch = make_batch(loaded.rows);
    const std::vector<HookId> patterns = hooks_of(loaded.model, {Site::pattern});
    ASSERT_EQ(static_cast<int>(patterns.size()), loaded.model.config().n_layers);
    const Outcome clean = run_and_record(loaded.model, batch, patterns);
    Taps set, edited;
    for (const HookId hook : patterns) {
      set.interventions.push_back(set_to(hook, clean.values.at(hook)));
      edited.edits[hook] = [](HookId, const at::Tensor& value, const Batch&) {
        return value.clone();
      };
    }
    const Outcome by_data = run_and_record(loaded.model, batch, {}, set);
    const Outcome by_callback = run_and_record(loaded.model, batch, {}, edited);
    for (const InterventionReport& report : by_data.result.interventions) {
      EXPECT_EQ(report.fired, batch.size());
      EXPECT_EQ(report.change_norm, 0);
    }
    for (int row = 0; row < batch.size(); ++row) {
      const at::Tensor expected = unpadded(clean.output, batch, row);
      EXPECT_TRUE(same_bits(unpadded(by_data.output, batch, row), expected));
      EXPECT_TRUE(same_bits(unpadded(by_callback.output, batch, row), expected));
    }
  }
}

TEST_P(Changes, UniformPatternsMoveTheOutput) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f32);
  const Batch batch = make_batch({loaded.rows[0]});
  const Outcome clean = run_and_record(loaded.model, batch, {});
  for (const HookId hook : hooks_of(loaded.model, {Site::pattern})) {
    Taps taps;
    taps.interventions = {{.hook = hook, .operation = Operation::uniform}};
    const Outcome uniform = run_and_record(loaded.model, batch, {hook}, taps);
    EXPECT_GT(largest_difference(uniform.output, clean.output), 1e-3) << hook_name(hook);
    EXPECT_GT(uniform.result.interventions.at(0).change_norm, 0) << hook_name(hook);
    const at::Tensor map = uniform.values.at(hook);
    EXPECT_LE((map.sum(-1) - 1).abs().max().item<double>(), 1e-6);
    const at::Tensor seen = map > 0;
    const at::Tensor level = seen.to(map.dtype()) / seen.sum(-1, true);
    EXPECT_LE(largest_difference(map, level), 1e-7);
  }
}

// Zeroing a head by its z, by its result and by its values is the same thing.
TEST_P(Edits, ZeroedHeadIsTheSameAtZAndResult) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  const Batch batch = make_batch({loaded.rows[0]});
  for (int l = 0; l < loaded.model.config().n_layers; ++l) {
    for (int h = 0; h < loaded.model.config().n_heads(l); ++h) {
      std::vector<at::Tensor> outputs;
      for (const Site site : {Site::z, Site::result, Site::pattern}) {
        Taps taps;
        taps.interventions = {{.hook = {site, l}, .operation = Operation::zero, .heads = {h}}};
        outputs.push_back(run_and_record(loaded.model, batch, {}, taps).output);
      }
      EXPECT_LE(largest_difference(outputs[0], outputs[1]), 1e-11) << l << "." << h;
      EXPECT_LE(largest_difference(outputs[0], outputs[2]), 1e-11) << l << "." << h;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Edits, ::testing::ValuesIn(property_models()),
                         [](const auto& model) { return model.param; });

INSTANTIATE_TEST_SUITE_P(Models, Changes, ::testing::ValuesIn(families()),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace attnscope::testing
