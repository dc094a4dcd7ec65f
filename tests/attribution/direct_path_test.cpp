// The closed form of direct effects against whole runs with everything downstream frozen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "attnscope/checkpoint/memory_source.h"
#include "attnscope/probes/attribution.h"
#include "attnscope/probes/known_answer.h"
#include "frozen_run.h"
#include "parity/property_models.h"

namespace attnscope::testing {
namespace {

class DirectPaths : public ::testing::TestWithParam<std::string> {};

constexpr int kRead = 3;  // a position before the last

FrozenReads reads_of(const Model& model, const Batch& batch, std::vector<ReadPoint> points) {
  ReadRecorder recorder(model, std::move(points));
  Taps taps;
  taps.observers = {&recorder};
  model.run(batch, taps, {.engine = Engine::reference});
  return recorder.take();
}

double scale_of(const at::Tensor& x) {
  return std::max(1.0, x.abs().max().item<double>());
}

TEST_P(DirectPaths, ZeroedHeadsAndMlpsChangeOutputsAsInAFrozenRun) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  const CleanRun clean(loaded.model, loaded.rows[0]);
  const DirectPath path(loaded.model, reads_of(loaded.model, clean.batch, {{0, kRead}}), {});
  const double tolerance = 1e-10 * scale_of(clean.outcome.output);
  EXPECT_LE(largest_difference(path.outputs()[0], clean.outcome.output[0][kRead]), tolerance);
  for (int layer = 0; layer < loaded.model.config().n_layers; ++layer) {
    const at::Tensor z = clean.value(Site::z, layer)[0][kRead];  // [h d]
    const at::Tensor changes = path.attn_out_change(layer, -z.view({1, 1, z.size(0), z.size(1)}));
    const at::Tensor outputs = path.outputs_after(layer, ResidualPart::attn_out, changes[0]);
    for (int head = 0; head < loaded.model.config().n_heads(layer); ++head) {
      const at::Tensor without =
          attn_out_without(clean, layer, clean.value(Site::result, layer).select(2, head));
      const at::Tensor slow = frozen_outputs(clean, {Site::attn_out, layer}, without)[kRead];
      EXPECT_LE(largest_difference(outputs[0][head], slow), tolerance) << layer << '.' << head;
    }
    if (loaded.model.config().mlp == MlpKind::none) continue;
    const at::Tensor mlp_out = clean.value(Site::mlp_out, layer);
    const at::Tensor fast =
        path.outputs_after(layer, ResidualPart::mlp_out, -mlp_out[0][kRead].view({1, 1, -1}));
    const at::Tensor slow =
        frozen_outputs(clean, {Site::mlp_out, layer}, at::zeros_like(mlp_out))[kRead];
    EXPECT_LE(largest_difference(fast[0][0], slow), tolerance) << "MLP " << layer;
  }
}

TEST_P(DirectPaths, NeuronsAddUpToTheirMlp) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  const ModelConfig& config = loaded.model.config();
  if (config.mlp == MlpKind::none) GTEST_SKIP() << "this model has no MLP";
  const CleanRun clean(loaded.model, loaded.rows[0]);
  const DirectPath path(loaded.model, reads_of(loaded.model, clean.batch, {{0, kRead}}), {});
  for (int layer = 0; layer < config.n_layers; ++layer) {
    const at::Tensor post = clean.value(Site::mlp_post, layer)[0][kRead].view({1, 1, -1});
    const at::Tensor all = path.mlp_out_change(layer, post)[0][0];
    at::Tensor expected = clean.value(Site::mlp_out, layer)[0][kRead];
    const at::Tensor bias = loaded.model.weight(Role::mlp_out_bias, layer);
    if (bias.defined()) expected = expected - bias * config.residual_multiplier;
    EXPECT_LE(largest_difference(all, expected), 1e-10 * scale_of(expected)) << layer;
    at::Tensor first = at::zeros_like(post);
    first[0][0][0] = post[0][0][0];
    const at::Tensor rest = post - first;
    EXPECT_LE(
        largest_difference(
            path.mlp_out_change(layer, first)[0][0] + path.mlp_out_change(layer, rest)[0][0], all),
        1e-12 * scale_of(all));
  }
}

