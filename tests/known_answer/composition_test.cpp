// Which path the induction circuit takes: composition scores of the weights (Elhage et al. 2021)
// and interventions on single paths.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "known_run.h"

namespace attnscope::testing {
namespace {

// One head's part of a layer's projection: [d m] of q, k, v; [m d] of o.
at::Tensor head_rows(const Model& model, Role role, int layer, int head) {
  const int d = model.config().layers[static_cast<std::size_t>(layer)].attention.d_head;
  return model.weight(role, layer).narrow(0, head * d, d);
}

at::Tensor head_columns(const Model& model, int layer, int head) {
  const int d = model.config().layers[static_cast<std::size_t>(layer)].attention.d_head;
  return model.weight(Role::o_weight, layer).narrow(1, head * d, d);
}

// [m m]: score = x_query · W_QK · x_key.
at::Tensor w_qk(const Model& model, int layer, int head) {
  return head_rows(model, Role::q_weight, layer, head)
      .t()
      .mm(head_rows(model, Role::k_weight, layer, head));
}

// [m m]: output = W_OV · x_key.
at::Tensor w_ov(const Model& model, int layer, int head) {
  return head_columns(model, layer, head).mm(head_rows(model, Role::v_weight, layer, head));
}

double frobenius(const at::Tensor& matrix) {
  return matrix.norm().item<double>();
}

TEST(KnownComposition, ScoresOfTheWeights) {
  const Model model = load_known(known_induction_model());
  const KnownInductionTruth truth;
  const at::Tensor sender = w_ov(model, 0, 0);
  const at::Tensor qk = w_qk(model, 1, 0);
  const at::Tensor ov = w_ov(model, 1, 0);
  const double scale = frobenius(sender) * frobenius(qk);
  EXPECT_NEAR(frobenius(qk.mm(sender)) / scale, truth.k_composition, 0.6e-6);
  EXPECT_NEAR(frobenius(qk.mm(sender)) / scale, 1 / std::sqrt(1.25 * 16), 1e-12);
  EXPECT_EQ(frobenius(qk.t().mm(sender)) / scale, truth.q_composition);
  EXPECT_EQ(frobenius(ov.mm(sender)) / (frobenius(ov) * frobenius(sender)), truth.v_composition);
  EXPECT_NEAR(1 / std::sqrt(model.config().d_model), truth.composition_of_chance, 0.6e-6);
  EXPECT_EQ(model.config().d_model, 72);
}

// Re Σλ / Σ|λ| of W_U W_OV W_E: 1 copies, and a head that writes nothing has none.
TEST(KnownComposition, CopyingScore) {
  const Model model = load_known(known_induction_model());
  const at::Tensor embed = model.weight(Role::token_embedding).t();
  const at::Tensor unembed = model.weight(Role::head_weight);
  const auto copying = [&](int layer, int head) {
    const at::Tensor values = at::linalg_eigvals(unembed.mm(w_ov(model, layer, head)).mm(embed));
    return at::real(values).sum().item<double>() / values.abs().sum().item<double>();
  };
  EXPECT_NEAR(copying(1, 0), KnownInductionTruth{}.copying_score, 1e-12);
  EXPECT_TRUE(std::isnan(copying(0, 1)));
  EXPECT_TRUE(std::isnan(copying(1, 1)));
}

// The effect of head 0.0 goes through the keys of 1.0, all of it, and through nothing else.
TEST(KnownComposition, PathsOfThePreviousTokenHead) {
  const Model model = load_known(known_induction_model());
  const double base = metric_of(model);
  const double whole = metric_of(model, {zero_head(0, 0)}) - base;
  for (const Site site : {Site::q, Site::k, Site::v}) {
    const HookId input{site, 1};
    const at::Tensor without =
        record(model, known_induction_prompt(), {input}, {zero_head(0, 0)}).at(input)[0];
    const at::Tensor of_head = without.narrow(1, 0, 1);  // [q 1 d]
    const double effect =
        metric_of(model,
                  {{.hook = input, .operation = Operation::set, .heads = {0}, .value = of_head}}) -
        base;
    EXPECT_NEAR(effect, site == Site::k ? whole : 0, 1e-12) << static_cast<int>(site);
  }
  // Straight to the logits: the second layer keeps what it wrote, so only the direct path is left.
  const HookId written{Site::attn_out, 1};
  const at::Tensor clean = record(model, known_induction_prompt(), {written}).at(written)[0];
  const double direct =
      metric_of(model,
                {zero_head(0, 0), {.hook = written, .operation = Operation::set, .value = clean}}) -
      base;
  EXPECT_NEAR(direct, 0, 1e-12);
}

// Edge knockout at the induction head: without its score β on the one key, BOS (score β/2) takes
// the weight, and each of the i − 1 other keys (score 0) gets a little.
TEST(KnownComposition, KnockingOutTheInductionEdge) {
  const Model model = load_known(known_induction_model());
  const double base = metric_of(model);
  double expected = 0;
  std::vector<Intervention> edges;
  for (int i = kKnownFirstRow; i <= kKnownLastRow; ++i) {
    edges.push_back({.hook = {Site::attn_scores, 1},
                     .operation = Operation::minus_infinity,
                     .heads = {0},
                     .q_positions = {i},
                     .k_positions = {i - 9}});
    // g·(weight on the next token − weight on the 14 others ÷ 14), before and after.
    const double keys = i - 1;
    const double before =
        (1 - keys * std::exp(-20.0) / 14) / (1 + std::exp(-10.0) + keys * std::exp(-20.0));
    const double after = -keys / 14 / (std::exp(10.0) + keys);
    expected += 5 * (after - before) / 9;
  }
  EXPECT_NEAR(metric_of(model, edges) - base, expected, 1e-7);
}

}  // namespace
}  // namespace attnscope::testing
