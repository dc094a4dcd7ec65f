#include "console/experiment_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "attnscope/stats/bootstrap.h"
#include "attnscope/support/utf8.h"

namespace attnscope::console {
namespace {

using Json = nlohmann::ordered_json;
using Dims = std::vector<std::string>;

// JSON has no NaN and no infinity.
Json value_json(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}
Json value_json(std::int64_t value) {
  return value;
}
Json value_json(const std::string& value) {
  return first_invalid_utf8(value) ? escape_untrusted(value, value.size() * 4) : value;
}

// Places of tokens are -1 where there is none.
template <typename Named>
Json element_json(const Named& array, std::size_t index) {
  const bool of_tokens = array.name == "top_id" || array.name == "target_rank";
  const Json value = value_json(array.values[index]);
  return of_tokens && value == Json(-1) ? Json() : value;
}

// An array with its axes as nested lists.
template <typename Named>
Json nested(const Named& array, std::size_t axis, std::size_t& next) {
  if (axis == array.shape.size()) return element_json(array, next++);
  Json list = Json::array();
  for (std::int64_t i = 0; i < array.shape[axis]; ++i)
    list.push_back(nested(array, axis + 1, next));
  return list;
}

template <typename Named>
bool is_whole(const Named& array) {
  const auto count =
      std::accumulate(array.shape.begin(), array.shape.end(), std::int64_t{1}, std::multiplies<>());
  return count == static_cast<std::int64_t>(array.values.size());
}

bool has_axis(const Dims& dims, const std::string& axis) {
  return std::find(dims.begin(), dims.end(), axis) != dims.end();
}

// Numbers of a cell under one method, or of the cell alone.
class CellValues {
 public:
  CellValues(const ExperimentRecord& record, std::size_t methods, std::size_t cells)
      : record_(record), methods_(methods), cells_(cells) {}

  template <typename Named>
  bool has(const Named& array) const {
    return (array.dims == Dims{"method", "cell"} && array.values.size() == methods_ * cells_) ||
           (array.dims == Dims{"cell"} && array.values.size() == cells_);
  }
  template <typename Named>
  Json at(const Named& array, std::size_t method, std::size_t cell) const {
    return value_json(array.values[array.dims.size() == 1 ? cell : method * cells_ + cell]);
  }
  Json number(const char* name, std::size_t method, std::size_t cell) const {
    const NamedArray* array = record_.array(name);
    return array != nullptr && has(*array) ? at(*array, method, cell) : Json();
  }
  Json integer(const char* name, std::size_t method, std::size_t cell) const {
    const NamedIntegers* array = record_.integer(name);
    return array != nullptr && has(*array) ? at(*array, method, cell) : Json();
  }
  // [low, high], or null when either is missing.
  Json interval(const char* low, const char* high, std::size_t method, std::size_t cell) const {
    const Json a = number(low, method, cell);
    const Json b = number(high, method, cell);
    return a.is_null() || b.is_null() ? Json() : Json::array({a, b});
  }

