#include "attnscope/probes/merge_parts.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "attnscope/probes/sweep_run.h"
#include "attnscope/spec/choices.h"
#include "attnscope/support/error.h"
#include "attnscope/support/json.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

constexpr const char* kCode = "MP01";

[[noreturn]] void fail_parts(const std::string& record, const std::string& what) {
  throw Error(ErrorKind::input, kCode,
              {.where = "experiment " + quote(record),
               .what = what,
               .next = "make the parts again with one build of attnscope"});
}

const NamedArray& array_of(const ExperimentRecord& record, const char* name) {
  const NamedArray* array = record.array(name);
  if (array == nullptr) fail_parts(record.name, std::string("a part lacks the array ") + name);
  return *array;
}

// The option `name` of the run that made the record.
std::int64_t option_of(const ExperimentRecord& record, const char* name) {
  const nlohmann::json options = parse_json(record.spec_json, record.name, kCode);
  if (!options.contains(name))
    fail_parts(record.name, std::string("a part lacks the option ") + name);
  const nlohmann::json& value = options.at(name);
  return value.is_boolean() ? std::int64_t{value.get<bool>()} : value.get<std::int64_t>();
}

EstimateOptions estimates_of(const ExperimentRecord& record) {
  return {.metric = parse_choice<MetricChoice>(record.metric, "metric of " + quote(record.name)),
          .draws = static_cast<int>(option_of(record, "resamples")),
          .seed = static_cast<std::uint64_t>(option_of(record, "seed")),
          .threads = at::get_num_threads(),
          .per_prompt = option_of(record, "per_prompt") != 0};
}

const std::vector<std::int64_t>& clusters_of(const ExperimentRecord& record) {
  const NamedIntegers* clusters = record.integer(kClusterOfPrompt);
  if (clusters == nullptr) {
    fail_parts(record.name, std::string("a part lacks the array ") + kClusterOfPrompt);
  }
  return clusters->values;
}

// The same record of every part.
using Pieces = std::vector<const ExperimentRecord*>;

EffectsTable whole_table(const Pieces& pieces) {
  const ExperimentRecord& first = *pieces.front();
  const std::vector<std::int64_t>& clusters = clusters_of(first);
  EffectsTable table = {.methods = first.text("methods")->values,
                        .baseline = array_of(first, "baseline").values,
                        .clusters = {clusters.begin(), clusters.end()}};
  for (const ExperimentRecord* piece : pieces) {
    const std::vector<std::string>& names = piece->text("cells")->values;
    for (std::size_t c = 0; c < names.size(); ++c) {
      table.cells.push_back({.name = names[c],
                             .layer = piece->integer("layers")->values[c],
                             .head = piece->integer("heads")->values[c],
                             .position = piece->integer("positions")->values[c]});
    }
  }
  for (std::size_t m = 0; m < table.methods.size(); ++m) {
    for (const ExperimentRecord* piece : pieces) {
      const std::vector<double>& effects = array_of(*piece, "per_prompt").values;
      const std::size_t size = effects.size() / table.methods.size();
      const auto begin = effects.begin() + static_cast<std::ptrdiff_t>(m * size);
      table.effects.insert(table.effects.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
    }
  }
  return table;
}

void check_piece(const ExperimentRecord& first, const ExperimentRecord& piece,
                 std::size_t prompts) {
  for (const char* name : {"methods", "cells"}) {
    if (piece.text(name) == nullptr) fail_parts(piece.name, std::string("a part lacks ") + name);
  }
  for (const char* name : {"layers", "heads", "positions"}) {
    const NamedIntegers* list = piece.integer(name);
    if (list == nullptr || list->values.size() != piece.text("cells")->values.size()) {
      fail_parts(piece.name, std::string("a part lacks ") + name);
    }
  }
  if (piece.name != first.name || piece.text("methods")->values != first.text("methods")->values ||
      piece.spec_json != first.spec_json || clusters_of(piece) != clusters_of(first)) {
    fail_parts(piece.name, "the parts hold other methods, options or groups of prompts");
  }
  const std::size_t values =
      piece.text("methods")->values.size() * piece.text("cells")->values.size() * prompts;
  if (array_of(piece, "per_prompt").values.size() != values ||
      array_of(piece, "baseline").values.size() != prompts ||
      clusters_of(piece).size() != prompts) {
    fail_parts(piece.name, "the effects on each prompt are not those of the prompts of the run");
  }
}

template <typename Value>
void combine(const Pieces& pieces, const std::string& name, ExperimentRecord& whole,
             Value (*join)(Value, Value)) {
  std::optional<Value> joined;
  for (const ExperimentRecord* piece : pieces) {
    const auto found = piece->attributes.find(name);
    if (found == piece->attributes.end()) continue;
    const auto* value = std::get_if<Value>(&found->second);
    if (value == nullptr) fail_parts(piece->name, "the attribute " + name + " has another type");
    joined = joined ? join(*joined, *value) : *value;
  }
  if (joined) whole.attributes[name] = *joined;
}

std::string both_names(std::string a, std::string b) {
  return a == b ? a : a + "; " + b;
}

ExperimentRecord whole_record(const Pieces& pieces, const std::vector<PromptRecord>& prompts) {
  const ExperimentRecord& first = *pieces.front();
  for (const ExperimentRecord* piece : pieces) check_piece(first, *piece, prompts.size());
  ExperimentRecord whole;
  whole.name = first.name;
  whole.kind = first.kind;
  whole.metric = first.metric;
  whole.spec_json = first.spec_json;
  whole.attributes = first.attributes;
  const EffectsTable table = whole_table(pieces);
  const EstimateOptions options = estimates_of(first);
  add_effects(table, options, whole);
  if (const NamedArray* other = first.array("donor_baseline")) {
    const bool corrupt = first.text_attribute("base") == "corrupt";
    whole.arrays.push_back(*other);
    add_recovery(table,
                 {.clean = corrupt ? other->values : table.baseline,
                  .corrupt = corrupt ? table.baseline : other->values,
                  .base = corrupt ? BaseSide::corrupt : BaseSide::clean,
                  .floor = first.number_attribute("floor").value_or(0)},
                 options, whole);
  }
  const auto larger = [](double a, double b) { return std::max(a, b); };
  const auto sum = [](std::int64_t a, std::int64_t b) { return a + b; };
  for (const char* name :
       {"rerun_difference", "batch_difference", "own_value_difference", "verify_max_difference"}) {
    combine<double>(pieces, name, whole, larger);
  }
  for (const char* name : {"verify_cells", "non_finite"}) {
    combine<std::int64_t>(pieces, name, whole, sum);
  }
  combine<std::string>(pieces, "sweep_engine", whole, both_names);
  for (const ExperimentRecord* piece : pieces) {
    whole.noise_floor = std::max(whole.noise_floor, piece->noise_floor);
  }
  return whole;
}

}  // namespace

std::vector<ExperimentRecord> merge_part_records(const PartRecords& parts,
                                                 const std::vector<PromptRecord>& prompts) {
  std::vector<ExperimentRecord> whole;
  for (std::size_t r = 0; r < parts.front().size(); ++r) {
    Pieces pieces;
    for (const std::vector<ExperimentRecord>& records : parts) {
      if (records.size() != parts.front().size()) {
        fail_parts(parts.front()[r].name, "the parts hold other experiments");
      }
      pieces.push_back(&records[r]);
    }
    whole.push_back(whole_record(pieces, prompts));
  }
  return whole;
}

}  // namespace attnscope
