// File: effect_view.h
// The record of an experiment as a table: units (cells) by methods, with what is known of each.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/sites/selectors.h"
#include "attnscope/storage/experiment.h"

namespace attnscope {

// Reads a record that it does not own. Arrays may have the axes {"method", "cell"} or {"cell"};
// anything that is not there is NaN, −1 or nothing.
class EffectView {
 public:
  // Throws RN06 (exit 2) when the record has no cells or no effects.
  explicit EffectView(const ExperimentRecord& record);

  const ExperimentRecord& record() const { return record_; }
  int cells() const { return cells_; }
  int methods() const { return static_cast<int>(methods_.size()); }
  const std::string& cell_name(int cell) const;
  const std::string& method_name(int method) const;
  // Throws RN07 (exit 2), naming `option` and the methods there are; "" is the first (0 even where
  // there is none).
  int find_method(const std::string& name, const std::string& option) const;

  std::int64_t layer(int cell) const { return place("layers", cell); }
  std::int64_t head(int cell) const { return place("heads", cell); }
  std::int64_t position(int cell) const { return place("positions", cell); }
  // The letters before a ':' of the cell's name: "" for heads, "kv" for "kv:3.1".
  std::string kind(int cell) const;

  double number(std::string_view array, int method, int cell) const;
  double effect(int method, int cell) const { return number("effect", method, cell); }
  std::int64_t n(int method, int cell) const;  // −1 when it is not known
  std::optional<std::int64_t> integer(std::string_view integers, int method, int cell) const;
  std::optional<VerdictLevel> verdict(int cell) const;
  // A mark of the cell by one of the record's integers {"cell"}, such as "unspecific".
  bool is_marked(std::string_view integers, int cell) const;

  // Attention measures, from `attention` {"cell", "measure"}.
  int measures() const { return static_cast<int>(measures_.size()); }
  const std::string& measure_name(int measure) const;
  int find_measure(const std::string& name, const std::string& option) const;
  double attention(int measure, int cell) const;
  // Of an array {"method", "measure"}, such as `rank_correlation`.
  double by_measure(std::string_view array, int method, int measure) const;

  // The smallest p of an effect that the record's draws can give, and of a rank correlation; 0
  // where the record does not say how many they were, or p is exact. Such a p is a bound: with more
  // draws it might have been less.
  double smallest_p() const;
  double smallest_rank_p(int method, int measure) const;

  // Cells by |effect| of one method, largest first; NaN last, equal ones in order.
  std::vector<int> by_effect(int method) const;
  // By the largest |effect| over methods.
  std::vector<int> by_largest_effect() const;

 private:
  std::vector<int> ordered_by(const std::vector<double>& sizes) const;
  std::int64_t place(std::string_view integers, int cell) const;

  const ExperimentRecord& record_;
  std::vector<std::string> names_;
  std::vector<std::string> methods_;
  std::vector<std::string> measures_;
  int cells_ = 0;
};

}  // namespace attnscope
