// What holds between the sites of one run, at every layer, recomputed here from their definitions.
#include <gtest/gtest.h>

#include <cmath>

#include "property_models.h"
#include "recorder.h"

namespace attnscope::testing {
namespace {

constexpr double kClose = 1e-11;

class Sums : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    loaded_ = std::make_unique<PropertyModel>(load_property_model(GetParam(), DType::f64));
    const Batch batch = make_batch({loaded_->rows[0]});
    values_ = run_and_record(model(), batch, model().sites().hooks).values;
  }

  const Model& model() const { return loaded_->model; }
  const ModelConfig& config() const { return loaded_->model.config(); }
  bool has(Site site, int layer) const { return values_.contains({site, layer}); }
  const at::Tensor& at_site(Site site, int layer) const { return values_.at({site, layer}); }

  void expect_equal(const at::Tensor& got, const at::Tensor& expected, const char* what,
                    int layer) const {
    const double scale = std::max(1.0, expected.abs().max().item<double>());
    EXPECT_LE(largest_difference(got, expected), kClose * scale) << what << ", layer " << layer;
  }

  at::Tensor norm(const at::Tensor& x, Role weight, Role bias, int layer) const {
    const at::Tensor gain = model().weight(weight, layer) + config().norm_weight_offset;
    const at::Tensor shift = model().weight(bias, layer);
    at::Tensor centred = x;
    if (config().norm == NormKind::layer_norm) centred = x - x.mean(-1, true);
    const at::Tensor scale = (centred.square().mean(-1, true) + config().norm_eps).sqrt();
    const at::Tensor out = centred / scale * gain;
    return shift.defined() ? out + shift : out;
  }

  std::unique_ptr<PropertyModel> loaded_;
  std::map<HookId, at::Tensor> values_;
};

TEST_P(Sums, Residuals) {
  for (int l = 0; l < config().n_layers; ++l) {
    const at::Tensor& pre = at_site(Site::resid_pre, l);
    const at::Tensor& attn = at_site(Site::attn_out, l);
    if (config().parallel_block) {
      expect_equal(pre + attn + at_site(Site::mlp_out, l), at_site(Site::resid_post, l),
                   "resid_pre + attn_out + mlp_out = resid_post", l);
      continue;
    }
    if (config().mlp == MlpKind::none) {
      expect_equal(pre + attn, at_site(Site::resid_post, l), "resid_pre + attn_out = resid_post",
                   l);
      continue;
    }
    const at::Tensor& mid = at_site(Site::resid_mid, l);
    expect_equal(pre + attn, mid, "resid_pre + attn_out = resid_mid", l);
    const bool post_norm = config().placement == NormPlacement::post;
    const at::Tensor& read = post_norm ? at_site(Site::normalized_resid_mid, l) : mid;
    expect_equal(read + at_site(Site::mlp_out, l), at_site(Site::resid_post, l),
                 "resid_mid + mlp_out = resid_post", l);
  }
}

TEST_P(Sums, NormsOfPostNormModels) {
  if (config().placement != NormPlacement::post) return;
  for (int l = 0; l < config().n_layers; ++l) {
    expect_equal(at_site(Site::normalized_resid_mid, l),
                 norm(at_site(Site::resid_mid, l), Role::ln1_weight, Role::ln1_bias, l),
                 "normalized_resid_mid = LN1(resid_mid)", l);
    expect_equal(at_site(Site::normalized_resid_post, l),
                 norm(at_site(Site::resid_post, l), Role::ln2_weight, Role::ln2_bias, l),
                 "normalized_resid_post = LN2(resid_post)", l);
  }
}

TEST_P(Sums, NextLayerReadsWhatThisOneWrote) {
  const bool post_norm = config().placement == NormPlacement::post;
  const Site written = post_norm ? Site::normalized_resid_post : Site::resid_post;
  for (int l = 0; l + 1 < config().n_layers; ++l) {
    EXPECT_TRUE(same_bits(at_site(written, l), at_site(Site::resid_pre, l + 1))) << l;
  }
}

TEST_P(Sums, NormalizedTimesScaleIsTheCentredResidual) {
  if (config().placement != NormPlacement::pre) return;
  for (int l = 0; l < config().n_layers; ++l) {
    at::Tensor x = at_site(Site::resid_pre, l);
    if (config().norm == NormKind::layer_norm) x = x - x.mean(-1, true);
    expect_equal(at_site(Site::ln1_normalized, l) * at_site(Site::ln1_scale, l), x,
                 "ln1: normalized × scale", l);
  }
}