TEST_P(DirectPaths, NoChangeIsNoEffectToTheBit) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f32);
  const Batch batch = make_batch({loaded.rows[0], loaded.rows[1]}, PadSide::left);
  const DirectPath path(loaded.model, reads_of(loaded.model, batch, {{0, -1}, {1, 1}}), {});
  const std::int64_t m = loaded.model.config().d_model;
  // A change may be summed in a wider type than the model's.
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor none = at::zeros({2, 3, m}, at::TensorOptions(type));
    const at::Tensor outputs = path.outputs_after(0, ResidualPart::attn_out, none);
    for (int n = 0; n < 3; ++n) {
      EXPECT_TRUE(at::equal(outputs.select(1, n), path.outputs())) << n;
    }
  }
}

// Reads of a padded batch are those of its rows alone, and columns are chosen from all outputs.
TEST_P(DirectPaths, ReadsOfABatchAndChosenColumns) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  const Model& model = loaded.model;
  const Batch batch = make_batch({loaded.rows[0], loaded.rows[1]}, PadSide::left);
  const DirectPath together(model, reads_of(model, batch, {{0, 2}, {1, -1}}), {});
  const Batch alone = make_batch({loaded.rows[1]});
  const DirectPath single(model, reads_of(model, alone, {{0, -1}}), {});
  at::Generator generator = at::detail::createCPUGenerator(3);
  const at::Tensor change =
      at::empty({2, 2, model.config().d_model}, at::kDouble).normal_(0, 1, generator);
  const at::Tensor expected =
      single.outputs_after(0, ResidualPart::attn_out, change.narrow(0, 1, 1))[0];
  const at::Tensor got = together.outputs_after(0, ResidualPart::attn_out, change)[1];
  EXPECT_LE(largest_difference(got, expected), 1e-9 * scale_of(expected));
  if (model.config().head == HeadKind::none) return;
  const DirectPath columns(model, reads_of(model, batch, {{0, 2}, {1, -1}}), {7, 2});
  const at::Tensor chosen = columns.outputs_after(0, ResidualPart::attn_out, change)[1];
  EXPECT_LE(largest_difference(chosen.select(1, 0), got.select(1, 7)), 1e-12 * scale_of(got));
  EXPECT_LE(largest_difference(chosen.select(1, 1), got.select(1, 2)), 1e-12 * scale_of(got));
}

INSTANTIATE_TEST_SUITE_P(Models, DirectPaths, ::testing::ValuesIn(property_models()),
                         [](const auto& instance) { return instance.param; });

double mean_metric(const at::Tensor& outputs) {
  double total = 0;
  const std::vector<std::int64_t> ids = known_induction_prompt();
  for (int i = kKnownFirstRow; i <= kKnownLastRow; ++i) {
    const at::Tensor row = outputs[i - kKnownFirstRow];
    const double next = row[ids[static_cast<std::size_t>(i) + 1]].item<double>();
    total += (next - (row.sum().item<double>() - row[0].item<double>() - next) / 14) / 9;
  }
  return total;
}

// The main head's direct effect does not know of the backup behind it (methods H, F2).
TEST(DirectPathOfABackup, SeesTheMainHead) {
  Warnings warnings;
  const Model model = Model::load(known_backup_model(), {.dtype = DType::f64}, warnings);
  const CleanRun clean(model, {.ids = known_induction_prompt()});
  std::vector<ReadPoint> points;
  for (int i = kKnownFirstRow; i <= kKnownLastRow; ++i) points.push_back({0, i});
  const DirectPath path(model, reads_of(model, clean.batch, points), {});
  const auto effect = [&](int layer) {
    const at::Tensor z = clean.value(Site::z, layer)[0].narrow(0, kKnownFirstRow, 9);
    const at::Tensor change = path.attn_out_change(layer, -z.unsqueeze(1)).select(2, 0);
    return mean_metric(path.outputs_after(layer, ResidualPart::attn_out, change).select(1, 0)) -
           mean_metric(path.outputs());
  };
  const KnownBackupTruth truth;
  EXPECT_NEAR(mean_metric(path.outputs()), truth.metric, 1e-9);
  EXPECT_NEAR(effect(1), truth.main_direct, 1e-9);
  EXPECT_NEAR(effect(2), truth.backup_removed, 1e-9);
  EXPECT_EQ(effect(0), 0);
}

