#include "chunk_runner.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attnscope/support/error.h"
#include "attnscope/support/philox.h"
#include "edits.h"
#include "equal_rows.h"

namespace attnscope {
namespace {

// The hook whose value a run from `point` starts with.
HookId input_hook(ResumePoint point) {
  switch (point.point) {
    case LayerPoint::z:
    case LayerPoint::resid_pre:
      break;
    case LayerPoint::resid_mid:
    case LayerPoint::normalized_resid_mid:
      return {Site::resid_mid, point.layer};
    case LayerPoint::resid_post:
      return {Site::resid_post, point.layer};
  }
  return {Site::resid_pre, point.layer};
}

// Whether an edit is made on the run's own input instead of by an intervention.
bool is_direct(const Edit& edit, ResumePoint point) {
  if (edit.hook.layer != point.layer || edit.source == ValueSource::noise) return false;
  if (point.point == LayerPoint::z) return edit.hook.site == Site::z;
  return edit.hook == input_hook(point);
}

const Edit* noise_of(const Cell& cell) {
  for (const Edit& edit : cell.edits) {
    if (edit.source == ValueSource::noise) return &edit;
  }
  return nullptr;
}

BaseNeeds needs_of(const SweepWork& work, DonorMetric donor_metric) {
  BaseNeeds needs = work.needs;
  needs.donor_metric = donor_metric;
  return needs;
}

std::vector<std::int64_t> places_of(const std::vector<RowRef>& rows) {
  std::vector<std::int64_t> places;
  for (const RowRef& row : rows) places.push_back(row.prompt);
  return places;
}

}  // namespace

ChunkRunner::ChunkRunner(const Model& model, const std::vector<Cell>& cells,
                         const std::vector<SweepPrompt>& prompts, const SweepWork& work,
                         const Chunk& chunk, const SweepSettings& settings,
                         DonorMetric donor_metric)
    : model_(model),
      cells_(cells),
      prompts_(prompts),
      work_(work),
      settings_(settings),
      row_multiple_(settings.mode == SweepMode::fast ? row_multiple(model) : 1),
      base_(run_base(model, prompts, chunk.prompts, needs_of(work, donor_metric), settings)) {
  run_variants();
}

std::vector<RowRef> ChunkRunner::filled_up(std::vector<RowRef> rows) const {
  const RowRef pad = {rows.front().prompt, kPadCell};
  while (rows.size() % static_cast<std::size_t>(row_multiple_) != 0) rows.push_back(pad);
  return rows;
}

at::Tensor ChunkRunner::filled_up(const at::Tensor& x, std::size_t rows) const {
  if (!x.defined() || x.size(0) == static_cast<std::int64_t>(rows)) return x;
  std::vector<std::int64_t> pads(static_cast<std::size_t>(x.dim()), -1);
  pads[0] = static_cast<std::int64_t>(rows) - x.size(0);
  return at::cat({x, x.narrow(0, 0, 1).expand(pads)});
}

at::Tensor ChunkRunner::entry_rows(HookId hook, const std::vector<RowRef>& rows) const {
  const at::Tensor kept = base_.clean->values().at(hook);
  return kept.index_select(
      0, at::tensor(places_of(rows), at::TensorOptions(at::kLong)).to(kept.device()));
}

ResumeRows ChunkRunner::resume_rows(const std::vector<RowRef>& rows, int first) const {
  ResumeRows resumed;
  for (const RowRef& row : rows) resumed.base_row.push_back(row.prompt);
  if (first > 0) resumed.first.assign(rows.size(), first);
  return resumed;
}

MetricReader ChunkRunner::reader_of(const std::vector<RowRef>& rows) const {
  std::vector<const MetricTarget*> targets;
  for (const RowRef& row : rows) targets.push_back(&prompt(row.prompt).target);
  return {settings_.metric, std::move(targets), model_.config(), coverage_of(settings_.mode)};
}

RunOptions ChunkRunner::options_for(const MetricReader& reader) const {
  const bool fast = settings_.mode == SweepMode::fast;
  return {.engine = settings_.engine,
          .logits = reader.request(),
          .last_layer = fast ? LastLayer::read_positions : LastLayer::whole};
}

// Effects are differences to the untouched row of the same prompt in the same batch.
BatchFindings ChunkRunner::findings(const std::vector<RowRef>& rows, const MetricReader& reader,
                                    const RunResult& result, const Batch& batch) const {
  std::vector<const at::Tensor*> clean;
  for (const RowRef& row : rows) {
    const at::Tensor& compared = base_.compared[static_cast<std::size_t>(row.prompt)];
    clean.push_back(compared.defined() ? &compared : nullptr);
  }
  const std::vector<MetricValue> values = reader.read(result, batch, clean);
  // Runs of one row have the shapes of the clean run, which is then their untouched row.
  std::vector<MetricValue> untouched = base_.metric;
  BatchFindings found;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].cell != kUntouchedCell) continue;
    const auto place = static_cast<std::size_t>(rows[r].prompt);
    untouched[place] = values[r];
    found.untouched =
        std::max(found.untouched, std::abs(values[r].value - base_.metric[place].value));
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].cell < 0) continue;
    const auto place = static_cast<std::size_t>(rows[r].prompt);
    found.measured.push_back({rows[r].cell, base_.prompts[place],
                              values[r].value - untouched[place].value,
                              values[r].placebo - untouched[place].placebo});
  }
  return found;
}

