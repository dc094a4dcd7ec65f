// Statistics of the runtime: those of the maps it shows, and the same with and without padding.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "property_models.h"
#include "recorder.h"

namespace attnscope::testing {
namespace {

class Statistics : public ::testing::TestWithParam<std::string> {};

std::vector<std::vector<AttentionStatistics>> statistics_of(const Model& model,
                                                            const Batch& batch) {
  StatisticsRecorder recorder;
  Taps taps;
  taps.observers.push_back(&recorder);
  model.run(batch, taps, {});
  std::vector<std::vector<AttentionStatistics>> layers;
  for (int l = 0; l < recorder.n_layers(); ++l) layers.push_back(recorder.layer(l));
  return layers;
}

void expect_same(const std::vector<float>& got, const std::vector<float>& expected,
                 const char* what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << what << " " << i;
    } else {
      EXPECT_NEAR(got[i], expected[i], 1e-6 * std::max(1.0F, std::abs(expected[i])))
          << what << " " << i;
    }
  }
}

TEST_P(Statistics, PaddedBatchEqualsSingleRuns) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  for (const PadSide side : {PadSide::left, PadSide::right}) {
    const auto together = statistics_of(loaded.model, make_batch(loaded.rows, side));
    ASSERT_EQ(static_cast<int>(together.size()), loaded.model.config().n_layers);
    for (std::size_t b = 0; b < loaded.rows.size(); ++b) {
      const auto alone = statistics_of(loaded.model, make_batch({loaded.rows[b]}));
      for (std::size_t l = 0; l < alone.size(); ++l) {
        const AttentionStatistics& got = together[l][b];
        const AttentionStatistics& expected = alone[l][0];
        EXPECT_EQ(got.n_queries, static_cast<int>(loaded.rows[b].ids.size()));
        expect_same(got.head_stats, expected.head_stats, "head_stats");
        expect_same(got.row_stats, expected.row_stats, "row_stats");
        expect_same(got.topk_value, expected.topk_value, "topk_value");
        expect_same(got.key_sum, expected.key_sum, "key_sum");
        expect_same(got.value_norm, expected.value_norm, "value_norm");
        EXPECT_EQ(got.topk_index, expected.topk_index);
        EXPECT_EQ(got.overview, expected.overview);
      }
    }
  }
}

// The same numbers by whole-tensor arithmetic on the recorded maps.
TEST_P(Statistics, EqualThoseOfTheMaps) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  const Model& model = loaded.model;
  const Batch batch = make_batch({loaded.rows[0]});
  const auto layers = statistics_of(model, batch);
  const Outcome run =
      run_and_record(model, batch, hooks_of(model, {Site::pattern, Site::attn_scores, Site::v}));
  for (int l = 0; l < model.config().n_layers; ++l) {
    const AttentionSpec& spec = model.config().layers[static_cast<std::size_t>(l)].attention;
    const AttentionStatistics& got = layers[static_cast<std::size_t>(l)][0];
    const at::Tensor pattern = run.values.at({Site::pattern, l})[0];  // [h q k]
    const auto n = pattern.size(1);
    const auto head_stat = [&](HeadStat stat) {
      return at::tensor(got.head_stats)
          .reshape({spec.n_heads, kHeadStatCount})
          .select(1, static_cast<int>(stat));
    };
    const auto row_stat = [&](RowStat stat) {
      return at::tensor(got.row_stats)
          .reshape({spec.n_heads, n, kRowStatCount})
          .select(2, static_cast<int>(stat));
    };
    const at::Tensor entropy = -at::xlogy(pattern, pattern).sum(-1);
    EXPECT_LE(largest_difference(row_stat(RowStat::entropy), entropy), 1e-6);
    EXPECT_LE(largest_difference(head_stat(HeadStat::entropy), entropy.mean(-1)), 1e-6);
    EXPECT_LE(largest_difference(row_stat(RowStat::max), pattern.amax(-1)), 1e-7);
    EXPECT_LE(largest_difference(row_stat(RowStat::sink), pattern.select(2, 0)), 1e-7);
    EXPECT_LE(largest_difference(head_stat(HeadStat::self), pattern.diagonal(0, 1, 2).mean(-1)),
              1e-7);
    EXPECT_LE(
        largest_difference(head_stat(HeadStat::previous), pattern.diagonal(-1, 1, 2).mean(-1)),
        1e-7);
    const at::Tensor lse = run.values.at({Site::attn_scores, l})[0].logsumexp(-1);
    EXPECT_LE(largest_difference(row_stat(RowStat::lse), lse),
              1e-5 * (1 + lse.abs().max().item<double>()));
    const at::Tensor key_sum = at::tensor(got.key_sum).reshape({spec.n_heads, n});
    EXPECT_LE(largest_difference(key_sum, pattern.sum(1)), 1e-5);

    // ‖f(x_j)‖, f(x_j) = v_j · W_O of the head.
    const at::Tensor v =
        run.values.at({Site::v, l})[0].repeat_interleave(spec.n_heads / spec.n_kv_heads, 1);
    const at::Tensor w_o = model.weight(Role::o_weight, l).reshape({-1, spec.n_heads, spec.d_head});
    const at::Tensor norms = at::einsum("khd,mhd->hkm", {v, w_o}).norm(2, -1);
    EXPECT_LE(largest_difference(at::tensor(got.value_norm).reshape({spec.n_heads, n}), norms),
              1e-6 * (1 + norms.max().item<double>()));
    const at::Tensor weighted = (pattern * norms.unsqueeze(1)).sum(-1).mean(-1);
    EXPECT_LE(largest_difference(head_stat(HeadStat::norm_weighted), weighted),
              1e-6 * (1 + weighted.max().item<double>()));
  }
}

// Statistics see the pattern after interventions.
TEST_P(Statistics, SeeTheChangedPattern) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  StatisticsRecorder recorder;
  Taps taps;
  taps.observers.push_back(&recorder);
  taps.interventions = {
      {.hook = {Site::pattern, 0}, .operation = Operation::uniform, .heads = {1}}};
  loaded.model.run(make_batch({loaded.rows[0]}), taps, {});
  const AttentionStatistics& got = recorder.layer(0)[0];
  const float entropy_norm =
      got.head_stats[kHeadStatCount + static_cast<std::size_t>(HeadStat::entropy_norm)];
  EXPECT_NEAR(entropy_norm, 1, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Models, Statistics, ::testing::ValuesIn(property_models()),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace attnscope::testing
