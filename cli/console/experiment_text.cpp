#include "console/experiment_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attnscope/render/effect_view.h"
#include "attnscope/render/experiment_view.h"
#include "attnscope/support/text.h"
#include "console/effect_text.h"
#include "console/interval_text.h"
#include "console/output.h"
#include "console/position_text.h"
#include "console/run_text.h"
#include "console/table.h"

namespace attnscope::console {
namespace {

constexpr int kRows = 15;          // of a table of effects
constexpr int kMostColumns = 128;  // of a grid: heads have fewer, neurons have more

// "recovery" and the like: further numbers that a table shows where they are there.
struct ExtraColumn {
  const char* array;
  const char* title;
};
constexpr ExtraColumn kExtraColumns[] = {
    {"recovery", "recovery"}, {"direct", "direct"}, {"minimal_detectable", "could be seen"}};

bool has_values(const EffectView& table, const char* array, int method) {
  for (int cell = 0; cell < table.cells(); ++cell) {
    if (std::isfinite(table.number(array, method, cell))) return true;
  }
  return false;
}

// What the numbers of a method are.
std::string effect_title(const EffectView& table, int method) {
  if (table.record().name != "interactions") return "effect";
  return table.method_name(method) == "joint" ? "joint effect" : table.method_name(method);
}

std::string table_of(const EffectView& table, int method, const std::vector<int>& cells) {
  std::vector<Table::Column> columns = {{"unit"},
                                        {effect_title(table, method), Align::right},
                                        {"95 % interval"},
                                        {"p", Align::right},
                                        {"p adjusted", Align::right},
                                        {"n", Align::right}};
  std::vector<ExtraColumn> extra;
  for (const ExtraColumn& column : kExtraColumns) {
    if (!has_values(table, column.array, method)) continue;
    extra.push_back(column);
    columns.push_back({column.title, Align::right});
  }
  const bool verdicts = table.record().integer("verdict") != nullptr;
  if (verdicts) columns.push_back({"verdict"});
  Table text(columns);
  const double smallest = table.smallest_p();
  for (const int cell : cells) {
    const std::int64_t n = table.n(method, cell);
    Table::Row row = {
        safe(table.cell_name(cell)),
        number_text(table.effect(method, cell)),
        interval_text(table.number("ci_low", method, cell), table.number("ci_high", method, cell)) +
            interval_mark(table, method, cell),
        p_text(table.number("p", method, cell), smallest),
        p_text(table.number("p_adjusted", method, cell), smallest),
        n < 0 ? kNone : std::to_string(n)};
    for (const ExtraColumn& column : extra) {
      row.push_back(number_text(table.number(column.array, method, cell)));
    }
    if (verdicts) {
      const auto level = table.verdict(cell);
      row.push_back(std::string(level ? verdict_name(*level) : kNone) +
                    (table.is_marked("unspecific", cell) ? ", unspecific" : ""));
    }
    text.add(std::move(row));
  }
  return text.text();
}

// Whether all units of the table are heads, or places of a layer, one each.
bool all_cells(const EffectView& table, bool with_head, bool with_position) {
  for (int cell = 0; cell < table.cells(); ++cell) {
    if (table.layer(cell) < 0 || (table.head(cell) >= 0) != with_head ||
        (table.position(cell) >= 0) != with_position) {
      return false;
    }
  }
  return table.cells() > 1;
}

// All effects as a grid of colours; empty where the units fill none.
std::string grid_of(const EffectView& table, int method, const TerminalStyle& style) {
  if (all_cells(table, true, false)) {
    const HeatMap map = effect_grid(table, method);
    if (map.columns > kMostColumns) return "";
    if (map.column_positions.back() + 1 != map.columns) return terminal_heat_map(map, style);
    HeadGrid grid{.statistic = "effect of " + safe(table.method_name(method)),
                  .layers = map.row_positions,
                  .heads = map.columns,
                  .values = map.values};
    return terminal_head_grid(grid, style);
  }
  if (all_cells(table, false, true) || all_cells(table, true, true)) {
    return terminal_heat_map(patch_map(table, method, {}), style);
  }
  return "";
}

std::string method_text(const EffectView& table, int method, int rows, const TerminalStyle& style) {
  std::vector<int> cells = table.by_effect(method);
  put_rare_last(table, method, cells);
  const std::size_t all = cells.size();
  cells.resize(std::min(all, static_cast<std::size_t>(rows)));
  std::string text = safe(table.method_name(method)) + ": ";
  text += all > cells.size()
              ? "the " + std::to_string(rows) + " largest of " + count_of(all, "effect")
              : count_of(all, "effect");
  text += "\n" + table_of(table, method, cells);
  const std::string grid = grid_of(table, method, style);
  return grid.empty() ? text : text + "\n" + grid;
}

// Methods that this verb knows and that were not asked for.
std::string methods_not_run(const EffectView& table) {
  std::vector<std::string> missing;
  for (const char* name : {"zero", "mean", "mean-pos", "resample", "optimal"}) {
    bool run = false;
    for (int m = 0; m < table.methods(); ++m) run = run || table.method_name(m).starts_with(name);
    if (!run) missing.emplace_back(name);
  }
  if (missing.empty() || table.record().kind != "ablate") return "";
  return "Other methods: not run (" + join(missing, ", ") + ").\n";
}

// What `export` can draw of it.
const char* figure_of(const EffectView& table) {
  if (table.measures() > 0) return "scatter";
  return all_cells(table, false, true) ? "patch-map" : "grid";
}

template <typename Named>
void list_axes(const std::vector<Named>& arrays, std::string& text) {
  for (const Named& array : arrays) {
    std::vector<std::string> axes;
    for (std::size_t a = 0; a < array.dims.size(); ++a) {
      axes.push_back(array.dims[a] + " " + std::to_string(array.shape[a]));
    }
    text += "  " + safe(array.name) + " [" + safe(join(axes, ", ")) + "]\n";
  }
}

}  // namespace

std::string record_text(const ExperimentRecord& record, int rows, const TerminalStyle& style) {
  std::string text = joined_texts(record, "paragraph");
  text += record_title(record) + ": metric " + safe(record.metric) + ", noise floor " +
          number_text(record.noise_floor, 2) + "\n";
  if (record.array("effect") != nullptr) text += meaning_text(record);
  if (record.array("effect") == nullptr) {
    list_axes(record.arrays, text);
    list_axes(record.integers, text);
    list_axes(record.texts, text);
    return text;
  }
  const EffectView table(record);
  for (int method = 0; method < table.methods(); ++method) {
    text += "\n" + method_text(table, method, rows, style);
  }
  std::string notes = position_notes(table) + interval_notes(table);
  if (const std::string prompts = prompts_used(table); !prompts.empty()) notes += prompts + "\n";
  notes += joined_texts(record, "notes");
  return notes.empty() ? text : text + "\n" + notes;
}

std::string experiment_text(const ExperimentResult& result, const TerminalStyle& style) {
  const EffectView table(result.record);
  std::string text = heading_text(result);
  for (int method = 0; method < table.methods(); ++method) {
    text += "\n" + method_text(table, method, kRows, style);
  }
  for (const ExperimentRecord& record : result.further_records) {
    const EffectView further(record);
    text += "\n" + record_title(record) + ":\n";
    for (int method = 0; method < further.methods(); ++method) {
      text += method_text(further, method, kRows, style);
    }
  }
  text += "\n";
  text += position_notes(table) + interval_notes(table) + methods_not_run(table) +
          joined_texts(result.record, "notes") + checks_text(result);
  if (!result.path.empty()) {
    text += "Wrote " + safe(result.path) + ".\nNext: attnscope export " + shell_path(result.path) +
            " --figure " + figure_of(table) + " -o figure.svg\n";
  }
  return text;
}

}  // namespace attnscope::console
