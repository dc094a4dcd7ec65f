#include "attnscope/render/effect_view.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

[[noreturn]] void fail_unknown(const std::string& option, const std::string& what,
                               const std::vector<std::string>& known, const std::string& got) {
  const auto near = nearest(got, known);
  throw Error(
      ErrorKind::input, "RN07",
      {.where = option,
       .what = "the experiment has no " + what + " of this name",
       .expected = known.empty() ? "" : "one of " + escape_untrusted(join(known, ", "), 300),
       .got = quote(got),
       .next = near.empty() ? "" : "did you mean " + quote(near.front()) + "?"});
}

int find_in(const std::vector<std::string>& list, const std::string& name,
            const std::string& option, const std::string& what) {
  if (name.empty()) return 0;
  const auto found = std::find(list.begin(), list.end(), name);
  if (found == list.end()) fail_unknown(option, what, list, name);
  return static_cast<int>(found - list.begin());
}

// Whether the array has these axes with these lengths and holds all its values.
template <typename Named>
bool has_axes(const Named& array, const std::vector<std::string>& dims,
              const std::vector<std::size_t>& shape) {
  std::size_t count = 1;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (array.shape.size() != shape.size() ||
        array.shape[a] != static_cast<std::int64_t>(shape[a])) {
      return false;
    }
    count *= shape[a];
  }
  return array.dims == dims && array.values.size() == count;
}

// The value of an array by method and cell, or by cell alone.
template <typename T, typename Named>
T value_of(const Named* array, std::size_t methods, std::size_t cells, int method, int cell,
           T absent) {
  if (array == nullptr) return absent;
  const auto c = static_cast<std::size_t>(cell);
  if (has_axes(*array, {"cell"}, {cells})) return array->values[c];
  if (!has_axes(*array, {"method", "cell"}, {methods, cells})) return absent;
  return array->values[static_cast<std::size_t>(method) * cells + c];
}

}  // namespace

EffectView::EffectView(const ExperimentRecord& record) : record_(record) {
  const NamedTexts* cells = record.text("cells");
  const NamedTexts* methods = record.text("methods");
  const NamedTexts* measures = record.text("measures");
  if (cells == nullptr || methods == nullptr || methods->values.empty() ||
      record.array("effect") == nullptr || !has_axes(*cells, {"cell"}, {cells->values.size()}) ||
      !has_axes(*record.array("effect"), {"method", "cell"},
                {methods->values.size(), cells->values.size()})) {
    throw Error(ErrorKind::input, "RN06",
                {.where = "experiment " + quote(record.name),
                 .what = "it has no table of effects",
                 .expected = "effect [method, cell] with the names of methods and cells",
                 .got = "other arrays",
                 .next = "read the file with h5py, or draw another experiment"});
  }
  names_ = cells->values;
  methods_ = methods->values;
  cells_ = static_cast<int>(names_.size());
  if (measures != nullptr) measures_ = measures->values;
}

const std::string& EffectView::cell_name(int cell) const {
  return names_.at(static_cast<std::size_t>(cell));
}
const std::string& EffectView::method_name(int method) const {
  return methods_.at(static_cast<std::size_t>(method));
}
const std::string& EffectView::measure_name(int measure) const {
  return measures_.at(static_cast<std::size_t>(measure));
}

int EffectView::find_method(const std::string& name, const std::string& option) const {
  return find_in(methods_, name, option, "method");
}

int EffectView::find_measure(const std::string& name, const std::string& option) const {
  return find_in(measures_, name, option, "attention measure");
}

std::string EffectView::kind(int cell) const {
  const std::string& name = cell_name(cell);
  const std::size_t colon = name.find(':');
  return colon == std::string::npos ? "" : name.substr(0, colon);
}

double EffectView::number(std::string_view array, int method, int cell) const {
  return value_of(record_.array(array), methods_.size(), names_.size(), method, cell, kNan);
}

std::int64_t EffectView::n(int method, int cell) const {
  return value_of(record_.integer("n"), methods_.size(), names_.size(), method, cell,
                  std::int64_t{-1});
}

std::optional<std::int64_t> EffectView::integer(std::string_view integers, int method,
                                                int cell) const {
  return value_of(record_.integer(integers), methods_.size(), names_.size(), method, cell,
                  std::optional<std::int64_t>());
}

std::int64_t EffectView::place(std::string_view integers, int cell) const {
  return value_of(record_.integer(integers), methods_.size(), names_.size(), 0, cell,
                  std::int64_t{-1});
}

std::optional<VerdictLevel> EffectView::verdict(int cell) const {
  const NamedIntegers* levels = record_.integer("verdict");
  if (levels == nullptr || !has_axes(*levels, {"cell"}, {names_.size()})) return std::nullopt;
  return verdict_level(levels->values[static_cast<std::size_t>(cell)]);
}

bool EffectView::is_marked(std::string_view integers, int cell) const {
  return place(integers, cell) > 0;
}

double EffectView::attention(int measure, int cell) const {
  const NamedArray* attention = record_.array("attention");
  if (attention == nullptr ||
      !has_axes(*attention, {"cell", "measure"}, {names_.size(), measures_.size()})) {
    return kNan;
  }
  return attention->values[static_cast<std::size_t>(cell) * measures_.size() +
                           static_cast<std::size_t>(measure)];
}

double EffectView::by_measure(std::string_view array, int method, int measure) const {
  const NamedArray* values = record_.array(array);
  if (values == nullptr ||
      !has_axes(*values, {"method", "measure"}, {methods_.size(), measures_.size()})) {
    return kNan;
  }
  return values->values[static_cast<std::size_t>(method) * measures_.size() +
                        static_cast<std::size_t>(measure)];
}

double EffectView::smallest_p() const {
  const auto options = nlohmann::json::parse(record_.spec_json, nullptr, false);
  if (!options.is_object() || !options.contains("resamples")) return 0;
  const auto& draws = options["resamples"];
  return draws.is_number_unsigned() ? 1 / (1 + draws.get<double>()) : 0;
}

double EffectView::smallest_rank_p(int method, int measure) const {
  const NamedIntegers* shuffles = record_.integer("rank_correlation_shuffles");
  if (shuffles == nullptr ||
      !has_axes(*shuffles, {"method", "measure"}, {methods_.size(), measures_.size()})) {
    return 0;
  }
  const std::int64_t draws = shuffles->values[static_cast<std::size_t>(method) * measures_.size() +
                                              static_cast<std::size_t>(measure)];
  return draws > 0 ? 1 / (1 + static_cast<double>(draws)) : 0;
}

// Largest first; NaN last, equal ones in order.
std::vector<int> EffectView::ordered_by(const std::vector<double>& sizes) const {
  std::vector<int> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto size = [&](int cell) {
    const double value = sizes[static_cast<std::size_t>(cell)];
    return std::isnan(value) ? -1 : value;
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return size(a) > size(b); });
  return order;
}

std::vector<int> EffectView::by_effect(int method) const {
  std::vector<double> sizes;
  for (int cell = 0; cell < cells_; ++cell) sizes.push_back(std::fabs(effect(method, cell)));
  return ordered_by(sizes);
}

std::vector<int> EffectView::by_largest_effect() const {
  std::vector<double> sizes(static_cast<std::size_t>(cells_), kNan);
  for (int cell = 0; cell < cells_; ++cell) {
    double& size = sizes[static_cast<std::size_t>(cell)];
    // std::fmax leaves out what is NaN.
    for (int m = 0; m < methods(); ++m) size = std::fmax(size, std::fabs(effect(m, cell)));
  }
  return ordered_by(sizes);
}

}  // namespace attnscope