// A vector of normal numbers at every position, scaled to the norm of the change that the cell's
// other edits make to attn_out there; [q m].
at::Tensor ChunkRunner::noise(const Cell& cell, const Edit& edit, const RowRef& row) const {
  const ResumePoint point = {edit.hook.layer, LayerPoint::z};
  const std::vector<RowRef> rows = filled_up({{row.prompt, -1}, {row.prompt, -1}});
  ResumeInput input = {entry_rows({Site::resid_pre, point.layer}, rows),
                       entry_rows({Site::z, point.layer}, rows).clone()};
  Taps taps;
  for (const Edit& other : cell.edits) {
    if (other.source == ValueSource::noise) continue;
    if (is_direct(other, point)) {
      apply_edit(input.z.select(0, 1), other, prompt(row.prompt), base_, row.prompt);
    } else {
      taps.interventions.push_back(
          as_intervention(other, prompt(row.prompt), base_, row.prompt, 1));
    }
  }
  MemorySink keeper({edit.hook});
  taps.observers = {&keeper};
  model_.run_from(point, input, *base_.keys, resume_rows(rows, 0), taps,
                  {.engine = settings_.engine,
                   .logits = {.at = LogitsAt::none},
                   .stop_after_layer = point.layer});
  const at::Tensor out = keeper.values().at(edit.hook).to(at::kDouble);
  const at::Tensor norms = (out[1] - out[0]).norm(2, {-1}, true);  // [q 1]
  const std::int64_t q = out.size(1);
  const std::int64_t m = out.size(2);
  at::Tensor vectors = at::empty({q, m}, at::TensorOptions(at::kDouble));
  const auto prompt_index = base_.prompts[static_cast<std::size_t>(row.prompt)];
  const std::uint64_t stream = (edit.stream << 40U) ^
                               (static_cast<std::uint64_t>(row.cell) << 20U) ^
                               static_cast<std::uint64_t>(prompt_index);
  Philox random(settings_.seed, stream);
  double* values = vectors.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < q * m; ++i) {
    // Box and Muller (1958).
    const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
    values[i] = radius * std::cos(2 * std::numbers::pi * random.uniform());
  }
  vectors = vectors / vectors.norm(2, {-1}, true) * norms.cpu();
  return vectors;
}

// The edits of one row in the layers [point.layer, end): on the input where the run starts with
// what they change, else as interventions.
void ChunkRunner::add_edits(const RowRef& row, int batch_row, ResumePoint point, int end,
                            ResumeInput& input, Taps& taps) const {
  const Cell& cell = cells_[static_cast<std::size_t>(row.cell)];
  const auto is_here = [&](const Edit& edit) {
    return edit.hook.layer >= point.layer && edit.hook.layer < end;
  };
  if (const Edit* random = noise_of(cell)) {
    if (!is_here(*random)) return;
    taps.interventions.push_back({.hook = random->hook,
                                  .operation = Operation::add,
                                  .rows = {batch_row},
                                  .value = noise(cell, *random, row)});
    return;
  }
  for (const Edit& edit : cell.edits) {
    if (!is_here(edit)) continue;
    if (is_direct(edit, point)) {
      const at::Tensor& target = point.point == LayerPoint::z ? input.z : input.residual;
      apply_edit(target.select(0, batch_row), edit, prompt(row.prompt), base_, row.prompt);
    } else {
      taps.interventions.push_back(
          as_intervention(edit, prompt(row.prompt), base_, row.prompt, batch_row));
    }
  }
}

