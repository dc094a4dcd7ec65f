// Cutting an edge of attention and silencing the value on it, against their closed forms at the
// head's output: with the weights α, values v and output o of a query, leaving out the keys K gives
// o + Σ α(o − v) / (1 − Σ α), and taking their values as 0 gives o − Σ α·v.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "parity/recorder.h"
#include "tiny_model.h"

namespace attnscope::testing {
namespace {

class EdgeForms : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Families, EdgeForms, ::testing::ValuesIn(fixture_families()));

TEST_P(EdgeForms, KnockoutAndValueZero) {
  const Model model = fixture_model(GetParam());
  const Batch batch = make_batch({sample_row(13, 3)});
  for (int l = 0; l < model.config().n_layers; ++l) {
    const AttentionSpec& spec = model.config().layers[static_cast<std::size_t>(l)].attention;
    const HookId z{Site::z, l}, v{Site::v, l}, pattern{Site::pattern, l},
        scores{Site::attn_scores, l};
    const Outcome clean = run_and_record(model, batch, {z, v, pattern});
    // The value that each query head reads, [h k d].
    const at::Tensor values =
        clean.values.at(v)[0].transpose(0, 1).repeat_interleave(spec.n_heads / spec.n_kv_heads, 0);
    const at::Tensor alpha = clean.values.at(pattern)[0];  // [h q k]
    const at::Tensor out = clean.values.at(z)[0];          // [q h d]
    int seen = 0;
    for (const std::vector<int>& keys :
         {std::vector<int>{0}, std::vector<int>{7}, std::vector<int>{10}, std::vector<int>{6, 9}}) {
      const std::vector<int> queries = {10, 12};
      Taps cut, silent;
      cut.interventions = {{.hook = scores,
                            .operation = Operation::minus_infinity,
                            .q_positions = queries,
                            .k_positions = keys}};
      silent.interventions = {{.hook = pattern,
                               .operation = Operation::zero,
                               .q_positions = queries,
                               .k_positions = keys}};
      const bool fires =
          alpha.index_select(1, at::tensor({10, 12}))
              .index_select(2, at::tensor(std::vector<std::int64_t>(keys.begin(), keys.end())))
              .sum()
              .item<double>() > 0;
      if (!fires) continue;  // outside a window
      const at::Tensor after_cut = run_and_record(model, batch, {z}, cut).values.at(z)[0];
      const at::Tensor after_silent = run_and_record(model, batch, {z}, silent).values.at(z)[0];
      for (std::int64_t q = 0; q < out.size(0); ++q) {
        const bool changed = q == 10 || q == 12;
        for (std::int64_t h = 0; h < spec.n_heads; ++h) {
          at::Tensor knockout = at::zeros_like(out[q][h]);
          at::Tensor zeroed = at::zeros_like(out[q][h]);
          double mass = 0;
          for (const int key : keys) {
            if (!changed) continue;
            const double weight = alpha[h][q][key].item<double>();
            mass += weight;
            knockout = knockout + weight * (out[q][h] - values[h][key]);
            zeroed = zeroed - weight * values[h][key];
          }
          knockout = knockout / (1 - mass);
          EXPECT_LE(largest_difference(after_cut[q][h] - out[q][h], knockout), 1e-12)
              << l << "." << h << " query " << q;
          EXPECT_LE(largest_difference(after_silent[q][h] - out[q][h], zeroed), 1e-12)
              << l << "." << h << " query " << q;
          seen += changed && mass > 0 ? 1 : 0;
        }
      }
    }
    EXPECT_GE(seen, 2 * spec.n_heads);
  }
}

// A query that is left with no key at all puts out nothing.
TEST(EdgeForms, TheOnlyKey) {
  const Model model = fixture_model("llama");
  const HookId z{Site::z, 0};
  Taps cut;
  cut.interventions = {{.hook = {Site::attn_scores, 0},
                        .operation = Operation::minus_infinity,
                        .q_positions = {0},
                        .k_positions = {0}}};
  const Outcome run = run_and_record(model, make_batch({sample_row(4)}), {z}, cut);
  EXPECT_EQ(run.values.at(z)[0][0].abs().max().item<double>(), 0);
  EXPECT_GT(run.result.fully_masked_rows, 0);
}

}  // namespace
}  // namespace attnscope::testing
