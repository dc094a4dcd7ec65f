// Direct logit attribution adds up to the model's own logits, part by part, and each part is what a
// frozen run loses without it.
#include <gtest/gtest.h>

#include <cmath>

#include "attnscope/probes/attribution.h"
#include "attnscope/probes/known_answer.h"
#include "frozen_run.h"
#include "parity/property_models.h"
#include "testing/custom_models.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

class Attributions : public ::testing::TestWithParam<std::string> {};

const LogitDirection kDirection = {.columns = {5, 9, 5}, .weights = {1.0, -2.0, 0.5}};

double uncapped(const ModelConfig& config, const at::Tensor& logit) {
  const auto value = logit.item<double>();
  const double cap = config.final_softcap;
  return cap == 0 ? value : cap * std::atanh(value / cap);
}

at::Tensor sum_of_parts(const Attribution& parts) {
  return parts.embedding + parts.position + parts.heads.nan_to_num().sum({0, 1}) +
         parts.attention_bias.sum(0) + parts.mlp.sum(0) + parts.constant;
}

void expect_complete(const Model& model, const TokenRow& row, double tolerance) {
  const Attribution parts =
      attribute_logits(model, {.row = row, .positions = {2, -1, 1}, .directions = {kDirection}});
  const at::Tensor logits = model.run(make_batch({row}), {}, {.engine = Engine::reference}).logits;
  const auto length = static_cast<int>(row.ids.size());
  const std::vector<int> positions = {2, length - 1, 1};
  for (int p = 0; p < 3; ++p) {
    const at::Tensor at_position = logits[0][positions[static_cast<std::size_t>(p)]];
    const double expected = 1.5 * uncapped(model.config(), at_position[5]) -
                            2 * uncapped(model.config(), at_position[9]);
    const double allowed = tolerance * std::max(1.0, std::abs(expected));
    EXPECT_NEAR(parts.total[p].item<double>(), expected, allowed) << p;
    EXPECT_NEAR(sum_of_parts(parts)[p].item<double>(), expected, allowed) << p;
  }
  EXPECT_LE(largest_difference(parts.sources.sum(-1).nan_to_num(), parts.heads.nan_to_num()),
            tolerance);
}

TEST_P(Attributions, AddUpToTheLogits) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  if (!attribution_obstacle(loaded.model.config()).empty()) {
    EXPECT_ANY_THROW(attribute_logits(
        loaded.model, {.row = loaded.rows[0], .positions = {-1}, .directions = {kDirection}}));
    return;
  }
  for (const TokenRow& row : loaded.rows) {
    if (row.ids.size() >= 3) expect_complete(loaded.model, row, 1e-10);
  }
  expect_complete(load_property_model(GetParam(), DType::f32).model, loaded.rows[0], 1e-5);
}

// A head's share is what a frozen run loses without it, whatever lies between it and the logits.
TEST_P(Attributions, HeadsAreWhatAFrozenRunLoses) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  const ModelConfig& config = loaded.model.config();
  if (!attribution_obstacle(config).empty()) GTEST_SKIP() << attribution_obstacle(config);
  const CleanRun clean(loaded.model, loaded.rows[0]);
  const Attribution parts =
      attribute_logits(loaded.model, {.row = loaded.rows[0],
                                      .positions = {2},
                                      .directions = {{.columns = {5}, .weights = {1}}},
                                      .sources = SourceSplit::off});
  EXPECT_FALSE(parts.sources.defined());
  const double whole = uncapped(config, clean.outcome.output[0][2][5]);
  for (int layer = 0; layer < config.n_layers; ++layer) {
    for (int head = 0; head < config.n_heads(layer); ++head) {
      const at::Tensor without =
          attn_out_without(clean, layer, clean.value(Site::result, layer).select(2, head));
      const at::Tensor slow = frozen_outputs(clean, {Site::attn_out, layer}, without)[2][5];
      EXPECT_NEAR(parts.heads[layer][head][0].item<double>(), whole - uncapped(config, slow), 1e-9)
          << layer << '.' << head;
    }
  }
}

// A source token's share is what a frozen run loses when the head does not read it: its weight on
// the map set to 0 with the others as they are.
TEST_P(Attributions, SourcesAreWhatAFrozenRunLoses) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  const ModelConfig& config = loaded.model.config();
  if (!attribution_obstacle(config).empty()) GTEST_SKIP() << attribution_obstacle(config);
  const int last = config.n_layers - 1;
  const CleanRun clean(loaded.model, loaded.rows[0]);
  const Attribution parts = attribute_logits(
      loaded.model,
      {.row = loaded.rows[0], .positions = {2}, .directions = {{.columns = {5}, .weights = {1}}}});
  const double whole = uncapped(config, clean.outcome.output[0][2][5]);
  for (int source = 0; source <= 2; ++source) {
    const Intervention unread = {.hook = {Site::pattern, last},
                                 .operation = Operation::zero,
                                 .heads = {0},
                                 .q_positions = {2},
                                 .k_positions = {source}};
    Taps taps;
    taps.interventions = {unread};
    const HookId result{Site::result, last};
    const at::Tensor left =
        run_and_record(loaded.model, clean.batch, {result}, taps).values.at(result);
    const at::Tensor removed = (clean.value(Site::result, last) - left).sum(2);
    const at::Tensor slow =
        frozen_outputs(clean, {Site::attn_out, last}, attn_out_without(clean, last, removed))[2][5];
    EXPECT_NEAR(parts.sources[last][0][0][source].item<double>(), whole - uncapped(config, slow),
                1e-9)
        << source;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Attributions, ::testing::ValuesIn(property_models()),
                         [](const auto& instance) { return instance.param; });

