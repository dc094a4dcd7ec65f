#include "experiment.h"

#include <algorithm>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "reader_state.h"
#include "writer_state.h"

namespace attnscope {

using namespace storage_detail;  // NOLINT: the module's own helpers

namespace {

// A file can claim any size without storing it; results of experiments are small.
constexpr std::uint64_t kMaxArrayBytes = 1ULL << 30U;

// Longer attributes would not fit an object header.
constexpr std::size_t kShortText = 256;

template <typename Named>
const Named* find(const std::vector<Named>& list, std::string_view name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const Named& item) { return item.name == name; });
  return found == list.end() ? nullptr : &*found;
}

template <typename T>
std::optional<T> attribute_of(const ExperimentRecord& record, const std::string& name) {
  const auto found = record.attributes.find(name);
  if (found == record.attributes.end()) return std::nullopt;
  const T* value = std::get_if<T>(&found->second);
  return value == nullptr ? std::nullopt : std::optional<T>(*value);
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= 200 && name[0] != '.' &&
         std::none_of(name.begin(), name.end(),
                      [](char c) { return c == '/' || static_cast<unsigned char>(c) <= 0x20; });
}

template <typename Named>
h5::Dims extents_of(const Named& array) {
  std::int64_t count = 1;
  for (const std::int64_t extent : array.shape) count *= extent;
  const bool fits = array.dims.size() == array.shape.size() &&
                    count == static_cast<std::int64_t>(array.values.size());
  if (!fits || !is_plain_name(array.name)) {
    misuse(array.name, "an array of an experiment", "a name, one dim an axis and all values",
           std::to_string(array.values.size()) + " values for " + join(array.dims, " "));
  }
  return {array.shape.begin(), array.shape.end()};
}

void set_attributes(h5::Group& group, const ExperimentRecord& record) {
  group.set_text("kind", record.kind);
  group.set_text("metric", record.metric);
  group.set_number("noise_floor", record.noise_floor);
  for (const auto& [name, value] : record.attributes) {
    if (const auto* number = std::get_if<double>(&value)) {
      group.set_number(name, *number);
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      group.set_integer(name, *integer);
    } else {
      const auto& text = std::get<std::string>(value);
      if (text.size() > kShortText) {
        misuse(name, "an attribute of an experiment is too long", "256 bytes",
               std::to_string(text.size()));
      }
      group.set_text(name, text);
    }
  }
}

void put_integers(h5::Group& group, const NamedIntegers& array, ChunkCompressor& compressor) {
  const Labels labels{"experiments", -1, array.dims};
  if (array.name != "verdict") {
    put_table(group, array.name, {.type = h5::Type::of(h5::Scalar::i64), .dims = extents_of(array)},
              labels, bytes_of(array.values), compressor);
    return;
  }
  std::vector<std::int8_t> levels;
  std::vector<std::string> names;
  for (const std::int64_t value : array.values) levels.push_back(static_cast<std::int8_t>(value));
  put_table(group, array.name, {.type = h5::Type::of(h5::Scalar::i8), .dims = extents_of(array)},
            labels, bytes_of(levels), compressor);
  for (const VerdictLevel level : kVerdictLevels) {
    names.push_back(std::to_string(static_cast<int>(level)) + " " + verdict_name(level));
  }
  group.open_dataset(array.name).set_texts("levels", names);
}

void put_text_array(h5::Group& group, const NamedTexts& array, ChunkCompressor& compressor) {
  const h5::Dims dims = extents_of(array);
  if (dims.empty()) return put_text(group, array.name, array.values.front(), "experiments");
  const std::size_t width = longest(array.values);
  put_table(group, array.name, {.type = h5::Type::text(width), .dims = dims},
            {"experiments", -1, array.dims}, pad_texts(array.values, width), compressor);
}

std::vector<std::int64_t> signed_dims(const h5::Dataset& dataset) {
  const h5::Dims dims = dataset.dims();
  return {dims.begin(), dims.end()};
}

void require_readable_size(const h5::Dataset& dataset) {
  std::uint64_t bytes = dataset.type().bytes;
  for (const std::uint64_t extent : dataset.dims()) {
    if (extent != 0 && bytes > kMaxArrayBytes / extent) {
      throw Error(ErrorKind::limit, "SR09",
                  {.where = quote(dataset.path(), 300),
                   .what = "an array of an experiment is too large",
                   .expected = "at most 1 GiB",
                   .got = "more"});
    }
    bytes *= extent;
  }
}

void read_array(const h5::Dataset& dataset, const std::string& name, ExperimentRecord& record) {
  require_readable_size(dataset);
  const std::vector<std::string> labels = dataset.labels();
  const std::vector<std::int64_t> shape = signed_dims(dataset);
  if (labels.size() != shape.size()) {
    throw Error(ErrorKind::input, "SR01",
                {.where = quote(dataset.path(), 300),
                 .what = "not one label an axis",
                 .expected = std::to_string(shape.size()),
                 .got = std::to_string(labels.size())});
  }
  const h5::Scalar scalar = dataset.type().scalar;
  if (scalar == h5::Scalar::text) {
    record.texts.push_back({name, labels, shape, read_texts(dataset)});
    return;
  }
  const Array array = read_all(dataset);
  if (scalar == h5::Scalar::i64) {
    record.integers.push_back({name, labels, shape, read_integers(dataset)});
  } else if (scalar == h5::Scalar::i8) {
    std::vector<std::int64_t> values;
    for (const double value : array.as_double()) values.push_back(static_cast<std::int64_t>(value));
    record.integers.push_back({name, labels, shape, std::move(values)});
  } else {
    record.arrays.push_back({name, labels, shape, array.as_double()});
  }
}