// A head that writes across what is read has no direct effect and yet moves the logit, by the final
// norm alone (methods B9): (1, 1) / rms reads 1, (1, 0) / rms reads √2.
TEST(DirectPathOfARescaling, IsZero) {
  ModelConfig config;
  config.d_vocab = config.d_vocab_out = 2;
  config.d_model = config.d_embed = 2;
  config.n_layers = config.n_distinct_layers = 1;
  config.n_context = 4;
  config.norm = NormKind::rms_norm;
  config.norm_eps = 0;
  config.placement = NormPlacement::none;
  config.position = PositionKind::none;
  config.mlp = MlpKind::none;
  LayerConfig layer;
  layer.attention = {.n_heads = 1, .n_kv_heads = 1, .d_head = 1, .scale = 1};
  config.layers = {layer};
  auto weights = std::make_shared<MemoryTensorSource>();
  weights->add("E", {2, 2}, std::vector<double>{1, 0, 1, 0});
  weights->add("0.Q", {1, 2}, std::vector<double>{0, 0});
  weights->add("0.V", {1, 2}, std::vector<double>{1, 0});
  weights->add("0.O", {2, 1}, std::vector<double>{0, 1});
  weights->add("G", {2}, std::vector<double>{1, 1});
  weights->add("U", {2, 2}, std::vector<double>{1, 0, 0, 0});
  Checkpoint checkpoint;
  checkpoint.config = config;
  checkpoint.map = bind_by_name(config, {{Role::token_embedding, "E"},
                                         {Role::q_weight, "{l}.Q"},
                                         {Role::k_weight, "{l}.Q"},
                                         {Role::v_weight, "{l}.V"},
                                         {Role::o_weight, "{l}.O"},
                                         {Role::final_norm_weight, "G"},
                                         {Role::head_weight, "U"}});
  checkpoint.tensors = weights;
  Warnings warnings;
  const Model model = Model::load(checkpoint, {.dtype = DType::f64}, warnings);
  const Batch batch = make_batch({{.ids = {0}}});
  const DirectPath path(model, reads_of(model, batch, {{0, 0}}), {0});
  EXPECT_NEAR(path.outputs().item<double>(), 1, 1e-15);
  const at::Tensor change = path.attn_out_change(0, -at::ones({1, 1, 1, 1}, at::kDouble));
  EXPECT_EQ(path.outputs_after(0, ResidualPart::attn_out, change.select(2, 0)).item<double>(),
            path.outputs().item<double>());
  Taps taps;
  taps.interventions = {{.hook = {Site::z, 0}, .operation = Operation::zero}};
  EXPECT_NEAR(model.run(batch, taps, {}).logits[0][0][0].item<double>(), std::sqrt(2.0), 1e-15);
}

TEST(DirectPathErrors, NameWhatDoesNotExist) {
  Warnings warnings;
  const Model model = Model::load(known_induction_model(), {}, warnings);
  const Batch batch = make_batch({{.ids = {0, 1, 2}}});
  EXPECT_ANY_THROW(reads_of(model, batch, {{0, 3}}));
  EXPECT_ANY_THROW(reads_of(model, batch, {{1, 0}}));
  EXPECT_ANY_THROW(DirectPath(model, reads_of(model, batch, {{0, -1}}), {16}));
  EXPECT_ANY_THROW(ReadRecorder(model, {{0, 0}}).take());
}

}  // namespace
}  // namespace attnscope::testing
