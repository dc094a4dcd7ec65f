// rxnmapper, an encoder whose head 10.5 maps atoms of reactions, and an untrained decoder.
#include <gtest/gtest.h>

#include "family_comparison.h"
#include "published.h"
#include "recorder.h"
#include "testing/fixtures.h"

namespace attnscope::testing {
namespace {

TEST(RxnMapper, TheHeadThatMapsAtoms) {
  const Model model = load_model(fixture("models/rxnmapper"), DType::f32).model;
  ASSERT_EQ(model.config().n_layers, 12);
  const HookId pattern{Site::pattern, 10};
  const HookId hidden{Site::normalized_resid_post, 11};
  const nlohmann::json reference =
      read_reference(fixture("models/rxnmapper/reference.json"))["examples"];
  ASSERT_EQ(reference.size(), 2U);
  std::vector<TokenRow> rows;
  for (const auto& example : reference) {
    rows.push_back({.ids = example["ids"].get<std::vector<std::int64_t>>()});
  }
  // The two reactions alone, and together with the shorter one padded.
  for (const PadSide side : {PadSide::left, PadSide::right}) {
    const Batch both = make_batch(rows, side);
    const Outcome together = run_and_record(model, both, {pattern, hidden});
    for (int r = 0; r < 2; ++r) {
      const auto& example = reference[static_cast<std::size_t>(r)];
      const at::Tensor attention = to_tensor(example["attention_L10H5"]);
      const at::Tensor cls = to_tensor(example["last_hidden_cls_first8"]);
      const Batch single = make_batch({rows[static_cast<std::size_t>(r)]});
      const Outcome alone = run_and_record(model, single, {pattern, hidden});
      EXPECT_LE(largest_difference(alone.values.at(pattern)[0][5], attention), 1e-5);
      EXPECT_LE(largest_difference(alone.values.at(hidden)[0][0].slice(0, 0, 8), cls), 1e-5);
      EXPECT_LE(
          largest_difference(unpadded_map(together.values.at(pattern), both, r)[5], attention),
          1e-5);
      EXPECT_LE(
          largest_difference(unpadded(together.values.at(hidden), both, r)[0].slice(0, 0, 8), cls),
          1e-5);
    }
  }
}

TEST(TinyRandomGpt2, HiddenStatesLogitsAndAttention) {
  const Model model = load_model(fixture("models/tiny-random-gpt2"), DType::f32).model;
  const nlohmann::json reference =
      read_reference(fixture("models/tiny-random-gpt2/reference.json"));
  const auto ids = reference["input_ids"].get<std::vector<std::int64_t>>();
  const HookId pattern{Site::pattern, 4};
  const HookId normalized{Site::ln_final_normalized};
  const Outcome run = run_and_record(model, make_batch({{.ids = ids}}), {pattern, normalized});
  const at::Tensor hidden = run.values.at(normalized)[0] * model.weight(Role::final_norm_weight) +
                            model.weight(Role::final_norm_bias);
  EXPECT_LE(largest_difference(hidden.slice(0, 0, 3).slice(1, 0, 3),
                               to_tensor(reference["last_hidden_first3x3"])),
            1e-5);
  const at::Tensor logits = run.output[0].to(at::kDouble);
  EXPECT_LE(largest_difference(logits.slice(0, 0, 3).slice(1, 0, 5),
                               to_tensor(reference["logits_first3x5"])),
            1e-5);
  const auto [values, indices] = logits[-1].topk(5);
  for (int rank = 0; rank < 5; ++rank) {
    const auto& entry = reference["logits_last_top5"][static_cast<std::size_t>(rank)];
    EXPECT_EQ(indices[rank].item<std::int64_t>(), entry[0].get<std::int64_t>());
    EXPECT_NEAR(values[rank].item<double>(), entry[1].get<double>(), 1e-5);
  }
  EXPECT_NEAR(logits.sum().item<double>(), reference["logits_sum"].get<double>(), 1e-3);
  EXPECT_NEAR(logits.abs().sum().item<double>(), reference["logits_abs_sum"].get<double>(), 1e-3);
  EXPECT_LE(largest_difference(run.values.at(pattern)[0][3][19],
                               to_tensor(reference["attention_L4H3_row19"])),
            1e-5);
}

}  // namespace
}  // namespace attnscope::testing
