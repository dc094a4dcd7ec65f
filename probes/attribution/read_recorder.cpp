// What a clean run leaves at the positions that are read.
#include <ATen/ATen.h>

#include "attnscope/probes/attribution.h"
#include "attnscope/support/error.h"
#include "frozen.h"

namespace attnscope {
namespace {

std::int64_t slot_of(const Batch& batch, ReadPoint point) {
  const bool row_exists = point.row >= 0 && point.row < batch.size();
  const RowSpan span = row_exists ? batch.rows[static_cast<std::size_t>(point.row)] : RowSpan{};
  const int position = point.position < 0 ? span.length + point.position : point.position;
  if (row_exists && position >= 0 && position < span.length) return span.start + position;
  throw Error(ErrorKind::input, "AT01",
              {.where = "attribution",
               .what = "position " + std::to_string(point.position) + " of prompt " +
                       std::to_string(point.row) + " does not exist",
               .expected = row_exists ? "a position below " + std::to_string(span.length)
                                      : "a prompt below " + std::to_string(batch.size())});
}

// value [b q …] at the points [r …].
at::Tensor at_points(const at::Tensor& value, const Batch& batch,
                     const std::vector<ReadPoint>& points) {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> slots;
  for (const ReadPoint point : points) {
    slots.push_back(slot_of(batch, point));
    rows.push_back(point.row);
  }
  const auto index = [&](const std::vector<std::int64_t>& values) {
    return at::tensor(values, at::TensorOptions(at::kLong)).to(value.device());
  };
  return wide(value.index({index(rows), index(slots)}));
}

// The scale of the norm behind a part whose own output is out · x + bias.
at::Tensor scale_behind(const Model& model, const at::Tensor& x, Role weight, Role bias,
                        int layer) {
  at::Tensor out = x.matmul(wide_weight(model, weight, layer).t());
  const at::Tensor b = wide_weight(model, bias, layer);
  if (b.defined()) out = out + b;
  return norm_scale(model.config(), out);
}

}  // namespace

ReadRecorder::ReadRecorder(const Model& model, std::vector<ReadPoint> reads)
    : model_(model), points_(std::move(reads)) {
  const auto layers = static_cast<std::size_t>(model.config().n_layers);
  if (is_post_norm(model.config())) {
    reads_.ln1_scale.resize(layers);
    reads_.ln2_scale.resize(layers);
  }
  if (is_sandwich(model.config())) {
    reads_.attn_scale.resize(layers);
    reads_.mlp_scale.resize(layers);
  }
}

Want ReadRecorder::want(HookId hook) const {
  const ModelConfig& config = model_.config();
  if (hook == end_of_stream(config)) return Want::whole_value();
  const bool scale = hook.site == Site::ln1_scale || hook.site == Site::ln2_scale;
  if (is_post_norm(config) && scale) return Want::whole_value();
  const bool input = hook.site == Site::z || hook.site == Site::mlp_post;
  if (is_sandwich(config) && input) return Want::whole_value();
  return Want::nothing();
}

void ReadRecorder::on_value(HookId hook, const at::Tensor& value, const Batch& batch) {
  const at::Tensor x = at_points(value, batch, points_);
  const auto layer = static_cast<std::size_t>(hook.layer);
  switch (hook.site) {
    case Site::ln1_scale:
      reads_.ln1_scale[layer] = x;
      break;
    case Site::ln2_scale:
      reads_.ln2_scale[layer] = x;
      break;
    case Site::z:
      reads_.attn_scale[layer] =
          scale_behind(model_, x.flatten(1), Role::o_weight, Role::o_bias, hook.layer);
      break;
    case Site::mlp_post:
      reads_.mlp_scale[layer] =
          scale_behind(model_, x, Role::mlp_out_weight, Role::mlp_out_bias, hook.layer);
      break;
    default:
      reads_.residual = x;
  }
}

FrozenReads ReadRecorder::take() {
  if (reads_.residual.defined()) return std::move(reads_);
  throw Error(ErrorKind::internal, "AT03",
              {.where = "attribution", .what = "the run did not reach the end of the model"});
}

}  // namespace attnscope
