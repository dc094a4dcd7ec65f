// File: placed_units.h
// Units with the positions at which they are switched off, and the cells that they make.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "attnscope/probes/ablation_cells.h"
#include "attnscope/probes/cell_positions.h"
#include "attnscope/probes/sweep_run.h"

namespace attnscope {

// A unit at all positions, at the one of its name (5.1@7), or where a word or a column stands.
struct PlacedUnit {
  UnitId unit;
  std::string where;  // "subject"; empty unless q_set says where
  int q_set = -1;     // index into SweepPrompt::position_sets
  auto operator<=>(const PlacedUnit&) const = default;
};
// Switched off together; never empty.
using PlacedSet = std::vector<PlacedUnit>;

PlacedSet everywhere(const UnitSet& set);
// Throws Error AB23 (exit 2) for a unit whose name holds a position already.
PlacedSet placed_at(const UnitSet& set, const CellPosition& position);
// All of both, sorted.
PlacedSet together(const PlacedSet& a, const PlacedSet& b);
// All of `sets` but one, for each of them.
std::vector<PlacedSet> all_but_one(const std::vector<PlacedSet>& sets);

// The units without the sets of positions.
std::vector<UnitSet> units_of(const std::vector<PlacedSet>& sets);
CellPlace place_of(const PlacedSet& set);
std::vector<Edit> ablation_edits(const PlacedSet& set, AblationMethod method,
                                 const MethodValues& values, const ModelConfig& config);

// Cells of every method, method after method, and what they are called.
struct Cells {
  std::vector<Cell> cells;
  std::vector<CellPlace> places;  // of one method
};
Cells make_cells(const std::vector<PlacedSet>& sets, const std::vector<AblationMethod>& methods,
                 const MethodValues& values, const ModelConfig& config);

}  // namespace attnscope
