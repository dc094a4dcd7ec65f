// Facts about attention that hold whatever the weights are, and the worked example of the text.
#include <gtest/gtest.h>

#include <cmath>

#include "attnscope/model/model.h"
#include "recorder.h"
#include "tiny_model.h"

namespace attnscope::testing {
namespace {

at::Tensor doubles(const std::vector<double>& values, at::IntArrayRef shape) {
  return at::tensor(values, at::TensorOptions(at::kDouble)).view(shape);
}

// q = [1,0]; keys and values [1,0], [0,1], [1,1]; no scale.
TEST(Attention, WorkedExample) {
  const ModelConfig config = tiny_config({});
  const Model model = tiny_model(config, [](Role role, int, std::int64_t rows, std::int64_t cols) {
    if (role == Role::token_embedding) return std::vector<double>{1, 0, 0, 1, 1, 1};
    if (role == Role::q_weight) return std::vector<double>{1, 0, 0, 0};
    return identity(rows, cols);
  });
  for (const Engine engine : {Engine::reference, Engine::aten}) {
    Recorder recorder({Site::pattern, Site::z});
    Taps taps;
    taps.observers = {&recorder};
    model.run(make_batch({{.ids = {0, 1, 2}}}), taps, {.engine = engine});
    const at::Tensor weights = recorder.value({Site::pattern, 0})[0][0][2];
    EXPECT_LT(largest_difference(weights, doubles({.4223, .1554, .4223}, {3})), 5e-5);
    const at::Tensor output = recorder.value({Site::z, 0})[0][2][0];
    EXPECT_LT(largest_difference(output, doubles({.8446, .5777}, {2})), 5e-5);
  }
}

// Var(q·k) = d for independent unit-variance components; scaling by 1/√d brings it back to 1.
TEST(Attention, VarianceOfScoresGrowsWithDAndTheScaleUndoesIt) {
  for (const int d : {4, 64}) {
    TinyShape shape = {.d_model = d, .d_head = d, .d_vocab = 500, .n_context = 500};
    shape.mask = MaskKind::bidirectional;
    const auto unit_variance = [](Role role, int layer, std::int64_t rows, std::int64_t cols) {
      if (role != Role::token_embedding) return identity(rows, cols);
      std::vector<double> values = random_values(role, layer, rows, cols);
      for (double& value : values) value *= std::sqrt(3.0 * static_cast<double>(cols));
      return values;
    };
    for (const double scale : {1.0, 1 / std::sqrt(static_cast<double>(d))}) {
      shape.scale = scale;
      const Model model = tiny_model(tiny_config(shape), unit_variance);
      Recorder recorder({Site::attn_scores});
      Taps taps;
      taps.observers = {&recorder};
      TokenRow row;
      for (int i = 0; i < 500; ++i) row.ids.push_back(i);
      model.run(make_batch({row}), taps, {});
      at::Tensor scores = recorder.value({Site::attn_scores, 0})[0][0];
      const at::Tensor off_diagonal =
          scores.masked_select(at::eye(500, at::TensorOptions(at::kBool)).logical_not());
      const double expected = d * scale * scale;
      EXPECT_NEAR(off_diagonal.var().item<double>(), expected, 0.15 * expected) << d;
    }
  }
}

TEST(Attention, WithoutPositionsPermutedInputsGivePermutedOutputs) {
  TinyShape shape = {
      .n_layers = 2, .n_heads = 2, .n_kv_heads = 1, .d_model = 8, .d_head = 4, .d_vocab = 20};
  shape.mask = MaskKind::bidirectional;
  const Model model = tiny_model(tiny_config(shape), random_values);
  const std::vector<std::int64_t> ids = {3, 14, 1, 5, 9, 2, 6};
  const std::vector<std::int64_t> order = {4, 0, 6, 2, 5, 1, 3};
  TokenRow permuted;
  for (const std::int64_t i : order) permuted.ids.push_back(ids[static_cast<std::size_t>(i)]);
  const at::Tensor plain = model.run(make_batch({{.ids = ids}}), {}, {}).hidden[0];
  const at::Tensor other = model.run(make_batch({permuted}), {}, {}).hidden[0];
  const at::Tensor index = at::tensor(order, at::TensorOptions(at::kLong));
  EXPECT_LT(largest_difference(plain.index_select(0, index), other), 1e-12);
  EXPECT_GT(largest_difference(plain, other), 1e-3);
}

// Of n keys a query sees the last `window`, its own included.
TEST(Attention, SlidingWindowCutsAtWindowPlusOne) {
  TinyShape shape = {.d_model = 4, .d_head = 4, .d_vocab = 20};
  shape.window = 5;
  const Model model = tiny_model(tiny_config(shape), random_values);
  Recorder recorder({Site::pattern});
  Taps taps;
  taps.observers = {&recorder};
  model.run(make_batch({{.ids = {1, 2, 3, 4, 5, 6}}}), taps, {});
  const at::Tensor pattern = recorder.value({Site::pattern, 0})[0][0];
  EXPECT_GT(pattern[4][0].item<double>(), 0);
  EXPECT_EQ(pattern[5][0].item<double>(), 0);
  EXPECT_LT((pattern.sum(-1) - 1).abs().max().item<double>(), 1e-14);
}

// More queries than one block of maps holds: blocks of maps and the fused pass say the same.
TEST(Attention, BlocksOfMapsAgreeWithTheFusedPass) {
  for (const int window : {0, 40}) {
    TinyShape shape = {.n_layers = 2,
                       .n_heads = 4,
                       .n_kv_heads = 2,
                       .d_model = 16,
                       .d_head = 4,
                       .d_vocab = 300,
                       .n_context = 400};
    shape.scale = 0.5;
    shape.window = window;
    shape.rotary = true;
    const Model model = tiny_model(tiny_config(shape), random_values);
    for (const PadSide side : {PadSide::left, PadSide::right}) {
      const Batch batch = make_batch({sample_row(300, 1), sample_row(141, 2)}, side);
      const at::Tensor fused = model.run(batch, {}, {.engine = Engine::aten}).hidden;
      const at::Tensor blocks = model.run(batch, {}, {.engine = Engine::reference}).hidden;
      for (int row = 0; row < 2; ++row) {
        EXPECT_LT(largest_difference(unpadded(fused, batch, row), unpadded(blocks, batch, row)),
                  1e-13);
      }
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
