#include "engine_cases.h"

#include <algorithm>
#include <cmath>

namespace attnscope::testing {
namespace {

template <typename Change>
Variant variant(const char* name, Change&& change) {
  Variant made = {name, base_shape()};
  change(made.shape);
  return made;
}

double scaled(double difference, double size) {
  return difference / std::max(1.0, size);
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return scaled(largest_difference(a, b), b.abs().max().item<double>());
}

// NaN only where both are.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return INFINITY;
    if (std::isnan(a[i]) || a[i] == b[i]) continue;
    largest = std::max(largest, scaled(std::abs(double{a[i]} - double{b[i]}), std::abs(b[i])));
  }
  return largest;
}

double difference(const AttentionStatistics& a, const AttentionStatistics& b) {
  return std::max({difference(a.head_stats, b.head_stats), difference(a.row_stats, b.row_stats),
                   difference(a.topk_value, b.topk_value), difference(a.key_sum, b.key_sum),
                   difference(a.value_norm, b.value_norm)});
}

}  // namespace

TinyShape base_shape() {
  TinyShape shape = {.n_layers = 2,
                     .n_heads = 4,
                     .n_kv_heads = 4,
                     .d_model = 24,
                     .d_head = 6,
                     .d_vocab = 220,
                     .n_context = 400};
  shape.scale = 30;  // sharp patterns
  return shape;
}

std::vector<Variant> variants() {
  return {
      variant("causal", [](TinyShape&) {}),
      variant("bidirectional", [](TinyShape& s) { s.mask = MaskKind::bidirectional; }),
      variant("gqa", [](TinyShape& s) { s.n_kv_heads = 2; }),
      variant("mqa", [](TinyShape& s) { s.n_kv_heads = 1; }),
      variant("d_1", [](TinyShape& s) { s.d_head = 1; }),
      variant("d_64", [](TinyShape& s) { s.d_head = 64; }),
      variant("window_1", [](TinyShape& s) { s.window = 1; }),
      variant("window_5", [](TinyShape& s) { s.window = 5; }),
      variant("window_70_gqa", [](TinyShape& s) { s.window = 70, s.n_kv_heads = 2; }),
      variant("rotary", [](TinyShape& s) { s.rotary = true; }),
      variant("softcap", [](TinyShape& s) { s.softcap = 0.75; }),
      variant("sink", [](TinyShape& s) { s.learned_sink = true; }),
      variant("sink_softcap_window_mqa",
              [](TinyShape& s) {
                s.learned_sink = true, s.softcap = 1.5, s.window = 33, s.n_kv_heads = 1;
              }),
  };
}

std::vector<Batches> batches() {
  std::vector<Batches> all;
  for (const int length : {1, 2, 63, 64, 65, 127, 128, 129, 257, 300}) {
    all.push_back({"alone", make_batch({sample_row(length, length)})});
  }
  for (const PadSide side : {PadSide::right, PadSide::left}) {
    all.push_back(
        {"padded", make_batch({sample_row(131, 1), sample_row(1, 2), sample_row(64, 3)}, side)});
  }
  return all;
}

std::unique_ptr<Seen> run(const Model& model, const Batch& batch, const Request& request) {
  auto seen = std::make_unique<Seen>();
  if (!request.maps) seen->maps = Recorder({Site::z});
  seen->maps.statistics_wanted = request.statistics;
  seen->maps.heads = request.heads;
  Taps taps;
  taps.observers = {&seen->maps};
  seen->result = model.run(batch, taps, {.engine = request.engine});
  seen->hidden = seen->result.hidden;
  return seen;
}

bool shows_maps(Engine engine, const Batch& batch) {
  const bool in_tiles = engine == Engine::cpu_tiled || engine == Engine::cuda;
  return !in_tiles || std::all_of(batch.rows.begin(), batch.rows.end(),
                                  [](RowSpan row) { return row.start == 0; });
}

void Differences::add(const Seen& ours, const Seen& oracle, const Batch& batch, bool maps) {
  for (int layer = 0; layer < 2; ++layer) {
    const HookId z_hook = {Site::z, layer};
    const HookId map_hook = {Site::pattern, layer};
    for (int row = 0; row < batch.size(); ++row) {
      const auto b = static_cast<std::size_t>(row);
      const auto [start, length] = batch.rows[b];
      z = std::max(z, difference(unpadded(ours.maps.value(z_hook), batch, row),
                                 unpadded(oracle.maps.value(z_hook), batch, row)));
      statistics = std::max(
          statistics, difference(ours.maps.statistics(layer)[b], oracle.maps.statistics(layer)[b]));
      if (!maps) continue;
      const auto part = [&](const Seen& seen) {
        return seen.maps.value(map_hook)[row].narrow(1, start, length);
      };
      pattern = std::max(pattern, difference(part(ours), part(oracle)));
    }
  }
}

}  // namespace attnscope::testing