 private:
  const ExperimentRecord& record_;
  std::size_t methods_;
  std::size_t cells_;
};

// The effects of a cell on each prompt, where they were asked for.
void add_prompts(const ExperimentRecord& record, std::size_t method, std::size_t cell, Json& out) {
  const NamedArray* array = record.array("per_prompt");
  if (array == nullptr || array->dims != Dims{"method", "cell", "prompt"}) return;
  const auto cells = static_cast<std::size_t>(array->shape[1]);
  const auto prompts = static_cast<std::size_t>(array->shape[2]);
  Json list = Json::array();
  for (std::size_t p = 0; p < prompts; ++p) {
    list.push_back(value_json(array->values[(method * cells + cell) * prompts + p]));
  }
  out["per_prompt"] = std::move(list);
}

// What cell_json() writes under a name of its own, and where a cell lies, which its name says.
bool is_written(const std::string& name) {
  static const std::vector<std::string> kNames = {
      "effect", "ci_low", "ci_high", "ci_sim_low", "ci_sim_high", "p",
      "n",      "layers", "heads",   "positions",  "verdict"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool is_kind(const std::string& name) {
  return name == "interval_kind" || name == "recovery_kind";
}

Json kind_json(const Json& number) {
  const auto kind = interval_kind(number.get<std::int64_t>());
  return kind ? Json(interval_kind_name(*kind)) : Json();
}

// Where else the effects on each prompt stand.
enum class PerPrompt : std::uint8_t { in_file, nowhere };

Json cells_json(const ExperimentRecord& record, PerPrompt per_prompt) {
  Json list = Json::array();
  const NamedTexts* names = record.text("cells");
  const NamedTexts* methods = record.text("methods");
  if (names == nullptr || methods == nullptr) return list;
  const CellValues values(record, methods->values.size(), names->values.size());
  for (std::size_t m = 0; m < methods->values.size(); ++m) {
    for (std::size_t c = 0; c < names->values.size(); ++c) {
      Json cell = {{"unit", value_json(names->values[c])},
                   {"method", value_json(methods->values[m])},
                   {"effect", values.number("effect", m, c)},
                   {"ci", values.interval("ci_low", "ci_high", m, c)},
                   {"p", values.number("p", m, c)},
                   {"n", values.integer("n", m, c)},
                   {"ci_simultaneous", values.interval("ci_sim_low", "ci_sim_high", m, c)}};
      const Json level = values.integer("verdict", m, c);
      if (!level.is_null()) {
        const auto named = verdict_level(level.get<std::int64_t>());
        cell["verdict"] = named ? Json(verdict_name(*named)) : Json();
      }
      for (const NamedArray& array : record.arrays) {
        if (values.has(array) && !is_written(array.name)) cell[array.name] = values.at(array, m, c);
      }
      for (const NamedIntegers& array : record.integers) {
        if (!values.has(array) || is_written(array.name)) continue;
        const Json value = values.at(array, m, c);
        cell[array.name] = is_kind(array.name) ? kind_json(value) : value;
      }
      if (per_prompt == PerPrompt::nowhere) add_prompts(record, m, c, cell);
      list.push_back(std::move(cell));
    }
  }
  return list;
}

// Arrays of other axes than those of the cells.
template <typename Named>
void add_others(const std::vector<Named>& arrays, bool with_cells, Json& out) {
  for (const Named& array : arrays) {
    const bool of_cells = array.dims == Dims{"cell"} || array.dims == Dims{"method", "cell"} ||
                          array.dims == Dims{"method"};
    if ((with_cells && of_cells) || has_axis(array.dims, "prompt") || !is_whole(array)) continue;
    std::size_t next = 0;
    const Json values = nested(array, 0, next);
    out[array.name] = array.dims.empty() ? values : Json{{"axes", array.dims}, {"values", values}};
  }
}

Json others_json(const ExperimentRecord& record) {
  Json out = Json::object();
  const bool with_cells = record.text("cells") != nullptr;
  add_others(record.texts, with_cells, out);
  add_others(record.integers, with_cells, out);
  add_others(record.arrays, with_cells, out);
  return out;
}

Json baseline_json(const ExperimentRecord& record) {
  const NamedArray* baseline = record.array("baseline");
  if (baseline == nullptr) return Json();
  double sum = 0;
  std::int64_t count = 0;
  for (const double value : baseline->values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? Json() : Json(sum / static_cast<double>(count));
}

Json attributes_json(const ExperimentRecord& record) {
  Json out = Json::object();
  for (const auto& [name, value] : record.attributes) {
    out[name] = std::visit([](const auto& v) { return value_json(v); }, value);
  }
  return out;
}

void add_record(const ExperimentRecord& record, PerPrompt per_prompt, Json& out) {
  out["experiment"] = record.name;
  out["metric"] = record.metric;
  out["baseline"] = baseline_json(record);
  if (record.text("cells") != nullptr) out["cells"] = cells_json(record, per_prompt);
  out["noise_floor"] = value_json(record.noise_floor);
  const auto verified = record.integer_attribute("verify_cells");
  if (verified) {
    const auto difference = record.number_attribute("verify_max_difference");
    out["verify"] = {{"cells", *verified},
                     {"max_difference", difference ? value_json(*difference) : Json()}};
  }
  out["attributes"] = attributes_json(record);
  const Json others = others_json(record);
  for (const auto& [name, value] : others.items()) {
    if (!out.contains(name)) out[name] = value;
  }
}

Json stages_json(const std::vector<PlannedStage>& stages) {
  Json list = Json::array();
  for (const PlannedStage& stage : stages) {
    list.push_back({{"stage", value_json(stage.name)},
                    {"cells", stage.cells},
                    {"prompts", stage.prompts},
                    {"runs", stage.runs},
                    {"flop", value_json(stage.flops)},
                    {"memory_bytes", stage.memory_bytes},
                    {"at_most", stage.certainty == PlannedStage::Certainty::at_most}});
  }
  return list;
}

// Several grids of one patching stand side by side, the only one alone. What ablate and verdict add
// to their result stands behind it.
void add_records(const ExperimentResult& result, Json& out) {
  if (result.record.name.empty()) return;
  const PerPrompt per_prompt = result.path.empty() ? PerPrompt::nowhere : PerPrompt::in_file;
  const bool side_by_side =
      result.record.kind == file_kind_name(FileKind::patch) && !result.further_records.empty();
  Json list = Json::array();
  const auto append = [&](const ExperimentRecord& record) {
    Json one = Json::object();
    add_record(record, per_prompt, one);
    list.push_back(std::move(one));
  };
  if (side_by_side) {
    append(result.record);
  } else {
    add_record(result.record, per_prompt, out);
  }
  for (const ExperimentRecord& record : result.further_records) append(record);
  if (!list.empty()) out[side_by_side ? "experiments" : "further"] = std::move(list);
}

}  // namespace

std::string experiment_json(const ExperimentResult& result) {
  Json out = Json::object();
  add_records(result, out);
  if (!result.prompt_records.empty()) {
    Json list = Json::array();
    for (const ExperimentRecord& record : result.prompt_records) {
      Json one = {{"experiment", record.name}, {"metric", value_json(record.metric)}};
      one.update(others_json(record));
      list.push_back(std::move(one));
    }
    out["by_prompt"] = std::move(list);
  }
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, Json>>{{"prompts", result.prompts},
                                                           {"clusters", result.clusters},
                                                           {"misaligned", result.misaligned},
                                                           {"runs", result.cells}}) {
    out[name] = value;
  }
  if (result.part) out["part"] = Json::array({result.part->index + 1, result.part->count});
  out["plan"] = value_json(result.plan);
  if (!result.stages.empty()) out["stages"] = stages_json(result.stages);
  out["model"] = value_json(result.model);
  out["device"] = result.device;
  out["dtype"] = result.dtype;
  out["engine"] = result.engine;
  out["threads"] = result.threads;
  out["seconds"] = value_json(result.seconds);
  out["cells_per_second"] = value_json(result.cells_per_second);
  out["path"] = result.path.empty() ? Json() : value_json(result.path);
  if (result.record.kind == "verdict") {
    out["html"] = result.html.empty() ? Json() : value_json(result.html);
  }
  out["sha256"] = result.sha256.empty() ? Json() : Json(result.sha256);
  out["warnings"] = result.warnings;
  return out.dump(2);
}

std::string record_json(const ExperimentRecord& record, const std::optional<ShardId>& part) {
  Json out = Json::object();
  if (part) out["part"] = Json::array({part->index + 1, part->count});
  add_record(record, PerPrompt::in_file, out);
  return out.dump(2);
}

}  // namespace attnscope::console
