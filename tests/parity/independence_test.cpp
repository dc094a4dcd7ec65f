// What a row must not depend on: later tokens, pads, its neighbours in the batch, other threads.
#include <gtest/gtest.h>

#include <thread>

#include "oracle.h"
#include "property_models.h"
#include "recorder.h"

namespace attnscope::testing {
namespace {

class Independence : public ::testing::TestWithParam<std::string> {};

bool is_causal(const Model& model) {
  for (const LayerConfig& layer : model.config().layers) {
    if (layer.attention.mask != MaskKind::causal) return false;
  }
  return true;
}

// Everything a query position shows, but maps and keys, which have a key axis.
std::vector<HookId> hooks_by_query(const Model& model) {
  std::vector<HookId> hooks;
  for (const HookId hook : model.sites().hooks) {
    if (std::string(site_info(hook.site).dims).starts_with("b q")) hooks.push_back(hook);
  }
  return hooks;
}

TEST_P(Independence, CausalRowsDoNotSeeLaterTokens) {
  for (const Engine engine : {Engine::reference, Engine::automatic}) {
    const PropertyModel loaded = load_property_model(GetParam(), DType::f32);
    if (!is_causal(loaded.model)) return;
    const TokenRow row = loaded.rows[0];
    const auto n = static_cast<int>(row.ids.size());
    // Only values, so that the automatic engine stays fused.
    const std::vector<HookId> hooks = hooks_by_query(loaded.model);
    const Outcome clean =
        run_and_record(loaded.model, make_batch({row}), hooks, {}, {.engine = engine});
    const int kept = n / 2;
    TokenRow other = row;
    for (int i = kept; i < n; ++i) {
      std::int64_t& id = other.ids[static_cast<std::size_t>(i)];
      id = (id + 1 + i) % loaded.model.config().d_vocab;
    }
    const Outcome changed =
        run_and_record(loaded.model, make_batch({other}), hooks, {}, {.engine = engine});
    EXPECT_TRUE(same_bits(changed.output.narrow(1, 0, kept), clean.output.narrow(1, 0, kept)));
    EXPECT_FALSE(same_bits(changed.output.select(1, n - 1), clean.output.select(1, n - 1)));
    for (const HookId hook : hooks) {
      if (!clean.values.contains(hook)) continue;
      EXPECT_TRUE(same_bits(changed.values.at(hook).narrow(1, 0, kept),
                            clean.values.at(hook).narrow(1, 0, kept)))
          << hook_name(hook);
    }
  }
}

TEST_P(Independence, BidirectionalRowsDoSeeLaterTokens) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f32);
  if (is_causal(loaded.model)) return;
  TokenRow other = loaded.rows[0];
  other.ids.back() = (other.ids.back() + 1) % loaded.model.config().d_vocab;
  const Outcome clean = run_and_record(loaded.model, make_batch({loaded.rows[0]}), {});
  const Outcome changed = run_and_record(loaded.model, make_batch({other}), {});
  EXPECT_GT(largest_difference(changed.output.select(1, 0), clean.output.select(1, 0)), 1e-4);
}

TEST_P(Independence, PaddedBatchEqualsSingleRuns) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  const std::vector<HookId>& hooks = loaded.model.sites().hooks;
  for (const PadSide side : {PadSide::left, PadSide::right}) {
    const Batch batch = make_batch(loaded.rows, side);
    const Outcome together = run_and_record(loaded.model, batch, hooks);
    for (int b = 0; b < batch.size(); ++b) {
      const Batch single = make_batch({loaded.rows[static_cast<std::size_t>(b)]});
      const Outcome alone = run_and_record(loaded.model, single, hooks);
      EXPECT_LE(largest_difference(unpadded(together.output, batch, b), alone.output[0]), 1e-11);
      for (const HookId hook : hooks) {
        EXPECT_LE(largest_difference(row_of(hook, together.values.at(hook), batch, b),
                                     alone.values.at(hook)[0]),
                  1e-11)
            << hook_name(hook) << ", row " << b;
      }
    }
  }
}

TEST_P(Independence, FusedPaddedBatchEqualsSingleRuns) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  for (const PadSide side : {PadSide::left, PadSide::right}) {
    const Batch batch = make_batch(loaded.rows, side);
    const Outcome together = run_and_record(loaded.model, batch, {}, {}, {});
    for (int b = 0; b < batch.size(); ++b) {
      const Batch single = make_batch({loaded.rows[static_cast<std::size_t>(b)]});
      const Outcome alone = run_and_record(loaded.model, single, {}, {}, {});
      EXPECT_LE(largest_difference(unpadded(together.output, batch, b), alone.output[0]), 1e-11);
    }
  }
}

