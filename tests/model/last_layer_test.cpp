// A last layer that computes only what the logits read gives the logits of a whole one.
#include <gtest/gtest.h>

#include "attnscope/model/model.h"
#include "recorder.h"
#include "tiny_model.h"

namespace attnscope::testing {
namespace {

class LastLayerTest : public ::testing::TestWithParam<std::string> {
 protected:
  Model model() const { return fixture_model(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Families, LastLayerTest, ::testing::ValuesIn(fixture_families()));

RunOptions reading(Engine engine, std::vector<std::vector<int>> positions, LastLayer last_layer) {
  return {.engine = engine,
          .logits = {.at = LogitsAt::positions, .positions = std::move(positions)},
          .last_layer = last_layer};
}

TEST_P(LastLayerTest, NarrowedEqualsWhole) {
  const Model model = this->model();
  const std::vector<TokenRow> rows = {sample_row(14, 1), sample_row(9, 2), sample_row(14, 3)};
  for (const PadSide side : {PadSide::left, PadSide::right}) {
    const Batch batch = make_batch(rows, side);
    for (const std::vector<std::vector<int>>& positions :
         {std::vector<std::vector<int>>{{-1}}, {{4}}, {{0}, {8}, {13}}}) {
      for (const Engine engine : {Engine::automatic, Engine::reference}) {
        const at::Tensor whole =
            model.run(batch, {}, reading(engine, positions, LastLayer::whole)).logits;
        const at::Tensor narrowed =
            model.run(batch, {}, reading(engine, positions, LastLayer::read_positions)).logits;
        ASSERT_EQ(narrowed.sizes(), whole.sizes());
        EXPECT_LT(largest_difference(narrowed, whole), 1e-12);
      }
    }
  }
}

TEST_P(LastLayerTest, NarrowedSuffixEqualsWhole) {
  const Model model = this->model();
  const bool causal = model.config().layers[0].attention.mask == MaskKind::causal;
  const Batch batch = make_batch({sample_row(14, 1), sample_row(9, 2)}, PadSide::left);
  Recorder recorder({Site::resid_pre});
  Taps record;
  record.observers = {&recorder};
  const RunResult whole = model.run(batch, record, {.record_base = BaseRecording::on});
  const int layer = model.config().n_layers - 1;
  const at::Tensor base = recorder.value({Site::resid_pre, layer});
  const ResumeRows rows = {.base_row = {0, 1, 0},
                           .first = causal ? std::vector<int>{5, 3, 13} : std::vector<int>{}};
  const int length = causal ? 9 : 14;
  at::Tensor residual = at::zeros({3, length, model.config().d_model}, base.options());
  for (std::size_t r = 0; r < 3; ++r) {
    const int first = causal ? rows.first[r] : 0;
    const at::Tensor row = unpadded(base, batch, rows.base_row[r]);
    at::Tensor suffix = row.narrow(0, first, row.size(0) - first) + 0.5;
    residual[static_cast<std::int64_t>(r)].narrow(0, 0, suffix.size(0)).copy_(suffix);
  }
  const auto run = [&](LastLayer last_layer) {
    return model
        .run_from({layer, LayerPoint::resid_pre}, {.residual = residual}, *whole.base, rows, {},
                  reading(Engine::automatic, {{-1}, {8}, {-1}}, last_layer))
        .logits;
  };
  EXPECT_LT(largest_difference(run(LastLayer::read_positions), run(LastLayer::whole)), 1e-12);
}

// Hooks of the last layer must see whole tensors.
TEST_P(LastLayerTest, ATappedLayerStaysWhole) {
  const Model model = this->model();
  const Batch batch = make_batch({sample_row(7, 1)});
  Recorder recorder({Site::z});
  Taps record;
  record.observers = {&recorder};
  const RunResult result =
      model.run(batch, record, reading(Engine::automatic, {{-1}}, LastLayer::read_positions));
  EXPECT_EQ(recorder.value({Site::z, model.config().n_layers - 1}).size(1), 7);
  EXPECT_EQ(result.logits.size(1), 1);
}

}  // namespace
}  // namespace attnscope::testing