// Directions that differ by position.
TEST(Attribution, EachPositionHasItsDirection) {
  const PropertyModel loaded = load_property_model("known_answer", DType::f64);
  const TokenRow& row = loaded.rows[0];
  const LogitDirection other = {.columns = {1}, .weights = {1}};
  const Attribution both = attribute_logits(
      loaded.model, {.row = row, .positions = {11, 13}, .directions = {kDirection, other}});
  const Attribution second =
      attribute_logits(loaded.model, {.row = row, .positions = {13}, .directions = {other}});
  EXPECT_NEAR(both.total[1].item<double>(), second.total[0].item<double>(), 1e-14);
  EXPECT_LE(largest_difference(both.sources.select(2, 1).nan_to_num(),
                               second.sources.select(2, 0).nan_to_num()),
            1e-14);
}

// In the induction model the logit of the next token comes from the induction head, and there from
// the one token after the earlier copy; the quiet head adds 1/(keys seen) for each copy it sees.
TEST(Attribution, FindsTheInductionHeadAndItsSource) {
  const PropertyModel loaded = load_property_model("known_answer", DType::f64);
  const int i = 14;  // token 4 of the second copy; 5 follows, first seen at position 5
  const Attribution parts = attribute_logits(
      loaded.model,
      {.row = loaded.rows[0], .positions = {i}, .directions = {{.columns = {5}, .weights = {1}}}});
  const double keys = i - 1;
  const double weight = 1 / (1 + std::exp(-10.0) + keys * std::exp(-20.0));
  EXPECT_NEAR(parts.sources[1][0][0][5].item<double>(), 5 * weight, 1e-6);
  EXPECT_NEAR(parts.heads[1][0][0].item<double>(), 5 * weight, 1e-6);
  EXPECT_NEAR(parts.heads[1][2][0].item<double>(), 1.0 / 15, 1e-12);
  EXPECT_NEAR(parts.sources[1][2][0][5].item<double>(), 1.0 / 15, 1e-12);
  for (const auto& [layer, head] : {std::pair{0, 0}, {0, 1}, {1, 1}}) {
    EXPECT_EQ(parts.heads[layer][head][0].item<double>(), 0) << layer << '.' << head;
  }
  EXPECT_TRUE(std::isnan(parts.heads[0][2][0].item<double>()));
  EXPECT_EQ(parts.embedding[0].item<double>(), 0);
}

// Attention that is not a softmax: the share by source still adds up.
TEST(Attribution, AddsUpWithoutNormsAndWithMixedSoftmax) {
  const TempFolder folder;
  const auto path = custom_model("pizza_4asyr7ht1p", folder);
  if (!path) GTEST_SKIP() << "the pizza models are not in this clone";
  Warnings warnings;
  const Model model =
      Model::load(open_checkpoint(*path, {}, warnings), {.dtype = DType::f64}, warnings);
  const Attribution parts = attribute_logits(
      model, {.row = {.ids = {3, 5}}, .positions = {-1}, .directions = {kDirection}});
  const at::Tensor logits = model.run(make_batch({{.ids = {3, 5}}}), {}, {}).logits[0][1];
  const double expected = 1.5 * logits[5].item<double>() - 2 * logits[9].item<double>();
  EXPECT_NEAR(sum_of_parts(parts)[0].item<double>(), expected, 1e-10 * std::abs(expected));
  EXPECT_LE(largest_difference(parts.sources.sum(-1), parts.heads), 1e-10);
}

TEST(Attribution, RefusesWhatDoesNotExist) {
  const PropertyModel loaded = load_property_model("known_answer", DType::f64);
  const TokenRow row = {.ids = {0, 1, 2}};
  EXPECT_ANY_THROW(
      attribute_logits(loaded.model, {.row = row, .positions = {3}, .directions = {kDirection}}));
  EXPECT_ANY_THROW(
      attribute_logits(loaded.model, {.row = row, .positions = {}, .directions = {kDirection}}));
  EXPECT_ANY_THROW(attribute_logits(
      loaded.model,
      {.row = row, .positions = {0}, .directions = {{.columns = {16}, .weights = {1}}}}));
}

}  // namespace
}  // namespace attnscope::testing