TEST_P(Independence, LogitsAskedForAtSomePositionsAreThoseOfTheWholeRun) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  const Batch batch = make_batch(loaded.rows, PadSide::left);
  const Outcome all = run_and_record(loaded.model, batch, {});
  if (!all.result.logits.defined()) return;
  const at::Tensor last =
      loaded.model.run(batch, Taps{}, {.logits = {.at = LogitsAt::last}}).logits;
  const at::Tensor some =
      loaded.model
          .run(batch, Taps{},
               {.logits = {.at = LogitsAt::positions, .positions = {{0, -1}}, .columns = {3, 1}}})
          .logits;
  const at::Tensor by_row =
      loaded.model
          .run(batch, Taps{},
               {.logits = {.at = LogitsAt::positions, .positions = {{0, -1}, {2, 1}, {1, 0}}}})
          .logits;
  EXPECT_FALSE(
      loaded.model.run(batch, Taps{}, {.logits = {.at = LogitsAt::none}}).logits.defined());
  EXPECT_LE(largest_difference(by_row[1][0], unpadded(all.output, batch, 1)[2]), 1e-11);
  EXPECT_LE(largest_difference(by_row[1][1], unpadded(all.output, batch, 1)[1]), 1e-11);
  EXPECT_LE(largest_difference(by_row[2][0], unpadded(all.output, batch, 2)[1]), 1e-11);
  ASSERT_EQ(some.sizes(), at::IntArrayRef({batch.size(), 2, 2}));
  for (int b = 0; b < batch.size(); ++b) {
    const at::Tensor row = unpadded(all.output, batch, b);
    const at::Tensor columns = row.index_select(1, at::tensor({3, 1}, at::kLong));
    EXPECT_LE(largest_difference(last[b][0], row[-1]), 1e-11);
    EXPECT_LE(largest_difference(some[b][0], columns[0]), 1e-11);
    EXPECT_LE(largest_difference(some[b][1], columns[-1]), 1e-11);
  }
}

TEST_P(Independence, InterventionsTouchTheirOwnRowsOnly) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f32);
  const std::vector<TokenRow> rows(4, loaded.rows[0]);
  const Batch batch = make_batch(rows);
  Taps taps;
  for (const Site site : {Site::z, Site::pattern, Site::v}) {
    taps.interventions.push_back(
        {.hook = {site, 0}, .operation = Operation::zero, .rows = {2}, .heads = {0}});
  }
  const Outcome clean = run_and_record(loaded.model, batch, {});
  const Outcome changed = run_and_record(loaded.model, batch, {}, taps);
  for (const int row : {0, 1, 3}) {
    EXPECT_TRUE(same_bits(changed.output[row], clean.output[row])) << row;
  }
  EXPECT_GT(largest_difference(changed.output[2], clean.output[2]), 1e-5);
}

TEST_P(Independence, TwoThreadsGiveTheBitsOfOne) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f32);
  const std::vector<HookId>& hooks = loaded.model.sites().hooks;
  const Batch first = make_batch({loaded.rows[0]});
  const Batch second = make_batch(loaded.rows, PadSide::left);
  const Outcome first_alone = run_and_record(loaded.model, first, hooks);
  const Outcome second_alone = run_and_record(loaded.model, second, hooks);
  constexpr int kRounds = 4;
  std::vector<Outcome> of_first(kRounds), of_second(kRounds);
  const auto repeat = [&](const Batch& batch, std::vector<Outcome>& outcomes) {
    for (Outcome& outcome : outcomes) outcome = run_and_record(loaded.model, batch, hooks);
  };
  std::thread one(repeat, std::cref(first), std::ref(of_first));
  std::thread two(repeat, std::cref(second), std::ref(of_second));
  one.join();
  two.join();
  for (int round = 0; round < kRounds; ++round) {
    const auto at = static_cast<std::size_t>(round);
    EXPECT_TRUE(same_bits(of_first[at].output, first_alone.output));
    for (int b = 0; b < second.size(); ++b) {
      EXPECT_TRUE(same_bits(unpadded(of_second[at].output, second, b),
                            unpadded(second_alone.output, second, b)));
    }
    for (const HookId hook : hooks) {
      EXPECT_TRUE(same_bits(of_first[at].values.at(hook), first_alone.values.at(hook)))
          << hook_name(hook);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Independence, ::testing::ValuesIn(property_models()),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace attnscope::testing
