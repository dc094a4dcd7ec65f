#include "equal_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "base_run.h"
#include "plan.h"

namespace attnscope {
namespace {

// Products of float64 take four rows at once, those of float32 do where a row fills its vectors.
constexpr int kProductRows = 4;
constexpr std::int64_t kVector = 8;
// Values that a vectorised loop takes at once on any CPU.
constexpr std::int64_t kLoopValues = 32;
constexpr std::int64_t kLine = 64;
// Rows of the trial: their offsets have all the alignments that those of larger batches have.
constexpr int kTrialRows = 8;

bool rows_are_equal(const at::Tensor& x) {
  return at::equal(x, x.narrow(0, 0, 1).expand_as(x));
}

// Whether every row of every value of a layer begins at a multiple of a cache line, as it does in
// models of real size: then nothing tells rows apart but their number.
bool rows_are_aligned(const Model& model) {
  const auto bytes = model.dtype() == DType::f64 ? 8 : model.dtype() == DType::f32 ? 4 : 2;
  const ModelConfig& config = model.config();
  return std::all_of(config.layers.begin(), config.layers.end(), [&](const LayerConfig& layer) {
    return config.d_model * bytes % kLine == 0 && layer.attention.d_head * bytes % kLine == 0 &&
           (config.mlp == MlpKind::none || layer.d_mlp * bytes % kLine == 0);
  });
}

// Equal rows through the last layer: whole, from the middle on, and where it is read only.
bool gives_equal_rows(const Model& model, int length, Engine engine) {
  const ModelConfig& config = model.config();
  TokenRow row;
  for (int i = 0; i < length; ++i) row.ids.push_back((i * 7 + 1) % config.d_vocab);
  const int layer = config.n_layers - 1;
  MemorySink keeper({{Site::resid_pre, layer}});
  Taps taps;
  taps.observers = {&keeper};
  const RunResult whole = model.run(
      make_batch({row}), taps,
      {.engine = engine, .logits = {.at = LogitsAt::none}, .record_base = BaseRecording::on});
  const at::Tensor residual = keeper.values().at({Site::resid_pre, layer});
  const int multiple = row_multiple(model);
  const int n_rows = (kTrialRows + multiple - 1) / multiple * multiple;
  const auto from = [&](int first, const RunOptions& options) {
    ResumeRows rows;
    rows.base_row.assign(static_cast<std::size_t>(n_rows), 0);
    if (first > 0) rows.first.assign(rows.base_row.size(), first);
    const at::Tensor equal =
        residual.narrow(1, first, length - first).expand({n_rows, -1, -1}).contiguous();
    const RunResult result =
        model.run_from({layer, LayerPoint::resid_pre}, {.residual = equal, .z = {}}, *whole.base,
                       rows, {}, options);
    return rows_are_equal(result.logits.defined() ? result.logits : result.hidden);
  };
  const RunOptions all = {
      .engine = engine, .logits = {.at = LogitsAt::none}, .stop_after_layer = layer};
  RunOptions read = {.engine = engine, .last_layer = LastLayer::read_positions};
  if (config.head != HeadKind::none) read.logits = {.at = LogitsAt::last};
  if (!from(0, all) || !from(0, read)) return false;
  const int middle = length / 2;
  return middle == 0 || !is_causal(config) || (from(middle, all) && from(middle, read));
}

}  // namespace

int row_multiple(const Model& model) {
  const ModelConfig& config = model.config();
  std::set<std::int64_t> widths = {config.d_model, config.d_embed};
  for (const LayerConfig& layer : config.layers) {
    if (config.mlp != MlpKind::none) widths.insert(layer.d_mlp);
  }
  const bool full_vectors = std::all_of(widths.begin(), widths.end(),
                                        [](std::int64_t width) { return width % kVector == 0; });
  int rows = model.dtype() == DType::f64 || !full_vectors ? kProductRows : 1;
  for (const std::int64_t width : widths) {
    while (width * rows % kLoopValues != 0) rows *= 2;
  }
  return rows;
}

std::optional<Engine> engine_of_equal_rows(const Model& model, int length, Engine asked) {
  if (rows_are_aligned(model)) return asked;
  // Layers whose scores or patterns a cell changes take the explicit path in any case.
  if (!gives_equal_rows(model, length, Engine::reference)) return std::nullopt;
  if (asked == Engine::reference || gives_equal_rows(model, length, asked)) return asked;
  if (asked == Engine::automatic) return Engine::reference;
  return std::nullopt;
}

}  // namespace attnscope