TEST_P(Sums, PatternIsTheSoftmaxOfTheScores) {
  for (int l = 0; l < config().n_layers; ++l) {
    const at::Tensor& scores = at_site(Site::attn_scores, l);
    const at::Tensor& pattern = at_site(Site::pattern, l);
    expect_equal(pattern, at::softmax(scores, -1), "softmax(scores)", l);
    EXPECT_LE((pattern.sum(-1) - 1).abs().max().item<double>(), 1e-12);
    // A masked key has weight exactly 0, and nothing else has.
    EXPECT_TRUE(at::equal(scores.isinf(), pattern == 0)) << l;
  }
}

TEST_P(Sums, CausalAndWindowMasks) {
  for (int l = 0; l < config().n_layers; ++l) {
    const AttentionSpec& spec = config().layers[static_cast<std::size_t>(l)].attention;
    const at::Tensor pattern = at_site(Site::pattern, l)[0];
    const auto n = pattern.size(1);
    const at::Tensor gap = at::arange(n).unsqueeze(1) - at::arange(n).unsqueeze(0);  // query − key
    at::Tensor visible = at::ones({n, n}, at::kBool);
    if (spec.mask == MaskKind::causal) visible = gap >= 0;
    if (spec.window > 0) visible = at::logical_and(visible, gap < spec.window);
    EXPECT_TRUE(at::equal(pattern > 0, visible.expand_as(pattern))) << l;
  }
}

TEST_P(Sums, HeadOutputs) {
  for (int l = 0; l < config().n_layers; ++l) {
    const AttentionSpec& spec = config().layers[static_cast<std::size_t>(l)].attention;
    const at::Tensor v = at_site(Site::v, l).repeat_interleave(spec.n_heads / spec.n_kv_heads, 2);
    const at::Tensor& z = at_site(Site::z, l);
    expect_equal(z, at::einsum("bhqk,bkhd->bqhd", {at_site(Site::pattern, l), v}),
                 "z = pattern · v of the head's kv head", l);
    const at::Tensor w_o =
        model().weight(Role::o_weight, l).reshape({-1, spec.n_heads, spec.d_head});
    const at::Tensor& result = at_site(Site::result, l);
    expect_equal(result, at::einsum("bqhd,mhd->bqhm", {z, w_o}), "result = z · W_O", l);
    if (config().placement == NormPlacement::sandwich) continue;
    at::Tensor sum = result.sum(2);
    const at::Tensor bias = model().weight(Role::o_bias, l);
    if (bias.defined()) sum = sum + bias;
    expect_equal(sum, at_site(Site::attn_out, l), "sum of results + b_O = attn_out", l);
  }
}

TEST_P(Sums, ScoresAreScaledProductsOfRotatedQueriesAndKeys) {
  for (int l = 0; l < config().n_layers; ++l) {
    const AttentionSpec& spec = config().layers[static_cast<std::size_t>(l)].attention;
    const Site q_site = has(Site::rot_q, l) ? Site::rot_q : Site::q;
    const Site k_site = has(Site::rot_k, l) ? Site::rot_k : Site::k;
    const at::Tensor k = at_site(k_site, l).repeat_interleave(spec.n_heads / spec.n_kv_heads, 2);
    at::Tensor scores = at::einsum("bqhd,bkhd->bhqk", {at_site(q_site, l), k}) * spec.scale;
    if (spec.softcap > 0) scores = (scores / spec.softcap).tanh() * spec.softcap;
    const at::Tensor& got = at_site(Site::attn_scores, l);
    const at::Tensor visible = got.isinf().logical_not();
    expect_equal(at::where(visible, got, scores), scores, "scores", l);
  }
}

TEST_P(Sums, RotationKeepsNormsAndFirstPosition) {
  for (int l = 0; l < config().n_layers; ++l) {
    const AttentionSpec& spec = config().layers[static_cast<std::size_t>(l)].attention;
    if (!spec.rotary || spec.qk_norm) continue;
    for (const auto& [plain, rotated] : {std::pair{Site::q, Site::rot_q}, {Site::k, Site::rot_k}}) {
      const at::Tensor& x = at_site(plain, l);
      const at::Tensor& y = at_site(rotated, l);
      expect_equal(y.norm(2, -1), x.norm(2, -1), "norm of the rotated vector", l);
      EXPECT_LE(largest_difference(y.select(1, 0), x.select(1, 0)), 1e-12) << "position 0";
      EXPECT_GT(largest_difference(y.select(1, 1), x.select(1, 1)), 1e-3) << "position 1";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Sums, ::testing::ValuesIn(property_models()),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace attnscope::testing
