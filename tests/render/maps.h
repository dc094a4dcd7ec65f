// Small maps that the tests of this folder draw.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "attnscope/render/heat_map.h"

namespace attnscope::testing {

// A causal map with rows that sum to 1.
inline HeatMap causal_map(int tokens) {
  HeatMap map;
  map.rows = map.columns = tokens;
  map.hidden = HiddenCells::above_diagonal;
  map.title = "head 5.1";
  map.value_name = "attention weight";
  map.caption = {"model: tiny"};
  for (int row = 0; row < tokens; ++row) {
    map.row_labels.push_back(" w" + std::to_string(row));
    for (int column = 0; column < tokens; ++column) {
      map.values.push_back(column <= row ? 1.0F / static_cast<float>(row + 1) : 0.0F);
    }
  }
  map.column_labels = map.row_labels;
  return map;
}

}  // namespace attnscope::testing