MetricValue ChunkRunner::run_naive(int cell, int place) const {
  const SweepPrompt& of = prompt(place);
  Taps taps;
  if (cell >= 0) {
    const Cell& changes = cells_[static_cast<std::size_t>(cell)];
    if (const Edit* random = noise_of(changes)) {
      taps.interventions = {{.hook = random->hook,
                             .operation = Operation::add,
                             .rows = {0},
                             .value = noise(changes, *random, {place, cell})}};
    } else {
      for (const Edit& edit : changes.edits) {
        taps.interventions.push_back(as_intervention(edit, of, base_, place, 0));
      }
    }
  }
  const Batch batch = make_batch({of.row});
  const MetricReader reader(settings_.metric, {&of.target}, model_.config(), LogitsCoverage::all);
  const RunResult result =
      model_.run(batch, taps, {.engine = settings_.engine, .logits = reader.request()});
  const at::Tensor& compared = base_.compared[static_cast<std::size_t>(place)];
  return reader.read(result, batch, {compared.defined() ? &compared : nullptr})[0];
}

namespace {

// Layers at which rows of a block join, in order, without the first.
template <typename EntryLayer>
std::vector<int> joining_layers(const BlockItem& block, EntryLayer&& entry_layer) {
  std::vector<int> layers;
  for (const RowRef& row : block.rows) {
    if (row.cell < 0 || entry_layer(row) <= block.point.layer) continue;
    if (layers.empty() || layers.back() != entry_layer(row)) layers.push_back(entry_layer(row));
  }
  return layers;
}

}  // namespace

BatchFindings ChunkRunner::run_block(const BlockItem& block) const {
  const int n_layers = model_.config().n_layers;
  const auto entry_layer = [this](const RowRef& row) { return route(row).point.layer; };
  std::vector<int> stops = joining_layers(block, entry_layer);
  stops.push_back(n_layers + 1);  // to the end
  std::vector<RowRef> live;
  std::size_t next = 0;
  for (; next < block.rows.size(); ++next) {
    const RowRef& row = block.rows[next];
    if (row.cell >= 0 && entry_layer(row) > block.point.layer) break;
    live.push_back(row);
  }
  ResumePoint point = block.point;
  ResumeInput input = {entry_rows(input_hook(point), live), {}};
  if (point.point == LayerPoint::z) input.z = entry_rows({Site::z, point.layer}, live);
  for (const int stop : stops) {
    const std::vector<RowRef> refs = filled_up(live);
    input = {filled_up(input.residual, refs.size()), filled_up(input.z, refs.size())};
    Taps taps;
    for (std::size_t r = 0; r < live.size(); ++r) {
      if (live[r].cell < 0) continue;
      add_edits(live[r], static_cast<int>(r), point, stop, input, taps);
    }
    const ResumeRows rows = resume_rows(refs, 0);
    if (stop > n_layers) {
      const MetricReader reader = reader_of(refs);
      const RunResult result =
          model_.run_from(point, input, *base_.keys, rows, taps, options_for(reader));
      return findings(refs, reader, result, resume_batch(base_.keys->batch, rows));
    }
    const auto n_live = static_cast<std::int64_t>(live.size());
    std::vector<at::Tensor> parts = {model_
                                         .run_from(point, input, *base_.keys, rows, taps,
                                                   {.engine = settings_.engine,
                                                    .logits = {.at = LogitsAt::none},
                                                    .stop_after_layer = stop - 1})
                                         .hidden.narrow(0, 0, n_live)};
    for (; next < block.rows.size() && entry_layer(block.rows[next]) == stop; ++next) {
      const auto twin = std::find_if(live.begin(), live.end(), [&](const RowRef& row) {
        return row.cell < 0 && row.prompt == block.rows[next].prompt;
      });
      parts.push_back(parts[0].narrow(0, twin - live.begin(), 1));
      live.push_back(block.rows[next]);
    }
    point = {stop, LayerPoint::resid_pre};
    input = {at::cat(parts), {}};
  }
  return {};
}

