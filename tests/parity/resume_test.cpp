// A run resumed at any point gives what the full run gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "property_models.h"
#include "recorder.h"

namespace attnscope::testing {
namespace {

class Resume : public ::testing::TestWithParam<std::string> {};

// What a resumed run at a point reads, in full-run values.
struct PointSites {
  ResumePoint point;
  HookId residual;
  std::optional<HookId> z;
};

std::vector<PointSites> all_points(const Model& model) {
  const auto has = [&](Site site, int l) { return model.sites().contains({site, l}); };
  std::vector<PointSites> points;
  for (int l = 0; l < model.config().n_layers; ++l) {
    points.push_back({{l, LayerPoint::resid_pre}, {Site::resid_pre, l}, {}});
    points.push_back({{l, LayerPoint::z}, {Site::resid_pre, l}, HookId{Site::z, l}});
    if (has(Site::resid_mid, l) && !model.config().parallel_block) {
      points.push_back({{l, LayerPoint::resid_mid}, {Site::resid_mid, l}, {}});
    }
    if (has(Site::normalized_resid_mid, l)) {
      points.push_back(
          {{l, LayerPoint::normalized_resid_mid}, {Site::normalized_resid_mid, l}, {}});
    }
    if (has(Site::resid_post, l)) {
      points.push_back({{l, LayerPoint::resid_post}, {Site::resid_post, l}, {}});
    }
  }
  // After the last layer: what the head reads, before a final norm.
  const int n = model.config().n_layers;
  const bool post_norm = has(Site::normalized_resid_post, n - 1);
  const Site written = post_norm ? Site::normalized_resid_post : Site::resid_post;
  points.push_back({{n, LayerPoint::resid_pre}, {written, n - 1}, {}});
  return points;
}

std::string describe(const ResumePoint& point) {
  return "layer " + std::to_string(point.layer) + ", point " +
         std::to_string(static_cast<int>(point.point));
}

// A value of the base batch in the layout of the resumed rows: suffixes, padded on the right.
at::Tensor relaid(const at::Tensor& value, const Batch& base, const ResumeRows& rows) {
  std::vector<at::Tensor> parts;
  std::int64_t longest = 0;
  for (std::size_t r = 0; r < rows.base_row.size(); ++r) {
    at::Tensor part = unpadded(value, base, rows.base_row[r]);
    if (!rows.first.empty()) part = part.narrow(0, rows.first[r], part.size(0) - rows.first[r]);
    longest = std::max(longest, part.size(0));
    parts.push_back(part);
  }
  std::vector<std::int64_t> shape = value.sizes().vec();
  shape[0] = static_cast<std::int64_t>(parts.size());
  shape[1] = longest;
  at::Tensor out = at::zeros(shape, value.options());
  for (std::size_t r = 0; r < parts.size(); ++r) {
    out[static_cast<std::int64_t>(r)].narrow(0, 0, parts[r].size(0)).copy_(parts[r]);
  }
  return out;
}

struct FullRun {
  Batch batch;
  Outcome outcome;
};

FullRun full_run(const Model& model, const std::vector<TokenRow>& rows, PadSide side) {
  FullRun run{make_batch(rows, side), {}};
  const std::vector<HookId> hooks =
      hooks_of(model, {Site::resid_pre, Site::z, Site::resid_mid, Site::normalized_resid_mid,
                       Site::resid_post, Site::normalized_resid_post});
  run.outcome = run_and_record(model, run.batch, hooks, {},
                               {.engine = Engine::reference, .record_base = BaseRecording::on});
  return run;
}

ResumeInput input_at(const PointSites& sites, const FullRun& full, const ResumeRows& rows) {
  ResumeInput input;
  input.residual = relaid(full.outcome.values.at(sites.residual), full.batch, rows);
  if (sites.z) input.z = relaid(full.outcome.values.at(*sites.z), full.batch, rows);
  return input;
}

at::Tensor output_of(const RunResult& result) {
  return result.logits.defined() ? result.logits : result.hidden;
}

void expect_rows_equal(const at::Tensor& got, const FullRun& full, const ResumeRows& rows,
                       const std::string& what) {
  const Batch batch = resume_batch(full.batch, rows);
  for (std::size_t r = 0; r < rows.base_row.size(); ++r) {
    const at::Tensor whole = unpadded(full.outcome.output, full.batch, rows.base_row[r]);
    const at::Tensor part = unpadded(got, batch, static_cast<int>(r));
    const std::int64_t first = rows.first.empty() ? 0 : rows.first[r];
    EXPECT_LE(largest_difference(part, whole.narrow(0, first, whole.size(0) - first)), 1e-11)
        << what << ", row " << r;
  }
}

TEST_P(Resume, EveryPointGivesTheFullRun) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  const RunOptions options{.engine = Engine::reference};
  for (const PadSide side : {PadSide::left, PadSide::right}) {
    const FullRun full = full_run(loaded.model, loaded.rows, side);
    for (const ResumeRows& rows : {ResumeRows{{0, 1, 2}, {}}, ResumeRows{{2, 0, 0, 1}, {}}}) {
      for (const PointSites& sites : all_points(loaded.model)) {
        const RunResult resumed =
            loaded.model.run_from(sites.point, input_at(sites, full, rows),
                                  *full.outcome.result.base, rows, Taps{}, options);
        expect_rows_equal(output_of(resumed), full, rows, describe(sites.point));
      }
    }
  }
}

TEST_P(Resume, AutomaticEngineGivesTheFullRun) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  const FullRun full = full_run(loaded.model, loaded.rows, PadSide::left);
  const ResumeRows rows{{0, 1, 2}, {}};
  for (const PointSites& sites : all_points(loaded.model)) {
    const RunResult resumed = loaded.model.run_from(sites.point, input_at(sites, full, rows),
                                                    *full.outcome.result.base, rows, Taps{}, {});
    expect_rows_equal(output_of(resumed), full, rows, describe(sites.point));
  }
}

