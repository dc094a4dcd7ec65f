// File: experiment.h
// The result of an experiment under /experiments/<name> of a file (src/storage/SCHEMA.md): arrays
// with named axes and a few attributes. Missing values are NaN.
//
// In memory the units that were changed are always one axis, "cell": texts `cells` {"cell"} names
// them, integers `layers`, `heads`, `positions` {"cell"} (−1 where none) place them. A file holds
// cells that fill a grid as [layer, head], [layer, position] or [layer, head, position];
// CaptureWriter and CaptureReader change between the two.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attnscope/storage/schema.h"

namespace attnscope {

// A float64 array, row-major.
struct NamedArray {
  std::string name;               // "effect"
  std::vector<std::string> dims;  // {"method", "layer", "head"}
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

struct NamedIntegers {
  std::string name;  // "n", "verdict", "layers"
  std::vector<std::string> dims;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> values;
};

struct NamedTexts {
  std::string name;  // "methods", "cells"
  std::vector<std::string> dims;
  std::vector<std::int64_t> shape;
  std::vector<std::string> values;
};

using ExperimentAttribute = std::variant<std::string, std::int64_t, double>;

struct ExperimentRecord {
  std::string name;    // "ablate", "lens/p000000"; several of a file have different names
  std::string kind;    // file_kind_name()
  std::string metric;  // "logit-diff"
  double noise_floor = 0;
  std::string spec_json;  // resolved options
  // Short values; a text of more than 256 bytes goes to `texts`, with no axes.
  std::map<std::string, ExperimentAttribute> attributes;
  std::vector<NamedArray> arrays;
  std::vector<NamedIntegers> integers;
  std::vector<NamedTexts> texts;

  const NamedArray* array(std::string_view array_name) const;  // null when absent
  const NamedIntegers* integer(std::string_view array_name) const;
  const NamedTexts* text(std::string_view array_name) const;
  // Nothing when absent or of another type.
  std::optional<std::string> text_attribute(const std::string& attribute) const;
  std::optional<std::int64_t> integer_attribute(const std::string& attribute) const;
  std::optional<double> number_attribute(const std::string& attribute) const;
};

// What the integers `verdict` of a record hold.
enum class VerdictLevel : std::int8_t {
  backed_up = -2,  // undetermined: no total effect, but others stand in for it
  undetermined = -1,
  no_effect = 0,
  causal = 1,
};
inline constexpr VerdictLevel kVerdictLevels[] = {VerdictLevel::causal, VerdictLevel::no_effect,
                                                  VerdictLevel::undetermined,
                                                  VerdictLevel::backed_up};
// "causal", "no effect", "undetermined", "undetermined (backed up)".
const char* verdict_name(VerdictLevel level);
std::optional<VerdictLevel> verdict_level(std::int64_t value);

// The cells of a record as the grid that they fill in order, its axes named by their dims;
// unchanged where they fill none. cells_of_grid() undoes it.
ExperimentRecord grid_of_cells(ExperimentRecord record);
ExperimentRecord cells_of_grid(ExperimentRecord record);

}  // namespace attnscope