ExperimentRecord read_record(const h5::Group& group, const std::string& name) {
  ExperimentRecord record;
  record.name = name;
  record.kind = group.text("kind").value_or("");
  record.metric = group.text("metric").value_or("");
  record.noise_floor = group.number("noise_floor").value_or(0);
  for (const std::string& attribute : group.attribute_names()) {
    if (attribute == "kind" || attribute == "metric" || attribute == "noise_floor") continue;
    if (const auto text = group.text(attribute)) {
      record.attributes[attribute] = *text;
    } else if (const auto integer = group.integer(attribute)) {
      record.attributes[attribute] = *integer;
    } else if (const auto number = group.number(attribute)) {
      record.attributes[attribute] = *number;
    }
  }
  for (const std::string& child : group.names()) {
    if (group.is_group(child)) continue;
    const h5::Dataset dataset = group.open_dataset(child);
    if (child == "spec_json") {
      const auto texts = read_texts(dataset);
      record.spec_json = texts.empty() ? "" : texts.front();
    } else {
      read_array(dataset, child, record);
    }
  }
  return cells_of_grid(std::move(record));
}

void collect(const h5::Group& group, const std::string& prefix,
             std::vector<ExperimentRecord>& records) {
  for (const std::string& name : group.names()) {
    if (!group.is_group(name)) continue;
    const h5::Group child = group.open_group(name);
    if (child.has_attribute("kind")) records.push_back(read_record(child, prefix + name));
    collect(child, prefix + name + "/", records);
  }
}

}  // namespace

const NamedArray* ExperimentRecord::array(std::string_view array_name) const {
  return find(arrays, array_name);
}
const NamedIntegers* ExperimentRecord::integer(std::string_view array_name) const {
  return find(integers, array_name);
}
const NamedTexts* ExperimentRecord::text(std::string_view array_name) const {
  return find(texts, array_name);
}
std::optional<std::string> ExperimentRecord::text_attribute(const std::string& attribute) const {
  return attribute_of<std::string>(*this, attribute);
}
std::optional<std::int64_t> ExperimentRecord::integer_attribute(
    const std::string& attribute) const {
  return attribute_of<std::int64_t>(*this, attribute);
}
std::optional<double> ExperimentRecord::number_attribute(const std::string& attribute) const {
  return attribute_of<double>(*this, attribute);
}

const char* verdict_name(VerdictLevel level) {
  switch (level) {
    case VerdictLevel::backed_up:
      return "undetermined (backed up)";
    case VerdictLevel::undetermined:
      return "undetermined";
    case VerdictLevel::no_effect:
      return "no effect";
    case VerdictLevel::causal:
      break;
  }
  return "causal";
}

std::optional<VerdictLevel> verdict_level(std::int64_t value) {
  for (const VerdictLevel level : kVerdictLevels) {
    if (static_cast<std::int64_t>(level) == value) return level;
  }
  return std::nullopt;
}

void CaptureWriter::write_experiment(const ExperimentRecord& record) {
  storage_detail::write_experiment(*state_->root, record, state_->compressor);
}

std::vector<ExperimentRecord> CaptureReader::experiments() const {
  if (!state_->root->is_group("experiments")) return {};
  return read_experiments(state_->root->open_group("experiments"));
}

namespace storage_detail {

void write_experiment(h5::Group& root, const ExperimentRecord& record,
                      ChunkCompressor& compressor) {
  const std::vector<std::string> parts = split(record.name, '/');
  const std::string path = "experiments/" + record.name;
  if (!std::all_of(parts.begin(), parts.end(), is_plain_name) ||
      (root.is_group(path) && root.open_group(path).has_attribute("kind"))) {
    misuse(path, "the name of an experiment", "a new name", quote(record.name));
  }
  const ExperimentRecord stored = grid_of_cells(record);
  h5::Group group = root.require_group(path);
  set_attributes(group, stored);
  if (!stored.spec_json.empty()) put_text(group, "spec_json", stored.spec_json, "experiments");
  for (const NamedTexts& array : stored.texts) put_text_array(group, array, compressor);
  for (const NamedIntegers& array : stored.integers) put_integers(group, array, compressor);
  for (const NamedArray& array : stored.arrays) {
    put_table(group, array.name, {.type = h5::Type::of(h5::Scalar::f64), .dims = extents_of(array)},
              {"experiments", -1, array.dims}, bytes_of(array.values), compressor);
  }
}

std::vector<ExperimentRecord> read_experiments(const h5::Group& group) {
  std::vector<ExperimentRecord> records;
  collect(group, "", records);
  return records;
}

}  // namespace storage_detail
}  // namespace attnscope
