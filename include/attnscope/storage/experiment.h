// File: experiment.h
// The result of an experiment as it lies in a file under /experiments/<name> (design of the format:
// src/storage/SCHEMA.md): arrays with named axes and a few attributes. Missing values are NaN.
#pragma once

#include <cstdint>
#include <map>
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
  std::string name;    // "ablate"; several of a file have different names
  std::string kind;    // file_kind_name()
  std::string metric;  // "logit-diff"
  double noise_floor = 0;
  std::string spec_json;  // resolved options
  std::map<std::string, ExperimentAttribute> attributes;
  std::vector<NamedArray> arrays;
  std::vector<NamedIntegers> integers;
  std::vector<NamedTexts> texts;

  const NamedArray* array(std::string_view array_name) const;  // null when absent
  const NamedIntegers* integer(std::string_view array_name) const;
  const NamedTexts* text(std::string_view array_name) const;
};

}  // namespace attnscope
