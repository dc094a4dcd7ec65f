#include "placed_units.h"

#include <algorithm>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"

namespace attnscope {
namespace {

std::string name_of(const PlacedSet& set) {
  std::vector<std::string> names;
  for (const PlacedUnit& placed : set) {
    names.push_back(unit_name(placed.unit) + (placed.q_set < 0 ? "" : "@" + placed.where));
  }
  return join(names, "+");
}

}  // namespace

PlacedSet everywhere(const UnitSet& set) {
  PlacedSet placed;
  for (const UnitId& unit : set) placed.push_back({.unit = unit, .where = {}});
  return placed;
}

PlacedSet placed_at(const UnitSet& set, const CellPosition& position) {
  PlacedSet placed;
  for (UnitId unit : set) {
    if (unit.position >= 0) {
      throw Error(ErrorKind::input, "AB23",
                  {.where = "--heads",
                   .what = unit_name(unit) + " names a position itself",
                   .next = "leave the position out, or use --unit head without --positions"});
    }
    if (position.set < 0) unit.position = position.position;
    placed.push_back(
        {.unit = unit, .where = position.set < 0 ? "" : position.name, .q_set = position.set});
  }
  return placed;
}

PlacedSet together(const PlacedSet& a, const PlacedSet& b) {
  PlacedSet both = a;
  both.insert(both.end(), b.begin(), b.end());
  std::sort(both.begin(), both.end());
  return both;
}

std::vector<PlacedSet> all_but_one(const std::vector<PlacedSet>& sets) {
  std::vector<PlacedSet> rest;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    PlacedSet others;
    for (std::size_t j = 0; j < sets.size(); ++j) {
      if (j != i) others.insert(others.end(), sets[j].begin(), sets[j].end());
    }
    std::sort(others.begin(), others.end());
    rest.push_back(std::move(others));
  }
  return rest;
}

std::vector<UnitSet> units_of(const std::vector<PlacedSet>& sets) {
  std::vector<UnitSet> units;
  for (const PlacedSet& set : sets) {
    units.emplace_back();
    for (const PlacedUnit& placed : set) units.back().push_back(placed.unit);
  }
  return units;
}

CellPlace place_of(const PlacedSet& set) {
  CellPlace place = place_of(units_of({set}).front());
  place.name = name_of(set);
  return place;
}

std::vector<Edit> ablation_edits(const PlacedSet& set, AblationMethod method,
                                 const MethodValues& values, const ModelConfig& config) {
  std::vector<Edit> edits;
  for (const PlacedUnit& placed : set) {
    for (Edit& edit : ablation_edits(UnitSet{placed.unit}, method, values, config)) {
      edit.q_set = placed.q_set;
      edits.push_back(std::move(edit));
    }
  }
  return edits;
}

Cells make_cells(const std::vector<PlacedSet>& sets, const std::vector<AblationMethod>& methods,
                 const MethodValues& values, const ModelConfig& config) {
  Cells made;
  for (const PlacedSet& set : sets) made.places.push_back(place_of(set));
  for (const AblationMethod method : methods) {
    for (const PlacedSet& set : sets) {
      made.cells.push_back({name_of(set) + " (" + choice_name(method) + ")",
                            ablation_edits(set, method, values, config)});
    }
  }
  return made;
}

}  // namespace attnscope
