#include "console/interval_text.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "attnscope/stats/bootstrap.h"
#include "attnscope/support/text.h"

namespace attnscope::console {
namespace {

std::optional<IntervalKind> kind_of(const EffectView& table, int method, int cell) {
  const auto code = table.integer("interval_kind", method, cell);
  return code ? interval_kind(*code) : std::nullopt;
}

// The effects of one kind, and the least and most groups of prompts that they are from.
struct KindCount {
  std::uint64_t effects = 0;
  std::int64_t least = -1;
  std::int64_t most = -1;
};

KindCount count_kind(const EffectView& table, IntervalKind kind) {
  KindCount count;
  for (int method = 0; method < table.methods(); ++method) {
    for (int cell = 0; cell < table.cells(); ++cell) {
      if (kind_of(table, method, cell) != kind) continue;
      ++count.effects;
      const auto groups = table.integer("groups", method, cell);
      if (!groups) continue;
      count.least = count.least < 0 ? *groups : std::min(count.least, *groups);
      count.most = std::max(count.most, *groups);
    }
  }
  return count;
}

std::string groups_text(const KindCount& count) {
  if (count.least < 0) return "too few groups of prompts";
  const std::string most = count_of(static_cast<std::uint64_t>(count.most), "group");
  return (count.least < count.most ? std::to_string(count.least) + " to " : "") + most +
         " of prompts";
}

std::string reason(IntervalKind kind, const KindCount& count, const std::string& of_all) {
  switch (kind) {
    case IntervalKind::missing:
      return "No number for " + of_all + ": it is NaN, or no prompt could be measured.\n";
    case IntervalKind::too_few_clusters:
      return "No interval and no p for " + of_all + ": " + groups_text(count) + ", at least " +
             std::to_string(kMinClusters) +
             " are needed (a prompt without a group is one of its own).\n";
    case IntervalKind::point:
      return "No spread in " + of_all +
             ": every group of prompts has the same effect, so the interval is that point.\n";
    case IntervalKind::few_clusters:
      return "* A few groups of prompts carry " + of_all +
             ": the interval is cut to what the groups show and is a rough bound, and there is no "
             "simultaneous one.\n";
    case IntervalKind::regular:
      break;
  }
  return "";
}

// Whether some effect has all of these numbers.
bool has_together(const EffectView& table, std::initializer_list<const char*> arrays) {
  for (int method = 0; method < table.methods(); ++method) {
    for (int cell = 0; cell < table.cells(); ++cell) {
      if (std::all_of(arrays.begin(), arrays.end(), [&](const char* array) {
            return std::isfinite(table.number(array, method, cell));
          })) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

std::string interval_mark(const EffectView& table, int method, int cell) {
  return kind_of(table, method, cell) == IntervalKind::few_clusters ? "*" : "";
}

std::string interval_reasons(const EffectView& table) {
  const auto all =
      static_cast<std::uint64_t>(table.methods()) * static_cast<std::uint64_t>(table.cells());
  std::string text;
  for (const IntervalKind kind : kIntervalKinds) {
    const KindCount count = count_kind(table, kind);
    if (count.effects == 0) continue;
    text += reason(kind, count, std::to_string(count.effects) + " of " + count_of(all, "effect"));
  }
  return text;
}

std::string interval_notes(const EffectView& table) {
  std::string text = interval_reasons(table);
  if (has_together(table, {"minimal_detectable"})) {
    const bool one_for_all =
        table.methods() > 1 &&
        table.record().array("minimal_detectable")->dims == std::vector<std::string>{"cell"};
    text +=
        "could be seen: the smallest effect that a test of this unit alone would find in four "
        "of five such runs" +
        std::string(one_for_all ? "; one number a unit, the largest over methods" : "") + ".\n";
  }
  if (!has_together(table, {"ci_low", "p"})) return text;
  return text +
         "The interval is of one unit alone, by drawing groups again; p is by turning their signs "
         "at "
         "random.\nNear the edge one may exclude 0 and the other not: leave such an effect open. p "
         "adjusted holds for\nall units of a table at once, and so do the simultaneous intervals "
         "in "
         "--json and in the file.\n";
}

}  // namespace attnscope::console
