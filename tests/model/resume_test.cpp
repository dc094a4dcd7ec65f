// Resumed runs that change something, and what cannot be resumed; that every point gives the whole
// run is in tests/parity.
#include <gtest/gtest.h>

#include "attnscope/model/model.h"
#include "attnscope/support/error.h"
#include "recorder.h"
#include "tiny_model.h"

namespace attnscope::testing {
namespace {

class ResumeTest : public ::testing::TestWithParam<std::string> {
 protected:
  Model model() const { return fixture_model(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Families, ResumeTest, ::testing::ValuesIn(fixture_families()));

// Rows that start at their own positions, three of them on one base row, against whole runs with
// the same change. Bases padded on either side.
TEST_P(ResumeTest, RaggedSuffixesShareOneBase) {
  const Model model = this->model();
  if (model.config().layers[0].attention.mask != MaskKind::causal) {
    GTEST_SKIP() << "every position of a bidirectional model changes";
  }
  for (const PadSide side : {PadSide::left, PadSide::right}) {
    const Batch batch = make_batch({sample_row(14, 1), sample_row(9, 2)}, side);
    Recorder recorder({Site::resid_pre});
    Taps record;
    record.observers = {&recorder};
    const RunResult whole = model.run(batch, record, {.record_base = BaseRecording::on});
    const ResumeRows rows = {.base_row = {0, 1, 0, 0}, .first = {5, 3, 0, 13}};
    const Batch suffixes = resume_batch(batch, rows);
    ASSERT_EQ(suffixes.padded_length(), 14);
    const int layer = 1;
    const at::Tensor base_residual = recorder.value({Site::resid_pre, layer});
    at::Tensor residual = at::zeros({4, 14, model.config().d_model}, base_residual.options());
    for (int r = 0; r < 4; ++r) {
      const int first = rows.first[static_cast<std::size_t>(r)];
      const at::Tensor row =
          unpadded(base_residual, batch, rows.base_row[static_cast<std::size_t>(r)]);
      at::Tensor suffix = row.narrow(0, first, row.size(0) - first).clone();
      suffix[0] += 1;
      residual[r].narrow(0, 0, suffix.size(0)).copy_(suffix);
    }
    Recorder patterns({Site::pattern});
    for (const Gradients gradients : {Gradients::off, Gradients::on}) {
      Taps observe;
      observe.observers = {&patterns};
      const RunResult resumed =
          model.run_from({layer, LayerPoint::resid_pre}, {.residual = residual}, *whole.base, rows,
                         observe, {.gradients = gradients});
      for (int r = 0; r < 4; ++r) {
        const int base_row = rows.base_row[static_cast<std::size_t>(r)];
        const int first = rows.first[static_cast<std::size_t>(r)];
        Recorder naive_pattern({Site::pattern});
        Taps change;
        change.observers = {&naive_pattern};
        change.interventions = {{.hook = {Site::resid_pre, layer},
                                 .operation = Operation::add,
                                 .rows = {base_row},
                                 .q_positions = {first},
                                 .value = at::ones({1}, at::TensorOptions(at::kDouble))}};
        const at::Tensor naive = unpadded(
            model.run(batch, change, {.engine = Engine::reference}).logits, batch, base_row);
        const at::Tensor got = unpadded(resumed.logits, suffixes, r);
        EXPECT_LT(largest_difference(got, naive.narrow(0, first, naive.size(0) - first)), 1e-11)
            << r;
        const at::Tensor map =
            unpadded_map(naive_pattern.value({Site::pattern, layer}), batch, base_row);
        const at::Tensor resumed_map = patterns.value({Site::pattern, layer})[r]
                                           .narrow(1, 0, got.size(0))
                                           .narrow(2, 0, naive.size(0));
        EXPECT_LT(largest_difference(resumed_map, map.narrow(1, first, got.size(0))), 1e-12);
      }
    }
  }
}

TEST(Resume, PositionsOfInterventionsAreThoseOfTheWholeRow) {
  const Model model = fixture_model("llama");
  const Batch batch = make_batch({sample_row(10)});
  Recorder recorder({Site::resid_pre});
  Taps record;
  record.observers = {&recorder};
  const RunResult whole = model.run(batch, record, {.record_base = BaseRecording::on});
  Taps knockout;
  knockout.interventions = {{.hook = {Site::attn_scores, 1},
                             .operation = Operation::minus_infinity,
                             .heads = {2},
                             .q_positions = {8},
                             .k_positions = {1}}};
  const at::Tensor naive = model.run(batch, knockout, {.engine = Engine::reference}).logits;
  const at::Tensor residual = recorder.value({Site::resid_pre, 1}).narrow(1, 6, 4);
  const ResumeRows rows = {.base_row = {0}, .first = {6}};
  const RunResult resumed = model.run_from({1, LayerPoint::resid_pre}, {.residual = residual},
                                           *whole.base, rows, knockout, {});
  EXPECT_LT(largest_difference(resumed.logits, naive.narrow(1, 6, 4)), 1e-11);
  knockout.interventions[0].q_positions = {3};
  EXPECT_THROW(model.run_from({1, LayerPoint::resid_pre}, {.residual = residual}, *whole.base, rows,
                              knockout, {}),
               Error);
}

TEST(Resume, RefusesWhatCannotBeResumed) {
  const Model decoder = fixture_model("gpt_neox");
  const Model encoder = fixture_model("bert");
  const auto code = [](const Model& model, ResumePoint point, const ResumeRows& rows,
                       std::int64_t length) -> std::string {
    try {
      const RunResult whole =
          model.run(make_batch({sample_row(5)}), {}, {.record_base = BaseRecording::on});
      const at::Tensor residual =
          at::zeros({1, length, model.config().d_model}, at::TensorOptions(at::kDouble));
      model.run_from(point, {.residual = residual}, *whole.base, rows, {}, {});
    } catch (const Error& error) {
      return error.code();
    }
    return "none";
  };
  EXPECT_EQ(code(decoder, {0, LayerPoint::resid_pre}, {.base_row = {0}}, 5), "none");
  EXPECT_EQ(code(decoder, {0, LayerPoint::resid_pre}, {.base_row = {0}}, 4), "CO01");
  EXPECT_EQ(code(decoder, {0, LayerPoint::resid_mid}, {.base_row = {0}}, 5), "MO40");
  EXPECT_EQ(code(decoder, {7, LayerPoint::resid_pre}, {.base_row = {0}}, 5), "MO40");
  EXPECT_EQ(code(decoder, {0, LayerPoint::z}, {.base_row = {0}}, 5), "CO01");
  EXPECT_EQ(code(decoder, {0, LayerPoint::resid_pre}, {.base_row = {1}}, 5), "MO41");
  EXPECT_EQ(code(decoder, {0, LayerPoint::resid_pre}, {.base_row = {0}, .first = {5}}, 5), "MO41");
  EXPECT_EQ(code(encoder, {0, LayerPoint::resid_pre}, {.base_row = {0}, .first = {2}}, 3), "MO41");
}

}  // namespace
}  // namespace attnscope::testing