// Everything of a layer behind its attention works position by position, and so do q, scores and
// pattern by query: one row with the edit at every position has the changed residual of each cell
// that makes it at one of them.
at::Tensor ChunkRunner::change_of(const Variant& variant, ResumePoint point) const {
  std::vector<RowRef> rows;
  for (int p = 0; p < base_.size(); ++p) rows.push_back({p, -1});
  for (int p = 0; p < base_.size(); ++p) rows.push_back({p, 0});
  rows = filled_up(std::move(rows));
  ResumeInput input = {entry_rows(input_hook(point), rows), {}};
  if (point.point == LayerPoint::z) input.z = entry_rows({Site::z, point.layer}, rows);
  Taps taps;
  for (int p = 0; p < base_.size(); ++p) {
    const int batch_row = base_.size() + p;
    for (const Edit& edit : variant.edits) {
      if (is_direct(edit, point)) {
        const at::Tensor& target = point.point == LayerPoint::z ? input.z : input.residual;
        apply_edit(target.select(0, batch_row), edit, prompt(p), base_, p);
      } else {
        taps.interventions.push_back(as_intervention(edit, prompt(p), base_, p, batch_row));
      }
    }
  }
  const bool only_input = point.point == LayerPoint::resid_pre && taps.interventions.empty();
  const at::Tensor out = only_input
                             ? input.residual
                             : model_
                                   .run_from(point, input, *base_.keys, resume_rows(rows, 0), taps,
                                             {.engine = settings_.engine,
                                              .logits = {.at = LogitsAt::none},
                                              .stop_after_layer = point.layer})
                                   .hidden;
  const at::Tensor change =
      out.narrow(0, base_.size(), base_.size()) - out.narrow(0, 0, base_.size());
  // A patched infinity or NaN must stay one.
  return change;
}

void ChunkRunner::run_variants() {
  for (const Variant& variant : work_.variants) {
    changes_.push_back(change_of(variant, variant.point));
  }
}

// One walk through the layers. Live rows run together; a cell joins at the layer that first reads
// its change, as a copy of the untouched row with one position changed.
BatchFindings ChunkRunner::run_wave(const WaveItem& wave) const {
  const int n_layers = model_.config().n_layers;
  const int start = route(wave.rows.front()).enters;
  std::vector<RowRef> live;
  for (const RowRef& row : wave.rows) {
    const bool known = std::any_of(live.begin(), live.end(), [&](const RowRef& untouched) {
      return untouched.prompt == row.prompt;
    });
    if (!known) live.push_back({row.prompt, -1});
  }
  const std::size_t n_untouched = live.size();
  const bool post = model_.config().placement == NormPlacement::post;
  const HookId start_hook =
      start < n_layers
          ? HookId{Site::resid_pre, start}
          : HookId{post ? Site::normalized_resid_post : Site::resid_post, n_layers - 1};
  at::Tensor residual = entry_rows(start_hook, live);
  residual = residual.narrow(1, wave.first, base_.length - wave.first).contiguous();

  std::size_t next = 0;
  for (int layer = start;; ++layer) {
    std::vector<at::Tensor> parts = {residual};
    for (; next < wave.rows.size() && route(wave.rows[next]).enters == layer; ++next) {
      const RowRef& row = wave.rows[next];
      const auto twin =
          std::find_if(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(n_untouched),
                       [&](const RowRef& untouched) { return untouched.prompt == row.prompt; });
      at::Tensor joined = residual.select(0, twin - live.begin()).clone();
      const int position = route(row).position;
      joined.select(0, position - wave.first)
          .add_(changes_[static_cast<std::size_t>(route(row).variant)]
                    .select(0, row.prompt)
                    .select(0, position));
      parts.push_back(joined.unsqueeze(0));
      live.push_back(row);
    }
    const std::vector<RowRef> refs = filled_up(live);
    if (refs.size() > live.size()) {
      const auto pads = static_cast<std::int64_t>(refs.size() - live.size());
      parts.push_back(residual.narrow(0, 0, 1).expand({pads, -1, -1}));
    }
    if (parts.size() > 1) residual = at::cat(parts);
    const ResumeRows rows = resume_rows(refs, wave.first);
    const ResumePoint point = {layer, LayerPoint::resid_pre};
    if (layer < n_layers - 1) {
      residual = model_
                     .run_from(point, {.residual = residual, .z = {}}, *base_.keys, rows, {},
                               {.engine = settings_.engine,
                                .logits = {.at = LogitsAt::none},
                                .stop_after_layer = layer})
                     .hidden.narrow(0, 0, static_cast<std::int64_t>(live.size()));
      continue;
    }
    const MetricReader reader = reader_of(refs);
    const RunResult result = model_.run_from(point, {.residual = residual, .z = {}}, *base_.keys,
                                             rows, {}, options_for(reader));
    return findings(refs, reader, result, resume_batch(base_.keys->batch, rows));
  }
}

std::vector<Measured> ChunkRunner::unreachable() const {
  std::vector<Measured> rest;
  if (!is_causal(model_.config())) return rest;
  for (int p = 0; p < base_.size(); ++p) {
    const int last = last_read(prompt(p));
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const CellRoute& route = work_.routes[i];
      if (route.route == Route::wave && route.position > last && exists_on(cells_[i], prompt(p))) {
        rest.push_back({static_cast<int>(i), base_.prompts[static_cast<std::size_t>(p)], 0, 0});
      }
    }
  }
  return rest;
}

}  // namespace attnscope