TEST_P(Resume, RaggedSuffixesGiveTheFullRun) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  for (const LayerConfig& layer : loaded.model.config().layers) {
    if (layer.attention.mask != MaskKind::causal) return;
  }
  const FullRun full = full_run(loaded.model, loaded.rows, PadSide::left);
  const ResumeRows rows{{0, 1, 0, 2}, {6, 1, 0, 2}};
  for (const Engine engine : {Engine::reference, Engine::automatic}) {
    for (const PointSites& sites : all_points(loaded.model)) {
      const RunResult resumed =
          loaded.model.run_from(sites.point, input_at(sites, full, rows), *full.outcome.result.base,
                                rows, Taps{}, {.engine = engine});
      expect_rows_equal(output_of(resumed), full, rows, describe(sites.point));
    }
  }
}

// The unit of a sweep: the same ablation in a full run and in the suffix that it can change.
TEST_P(Resume, AblationFromItsLayerOn) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f64);
  const FullRun full = full_run(loaded.model, loaded.rows, PadSide::right);
  const ResumeRows rows{{0, 0, 1}, {}};
  for (int l = 0; l < loaded.model.config().n_layers; ++l) {
    const PointSites sites{{l, LayerPoint::z}, {Site::resid_pre, l}, HookId{Site::z, l}};
    Taps suffix, whole;
    const Intervention zero{
        .hook = {Site::z, l}, .operation = Operation::zero, .rows = {1, 2}, .heads = {1}};
    suffix.interventions = {zero};
    const RunResult resumed =
        loaded.model.run_from(sites.point, input_at(sites, full, rows), *full.outcome.result.base,
                              rows, suffix, {.engine = Engine::reference});
    EXPECT_GT(resumed.interventions.at(0).fired, 0);
    const std::vector<TokenRow> same = {loaded.rows[0], loaded.rows[0], loaded.rows[1]};
    whole.interventions = {zero};
    const Batch batch = make_batch(same);
    const Outcome naive = run_and_record(loaded.model, batch, {}, whole);
    for (int r = 0; r < 3; ++r) {
      EXPECT_LE(largest_difference(unpadded(output_of(resumed), batch, r),
                                   unpadded(naive.output, batch, r)),
                1e-11)
          << "layer " << l << ", row " << r;
    }
  }
}

TEST_P(Resume, SameShapesGiveTheSameBits) {
  const PropertyModel loaded = load_property_model(GetParam(), DType::f32);
  const FullRun full = full_run(loaded.model, {loaded.rows[0]}, PadSide::right);
  const ResumeRows rows{{0}, {}};
  for (const PointSites& sites : all_points(loaded.model)) {
    const RunResult resumed =
        loaded.model.run_from(sites.point, input_at(sites, full, rows), *full.outcome.result.base,
                              rows, Taps{}, {.engine = Engine::reference});
    EXPECT_TRUE(same_bits(output_of(resumed), full.outcome.output)) << describe(sites.point);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Resume, ::testing::ValuesIn(property_models()),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace attnscope::testing
