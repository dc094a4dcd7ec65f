#include "console/verdict_text.h"

#include <algorithm>
#include <vector>

#include "attnscope/render/effect_view.h"
#include "attnscope/render/experiment_view.h"
#include "attnscope/support/text.h"
#include "console/effect_text.h"
#include "console/interval_text.h"
#include "console/output.h"
#include "console/table.h"
#include "console/wrap.h"

namespace attnscope::console {
namespace {

constexpr std::size_t kRows = 15;
constexpr int kDigits = 3;
constexpr int kMass = 0;  // the first attention measure

std::string verdict_of(const EffectView& table, int cell) {
  const auto level = table.verdict(cell);
  return std::string(level ? verdict_name(*level) : kNone) +
         (table.is_marked("unspecific", cell) ? ", unspecific" : "");
}

// `noun` is what the units are, in the plural.
std::string table_of(const ExperimentRecord& record, const std::string& noun, int width) {
  const EffectView table(record);
  std::vector<int> cells = table.by_largest_effect();
  cells.resize(std::min(cells.size(), kRows));
  std::vector<Table::Column> columns = {{"unit"}};
  if (table.measures() > 0) columns.push_back({safe(table.measure_name(kMass)), Align::right});
  for (int m = 0; m < table.methods(); ++m) {
    columns.push_back({safe(table.method_name(m)), Align::right});
  }
  columns.push_back({"direct", Align::right});
  const bool verdicts = record.integer("verdict") != nullptr;
  if (verdicts) columns.push_back({"verdict"});
  Table text(columns);
  for (const int cell : cells) {
    Table::Row row = {safe(table.cell_name(cell))};
    if (table.measures() > 0) row.push_back(number_text(table.attention(kMass, cell), kDigits));
    for (int m = 0; m < table.methods(); ++m) {
      row.push_back(number_text(table.effect(m, cell), kDigits));
    }
    row.push_back(number_text(table.number("direct", 0, cell), kDigits));
    if (verdicts) row.push_back(verdict_of(table, cell));
    text.add(std::move(row));
  }
  const auto all = static_cast<std::size_t>(table.cells());
  const std::string which = all > cells.size() ? "The " + std::to_string(cells.size()) +
                                                     " strongest of " + std::to_string(all) + " "
                                               : "All " + std::to_string(all) + " ";
  return wrapped(which + noun +
                     ", by the largest |effect| over methods: the effect under each method; "
                     "direct: the part of the effect of " +
                     safe(table.method_name(0)) + " that passes through no later layer:\n",
                 width) +
         text.text() + wrapped(interval_reasons(table), width);
}

// Every measure with every method.
std::string ranks_of(const ExperimentRecord& record, int width) {
  const EffectView table(record);
  if (table.measures() == 0 || record.array("rank_correlation") == nullptr) return "";
  Table text({{"measure"},
              {"|effect| of"},
              {"τ-b", Align::right},
              {"95 % interval"},
              {"p", Align::right}});
  for (int m = 0; m < table.methods(); ++m) {
    for (int a = 0; a < table.measures(); ++a) {
      text.add({safe(table.measure_name(a)), safe(table.method_name(m)),
                number_text(table.by_measure("rank_correlation", m, a), kDigits),
                interval_text(table.by_measure("rank_correlation_low", m, a),
                              table.by_measure("rank_correlation_high", m, a)),
                p_text(table.by_measure("rank_correlation_p", m, a), table.smallest_rank_p(m, a))});
    }
  }
  return "\n" +
         wrapped(
             "Rank correlation of attention with |effect|, within layers; the interval is by "
             "drawing groups of prompts again, p by shuffling units within layers:\n",
             width) +
         text.text();
}

// Under the tables, which are of different prompts.
std::string prompts_of(const ExperimentRecord& record, int width) {
  const std::string prompts = prompts_used(EffectView(record));
  return prompts.empty() ? "" : "\n" + wrapped(prompts + "\n", width);
}

std::string controls_of(const ExperimentRecord& record, int width) {
  const NamedTexts* names = record.text("controls");
  const NamedTexts* results = record.text("control_results");
  const NamedTexts* details = record.text("control_details");
  if (names == nullptr || results == nullptr || details == nullptr) return "";
  Table text({{"control"}, {"result"}, {"what it says"}});
  for (std::size_t i = 0; i < names->values.size(); ++i) {
    text.add({safe(names->values[i]), safe(results->values[i]), safe(details->values[i])});
  }
  return text.text(width);
}

// The paragraph says why a verdict is withheld, too.
std::string finding_of(const ExperimentRecord& record, int width) {
  const std::string paragraph = joined_texts(record, "paragraph");
  return wrapped(paragraph.empty() ? joined_texts(record, "withheld") : paragraph, width);
}

std::string written_of(const ExperimentResult& result) {
  if (result.path.empty()) return "";
  const std::string report = result.html.empty() ? "" : " and " + safe(result.html);
  return "Wrote " + safe(result.path) + report + ".\nNext: attnscope export " +
         shell_path(result.path) + " --figure scatter -o figure.svg\n";
}

}  // namespace

std::string verdict_text(const ExperimentResult& result, int columns) {
  const ExperimentRecord& record = result.record;
  std::string text = finding_of(record, columns) + "\n" + heading_text(result) + "\n" +
                     table_of(record, "heads", columns) + ranks_of(record, columns) +
                     prompts_of(record, columns);
  for (const ExperimentRecord& further : result.further_records) {
    text += "\n" + finding_of(further, columns) + table_of(further, "key-value heads", columns) +
            ranks_of(further, columns) + prompts_of(further, columns);
  }
  text += "\n" + controls_of(record, columns) + "\n" + checks_text(result);
  return text + (result.path.empty() ? "--json prints" : "--json and the file hold") +
         " every unit, with intervals.\n" + written_of(result);
}

}  // namespace attnscope::console
