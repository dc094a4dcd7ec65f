#include "attnscope/probes/cell_positions.h"

#include <algorithm>
#include <set>

#include "attnscope/sites/selectors.h"
#include "attnscope/support/text.h"

namespace attnscope {
namespace {

// The positions of one part on every prompt.
using Places = std::vector<std::vector<int>>;

// "3", "5-7" and "*", whose positions are cells of their own.
bool is_number_or_range(std::string_view part) {
  return part == "*" || part == "all" || (!part.empty() && part[0] >= '0' && part[0] <= '9');
}

Places places_of(std::string_view part, const ExperimentInputs& inputs, std::string_view option) {
  Places places;
  for (const EncodedPair& pair : inputs.pairs.pairs) {
    places.push_back(positions_on(inputs, pair, part, option));
  }
  return places;
}

Places places_of_number(int position, const ExperimentInputs& inputs) {
  Places places;
  for (const EncodedPair& pair : inputs.pairs.pairs) {
    const bool there = position < static_cast<int>(pair.clean.size());
    places.push_back(there ? std::vector<int>{position} : std::vector<int>{});
  }
  return places;
}

int add_set(const Places& places, std::vector<SweepPrompt>& prompts) {
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    prompts[p].position_sets.push_back(places[p]);
  }
  return static_cast<int>(prompts[0].position_sets.size()) - 1;
}

int longest_prompt(const ExperimentInputs& inputs) {
  std::size_t longest = 0;
  for (const EncodedPair& pair : inputs.pairs.pairs) longest = std::max(longest, pair.clean.size());
  return static_cast<int>(longest);
}

}  // namespace

std::vector<CellPosition> cell_positions(std::string_view list, const ExperimentInputs& inputs,
                                         std::string_view option,
                                         std::vector<SweepPrompt>& prompts) {
  const int longest = longest_prompt(inputs);
  std::vector<CellPosition> cells;
  std::set<Places> known;
  for (const std::string& part : position_parts(list.empty() ? "*" : list, option)) {
    if (is_number_or_range(part)) {
      for (const int position : parse_ranges(part, longest, option)) {
        if (!known.insert(places_of_number(position, inputs)).second) continue;
        cells.push_back({.name = std::to_string(position), .position = position});
      }
      continue;
    }
    const Places places = places_of(part, inputs, option);
    if (!known.insert(places).second) continue;
    cells.push_back({.name = part, .set = add_set(places, prompts)});
  }
  return cells;
}

int add_position_set(std::string_view list, const ExperimentInputs& inputs, std::string_view option,
                     std::vector<SweepPrompt>& prompts) {
  return add_set(places_of(list, inputs, option), prompts);
}

}  // namespace attnscope
