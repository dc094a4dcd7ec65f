// Runs that start in the middle of a forward pass.
#include <algorithm>
#include <string>

#include "attnscope/core/boundary.h"
#include "attnscope/core/shape_check.h"
#include "attnscope/model/model.h"
#include "attnscope/support/error.h"
#include "forward.h"

namespace attnscope {
namespace {

int first_of(const ResumeRows& rows, std::size_t row) {
  return rows.first.empty() ? 0 : rows.first[row];
}

[[noreturn]] void fail_rows(const std::string& what, const std::string& expected = "") {
  throw Error(ErrorKind::input, "MO41",
              {.where = "resumed run", .what = what, .expected = expected});
}

void check_rows(const Batch& base, const ResumeRows& rows) {
  if (rows.base_row.empty()) fail_rows("no rows");
  if (!rows.first.empty() && rows.first.size() != rows.base_row.size()) {
    fail_rows("first positions and base rows differ in number");
  }
  for (std::size_t r = 0; r < rows.base_row.size(); ++r) {
    const int base_row = rows.base_row[r];
    if (base_row < 0 || base_row >= base.size()) {
      fail_rows("base row " + std::to_string(base_row) + " does not exist",
                "0 to " + std::to_string(base.size() - 1));
    }
    const int length = base.rows[static_cast<std::size_t>(base_row)].length;
    if (first_of(rows, r) < 0 || first_of(rows, r) >= length) {
      fail_rows("first position " + std::to_string(first_of(rows, r)) + " is outside the row",
                "0 to " + std::to_string(length - 1));
    }
  }
}

bool any_suffix(const ResumeRows& rows) {
  return std::any_of(rows.first.begin(), rows.first.end(), [](int first) { return first > 0; });
}

std::vector<std::int64_t> part_of(const at::Tensor& values, int row, int begin, int length) {
  const auto* data =
      values.const_data_ptr<std::int64_t>() + static_cast<std::int64_t>(row) * values.size(1);
  return {data + begin, data + begin + length};
}

std::vector<RowFrame> resumed_frames(const Batch& base, const Batch& batch,
                                     const ResumeRows& rows) {
  std::vector<RowFrame> frames = row_frames(batch);
  for (std::size_t r = 0; r < frames.size(); ++r) {
    frames[r].first = first_of(rows, r);
    frames[r].k_length = base.rows[static_cast<std::size_t>(rows.base_row[r])].length;
  }
  return frames;
}

void check_point(const ModelConfig& config, ResumePoint point) {
  const auto fail = [&](const std::string& what, const std::string& next) {
    throw Error(ErrorKind::input, "MO40", {.where = "resumed run", .what = what, .next = next});
  };
  const bool after_all = point.layer == config.n_layers && point.point == LayerPoint::resid_pre;
  if (point.layer < 0 || (point.layer >= config.n_layers && !after_all)) {
    fail("layer " + std::to_string(point.layer) + " does not exist", "");
  }
  const bool post = config.placement == NormPlacement::post;
  if (point.point == LayerPoint::resid_mid &&
      (config.parallel_block || config.mlp == MlpKind::none)) {
    fail("the layers of this model have no resid_mid", "start at z or at resid_post");
  }
  if (point.point == LayerPoint::normalized_resid_mid && !post) {
    fail("only post-norm models have normalized_resid_mid", "start at resid_mid");
  }
}

void check_input(const Run& run, ResumePoint point, const ResumeInput& input) {
  const auto b = static_cast<std::int64_t>(run.batch.size());
  const std::int64_t q = run.batch.padded_length();
  expect_shape(input.residual, "residual", {{"b", b}, {"q", q}, {"m", run.config.d_model}});
  if (point.point != LayerPoint::z) return;
  const AttentionSpec& spec = run.config.layers[static_cast<std::size_t>(point.layer)].attention;
  expect_shape(input.z, "z", {{"b", b}, {"q", q}, {"h", spec.n_heads}, {"d", spec.d_head}});
}

void check_base(const ModelConfig& config, const RunBase& base, const ResumeRows& rows) {
  if (!any_suffix(rows)) return;
  for (const LayerConfig& layer : config.layers) {
    if (layer.attention.mask != MaskKind::causal) {
      fail_rows("in a bidirectional model every position changes: rows start at 0");
    }
  }
  const auto layers = static_cast<std::size_t>(config.n_layers);
  if (base.rotated_k.size() != layers || base.v.size() != layers) {
    fail_rows("the base holds no keys", "a base from a run with record_base");
  }
}

}  // namespace

Batch resume_batch(const Batch& base, const ResumeRows& rows) {
  check_rows(base, rows);
  std::vector<TokenRow> suffixes;
  for (std::size_t r = 0; r < rows.base_row.size(); ++r) {
    const int base_row = rows.base_row[r];
    const RowSpan span = base.rows[static_cast<std::size_t>(base_row)];
    const int begin = span.start + first_of(rows, r);
    const int length = span.length - first_of(rows, r);
    TokenRow suffix = {.ids = part_of(base.ids, base_row, begin, length),
                       .position_ids = part_of(base.position_ids, base_row, begin, length)};
    if (base.token_types.defined()) {
      suffix.token_types = part_of(base.token_types, base_row, begin, length);
    }
    suffixes.push_back(std::move(suffix));
  }
  return make_batch(suffixes, PadSide::right);
}

RunResult Model::run_from(ResumePoint point, const ResumeInput& input, const RunBase& base,
                          const ResumeRows& rows, const Taps& taps,
                          const RunOptions& options) const {
  return at_boundary("resumed forward pass", [&] {
    const RunGuard guard(options.gradients);
    const Batch batch = resume_batch(base.batch, rows);
    check_run(*weights_, batch, options);
    check_point(weights_->config, point);
    check_base(weights_->config, base, rows);
    if (options.record_base == BaseRecording::on) {
      fail_rows("a base is recorded by a whole run");
    }
    Run run(*weights_, batch, resumed_frames(base.batch, batch, rows), taps, options);
    check_input(run, point, input);
    const SharedKeys shared = {&base, rows.base_row};
    if (any_suffix(rows)) run.shared = &shared;
    return run_layers(run, point.layer,
                      {.point = point.point, .residual = input.residual, .z = input.z});
  });
}

}  // namespace attnscope
