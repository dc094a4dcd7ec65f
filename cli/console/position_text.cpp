#include "console/position_text.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "attnscope/support/text.h"

namespace attnscope::console {
namespace {

std::int64_t prompts_of(const EffectView& table, int method, int cell) {
  return table.integer("n", method, cell).value_or(0);
}

std::int64_t most_prompts(const EffectView& table, int method) {
  std::int64_t most = 0;
  for (int cell = 0; cell < table.cells(); ++cell) {
    most = std::max(most, prompts_of(table, method, cell));
  }
  return most;
}

// "position 17 is in 45 of 60 prompts".
std::string share(int position, std::int64_t prompts, std::int64_t all) {
  return "position " + std::to_string(position) + " is in " + std::to_string(prompts) + " of " +
         count_of(static_cast<std::uint64_t>(all), "prompt");
}

}  // namespace

void put_rare_last(const EffectView& table, int method, std::vector<int>& cells) {
  const std::int64_t most = most_prompts(table, method);
  std::stable_partition(cells.begin(), cells.end(), [&](int cell) {
    return table.position(cell) < 0 || 2 * prompts_of(table, method, cell) >= most;
  });
}

std::string position_notes(const EffectView& table) {
  if (table.methods() == 0) return "";
  std::map<int, std::int64_t> prompts;
  for (int cell = 0; cell < table.cells(); ++cell) {
    const int position = table.position(cell);
    if (position < 0) continue;
    prompts[position] = std::max(prompts[position], prompts_of(table, 0, cell));
  }
  const std::int64_t all = most_prompts(table, 0);
  // None where nothing could be measured says nothing of lengths.
  std::erase_if(prompts,
                [&](const auto& entry) { return entry.second == all || entry.second == 0; });
  if (prompts.empty()) return "";
  const auto& [first, first_prompts] = *prompts.begin();
  const auto& [last, last_prompts] = *prompts.rbegin();
  std::string text = "Prompts differ in length: " + share(first, first_prompts, all);
  if (last != first)
    text += ", position " + std::to_string(last) + " in " + std::to_string(last_prompts);
  return text + ". Such columns mix the last tokens of some prompts\n" +
         "with earlier ones of others, and stand last in the table where fewer than half have " +
         "them. To compare\nlike with like: --positions last, or the name of a column that holds " +
         "words of the prompt.\n";
}

}  // namespace attnscope::console
