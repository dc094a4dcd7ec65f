#include "attnscope/render/experiment_view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "csv.h"

namespace attnscope {

using render::csv_field;

namespace {

constexpr int kPromptsCompared = 64;

// Intervals that a figure shows: simultaneous where there are any.
struct IntervalNames {
  const char* low;
  const char* high;
};
constexpr const char* kSimultaneousLow = "ci_sim_low";

IntervalNames interval_of(const ExperimentRecord& record) {
  return record.array(kSimultaneousLow) != nullptr ? IntervalNames{kSimultaneousLow, "ci_sim_high"}
                                                   : IntervalNames{"ci_low", "ci_high"};
}

[[noreturn]] void fail_figure(const EffectView& table, const std::string& needs,
                              const std::string& next) {
  throw Error(ErrorKind::input, "RN09",
              {.where = "experiment " + quote(table.record().name),
               .what = "this figure cannot be drawn of it",
               .expected = needs,
               .got = count_of(static_cast<std::uint64_t>(table.cells()), "cell") + " such as " +
                      (table.cells() > 0 ? quote(table.cell_name(0)) : "none"),
               .next = next});
}

bool has_effects(const ExperimentRecord& record) {
  return record.array("effect") != nullptr && record.text("cells") != nullptr &&
         record.text("methods") != nullptr;
}

// A table of rows by layer and columns by head or position.
struct Places {
  std::vector<int> layers, columns;
};

template <typename ColumnOf, typename Wanted>
Places places_of(const EffectView& table, const ColumnOf& column_of, const Wanted& wanted) {
  std::set<int> layers, columns;
  for (int cell = 0; cell < table.cells(); ++cell) {
    if (!wanted(cell)) continue;
    layers.insert(static_cast<int>(table.layer(cell)));
    columns.insert(static_cast<int>(column_of(cell)));
  }
  return {{layers.begin(), layers.end()}, {columns.begin(), columns.end()}};
}

std::size_t index_of(const std::vector<int>& sorted, std::int64_t value) {
  return static_cast<std::size_t>(
      std::lower_bound(sorted.begin(), sorted.end(), static_cast<int>(value)) - sorted.begin());
}

// The values of the wanted cells at their places; of several at one place the largest.
template <typename ColumnOf, typename Wanted, typename ValueOf>
HeatMap map_of(const EffectView& table, const ColumnOf& column_of, const Wanted& wanted,
               const ValueOf& value_of) {
  const Places places = places_of(table, column_of, wanted);
  HeatMap map;
  map.rows = static_cast<int>(places.layers.size());
  map.columns = static_cast<int>(places.columns.size());
  map.values.assign(places.layers.size() * places.columns.size(),
                    std::numeric_limits<float>::quiet_NaN());
  for (int cell = 0; cell < table.cells(); ++cell) {
    if (!wanted(cell)) continue;
    float& kept = map.values[index_of(places.layers, table.layer(cell)) * places.columns.size() +
                             index_of(places.columns, column_of(cell))];
    const auto value = static_cast<float>(value_of(cell));
    if (std::isnan(kept) || std::fabs(value) > std::fabs(kept)) kept = value;
  }
  for (const int layer : places.layers) map.row_labels.push_back(std::to_string(layer));
  map.row_positions = places.layers;
  map.column_positions = places.columns;
  map.row_title = "layer";
  return map;
}

// Effects have a sign: zero is the middle of the colours, whatever the values.
void show_effects(HeatMap& map, const EffectView& table) {
  map.value_name = "effect on " + table.record().metric;
  double largest = 0;
  for (const float value : map.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  }
  if (largest == 0) largest = 1;
  map.scale = Scale{-largest, largest, ColorMap::diverging};
}

bool is_head(const EffectView& table, int cell, const std::string& kind) {
  return table.layer(cell) >= 0 && table.head(cell) >= 0 && table.position(cell) < 0 &&
         table.kind(cell) == kind;
}

// Heads and kv groups of one file are different units: the kind of the first one is drawn.
std::string head_kind(const EffectView& table) {
  for (int cell = 0; cell < table.cells(); ++cell) {
    if (is_head(table, cell, table.kind(cell))) return table.kind(cell);
  }
  fail_figure(table, "one effect for each head", "try --figure patch-map, or --format csv");
}

void label_heads(HeatMap& map, const std::string& kind) {
  for (const int head : map.column_positions) map.column_labels.push_back(std::to_string(head));
  map.column_title = kind.empty() ? "head" : kind + " group";
  map.cell_text = CellText::numbers;
}

PointMark mark_of(std::optional<VerdictLevel> verdict) {
  if (!verdict) return PointMark::plain;
  switch (*verdict) {
    case VerdictLevel::causal:
      return PointMark::causal;
    case VerdictLevel::no_effect:
      return PointMark::no_effect;
    case VerdictLevel::undetermined:
    case VerdictLevel::backed_up:
      break;
  }
  return PointMark::undetermined;
}

std::string csv_number(double value) {
  return std::isnan(value) ? "" : format_number(value);
}

// Columns of numbers by method and cell, those of them that the record has.
std::vector<std::string> number_columns(const ExperimentRecord& record) {
  std::vector<std::string> names;
  for (const char* name : {"effect", "ci_low", "ci_high", "ci_sim_low", "ci_sim_high", "p",
                           "p_adjusted", "minimal_detectable", "direct", "placebo", "recovery"}) {
    if (record.array(name) != nullptr) names.emplace_back(name);
  }
  return names;
}

// What an effect and its interval rest on.
std::vector<std::string> integer_columns(const ExperimentRecord& record) {
  std::vector<std::string> names;
  for (const char* name : {"groups", "interval_kind"}) {
    if (record.integer(name) != nullptr) names.emplace_back(name);
  }
  return names;
}

}  // namespace

ExperimentRecord find_experiment(const CaptureReader& file, const std::string& name) {
  std::vector<ExperimentRecord> records = file.experiments();
  std::vector<std::string> names;
  for (ExperimentRecord& record : records) {
    names.push_back(record.name);
    const bool wanted = name.empty() ? has_effects(record) : record.name == name;
    if (wanted) return std::move(record);
  }
  throw Error(
      ErrorKind::input, "RN08",
      {.where = escape_untrusted(file.path(), 4096),
       .what = name.empty() ? "the file holds no experiment with effects"
                            : "the file holds no experiment " + quote(name),
       .expected = "a file of ablate, patch or verdict",
       .got = names.empty() ? std::string("a file of kind ") + file_kind_name(file.file().kind)
                            : "experiments " + escape_untrusted(join(names, ", "), 300)});
}

std::string prompts_used(const EffectView& table) {
  const ExperimentRecord& record = table.record();
  const auto all = record.integer_attribute("prompts");
  const auto measured = record.integer_attribute("estimation_prompts");
  if (!all || !measured) return "";
  const bool verdicts = record.integer("verdict") != nullptr;
  std::string subject = "Effects";
  if (table.measures() > 0) subject += verdicts ? ", attention" : " and attention";
  if (verdicts) subject += " and verdicts";
  const bool ranks = record.array("rank_correlation") != nullptr;
  const std::string which =
      std::to_string(*measured) + (ranks ? "" : " of " + std::to_string(*all));
  return subject + " are of the " + which + " prompts that nothing was chosen on" +
         (ranks ? ", rank correlations of all " + std::to_string(*all) : "") + ".";
}

std::vector<std::string> experiment_caption(const CaptureReader& file, const EffectView& table,
                                            int method) {
  const ModelInfo model = file.model();
  std::vector<std::string> lines{"model: " + model.name + " (" + model.family + ")"};
  if (file.prompts() > 0) {
    const std::string text = file.prompt(0).text;
    lines.push_back(count_of(static_cast<std::uint64_t>(file.prompts()), "prompt") +
                    (text.empty() ? "" : ", the first: " + text));
  }
  std::int64_t least = -1, most = -1;
  for (int cell = 0; cell < table.cells(); ++cell) {
    const std::int64_t n = table.n(method, cell);
    if (n < 0) continue;
    least = least < 0 ? n : std::min(least, n);
    most = std::max(most, n);
  }
  std::string line = "metric: " + table.record().metric + "; method: " + table.method_name(method);
  if (most >= 0) {
    line += "; n = " + std::to_string(least);
    if (least != most) line += " to " + std::to_string(most);
  }
  lines.push_back(std::move(line));
  if (std::string prompts = prompts_used(table); !prompts.empty()) {
    lines.push_back(std::move(prompts));
  }
  return lines;
}

HeatMap effect_grid(const EffectView& table, int method) {
  const std::string kind = head_kind(table);
  HeatMap map = map_of(
      table, [&](int cell) { return table.head(cell); },
      [&](int cell) { return is_head(table, cell, kind); },
      [&](int cell) { return table.effect(method, cell); });
  label_heads(map, kind);
  map.title = "effect of every " + map.column_title + " (" + table.method_name(method) + ")";
  show_effects(map, table);
  return map;
}

HeatMap attention_grid(const EffectView& table, int measure) {
  const std::string kind = head_kind(table);
  HeatMap map = map_of(
      table, [&](int cell) { return table.head(cell); },
      [&](int cell) { return is_head(table, cell, kind); },
      [&](int cell) { return table.attention(measure, cell); });
  label_heads(map, kind);
  map.title = table.measure_name(measure) + " of every " + map.column_title;
  map.value_name = table.measure_name(measure);
  return map;
}

HeatMap patch_map(const EffectView& table, int method, const std::vector<std::string>& tokens) {
  const auto wanted = [&](int cell) { return table.layer(cell) >= 0 && table.position(cell) >= 0; };
  bool found = false;
  for (int cell = 0; cell < table.cells(); ++cell) found |= wanted(cell);
  if (!found) {
    fail_figure(table, "one effect for each layer and position", "try --figure grid");
  }
  HeatMap map = map_of(
      table, [&](int cell) { return table.position(cell); }, wanted,
      [&](int cell) { return table.effect(method, cell); });
  show_effects(map, table);
  for (const int position : map.column_positions) {
    const auto at = static_cast<std::size_t>(position);
    const std::string token = at < tokens.size() ? tokens[at] : "";
    // Beside tokens a bare number would look like one.
    const std::string number = (tokens.empty() ? "" : "@") + std::to_string(position);
    map.column_labels.push_back(token.empty() ? number : token);
  }
  map.column_title = "position";
  map.title = "effect by layer (rows) and position (columns), " + table.method_name(method);
  return map;
}

std::vector<std::string> common_tokens(const CaptureReader& file) {
  std::vector<std::string> common;
  for (int prompt = 0; prompt < std::min(file.prompts(), kPromptsCompared); ++prompt) {
    const std::vector<std::string> tokens = file.prompt(prompt).tokens.text;
    if (prompt == 0) common = tokens;
    common.resize(std::min(common.size(), tokens.size()));
    for (std::size_t i = 0; i < common.size(); ++i) {
      if (common[i] != tokens[i]) common[i].clear();
    }
  }
  return common;
}

ScatterPlot attention_scatter(const EffectView& table, int measure, int method) {
  if (table.measures() == 0) {
    fail_figure(table, "attention measures beside the effects", "draw the file of a verdict");
  }
  const IntervalNames interval = interval_of(table.record());
  ScatterPlot plot;
  for (int cell = 0; cell < table.cells(); ++cell) {
    plot.points.push_back({.x = table.attention(measure, cell),
                           .y = table.effect(method, cell),
                           .low = table.number(interval.low, method, cell),
                           .high = table.number(interval.high, method, cell),
                           .mark = mark_of(table.verdict(cell)),
                           .label = table.cell_name(cell)});
  }
  plot.band = table.record().number_attribute("delta");
  if (table.record().array(kSimultaneousLow) != nullptr) plot.bars += " that hold for all at once";
  plot.title = "attention against effect";
  plot.x_title = table.measure_name(measure);
  plot.y_title = "effect on " + table.record().metric + " (" + table.method_name(method) + ")";
  return plot;
}

std::string to_csv(const EffectView& table) {
  const std::vector<std::string> numbers = number_columns(table.record());
  std::string csv = "cell,layer,head,position,method";
  for (const std::string& name : numbers) csv += "," + name;
  const std::vector<std::string> integers = integer_columns(table.record());
  csv += ",n";
  for (const std::string& name : integers) csv += "," + name;
  csv += ",verdict";
  for (int m = 0; m < table.measures(); ++m) csv += "," + csv_field(table.measure_name(m));
  csv += "\r\n";
  const auto index = [](std::int64_t value) { return value < 0 ? "" : std::to_string(value); };
  for (int cell = 0; cell < table.cells(); ++cell) {
    for (int method = 0; method < table.methods(); ++method) {
      csv += csv_field(table.cell_name(cell)) + "," + index(table.layer(cell)) + "," +
             index(table.head(cell)) + "," + index(table.position(cell)) + "," +
             csv_field(table.method_name(method));
      for (const std::string& name : numbers) {
        csv += "," + csv_number(table.number(name, method, cell));
      }
      const auto verdict = table.verdict(cell);
      csv += "," + index(table.n(method, cell));
      for (const std::string& name : integers) {
        const auto value = table.integer(name, method, cell);
        csv += "," + (value ? std::to_string(*value) : "");
      }
      csv += "," + (verdict ? csv_field(verdict_name(*verdict)) : "");
      for (int m = 0; m < table.measures(); ++m) csv += "," + csv_number(table.attention(m, cell));
      csv += "\r\n";
    }
  }
  return csv;
}

}  // namespace attnscope
