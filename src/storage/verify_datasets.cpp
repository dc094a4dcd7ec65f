#include "verify_datasets.h"

#include <algorithm>

#include "attnscope/support/sha256.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "verify_parts.h"
#include "writer_state.h"

namespace attnscope::storage_detail {
namespace {

bool is_map(Site site) {
  return site == Site::pattern || site == Site::attn_scores;
}

template <typename T>
std::int64_t count_nan(const std::vector<std::byte>& bytes) {
  const auto* values = reinterpret_cast<const T*>(bytes.data());
  const std::size_t count = bytes.size() / sizeof(T);
  std::int64_t found = 0;
  for (std::size_t i = 0; i < count; ++i) found += values[i] != values[i] ? 1 : 0;
  return found;
}

std::string numbers(const h5::Dims& dims) {
  std::vector<std::string> parts;
  for (const std::uint64_t extent : dims) parts.push_back(std::to_string(extent));
  return "[" + join(parts, ",") + "]";
}

bool is_one_of(const std::string& value, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), value) != names.end();
}

}  // namespace

DatasetVerifier::DatasetVerifier(const CaptureReader& reader, std::vector<Finding>& findings)
    : reader_(reader), findings_(findings) {
  const auto sizes = reader.model().sizes;
  if (const auto found = sizes.find("n_layers"); found != sizes.end()) layers_ = found->second;
}

void DatasetVerifier::add(const h5::Dataset& dataset, const std::string& what,
                          const std::string& expected, const std::string& got) {
  findings_.push_back({dataset.path(), what, expected, got});
}

void DatasetVerifier::check_below(const h5::Group& group) {
  note_errors(group.path(), findings_, [&] { group.require_readable_attributes(); });
  for (const std::string& name : group.names()) {
    if (group.is_group(name)) {
      check_below(group.open_group(name));
    } else {
      note_errors(group.path() == "/" ? "/" + name : group.path() + "/" + name, findings_,
                  [&] { check(group.open_dataset(name)); });
    }
  }
}

void DatasetVerifier::finish() {
  queue_.finish(findings_);
}

std::optional<DatasetVerifier::Place> DatasetVerifier::place_of(const std::string& path) {
  const std::vector<std::string> parts = split(path.substr(1), '/');
  const bool packed = parts.size() == 2 && parts[0] == "packed";
  const bool own = parts.size() == 4 && parts[0] == "prompts" && parts[2] == "cache";
  if (!packed && !own) return std::nullopt;
  const auto hook = parse_hook(parts.back());
  if (!hook || hook_name(*hook) != parts.back()) return std::nullopt;
  if (packed) return Place{*hook, -1};
  const std::string digits = parts[1].substr(std::min<std::size_t>(1, parts[1].size()));
  const auto number = parse_integer("1" + digits);  // leading zeros are not a number
  const std::int64_t prompt = number ? *number - 1'000'000 : -1;
  if (prompt < 0 || prompt > 999'999 || prompt_group_name(static_cast<int>(prompt)) != parts[1]) {
    return std::nullopt;
  }
  return Place{*hook, static_cast<int>(prompt)};
}

void DatasetVerifier::check(const h5::Dataset& dataset) {
  dataset.require_readable_attributes();
  check_labels(dataset);
  check_subsets(dataset);
  const auto place = place_of(dataset.path());
  if (place) check_site(dataset, *place);
  std::unique_ptr<MapVerifier> map;
  if (place && is_map(place->hook.site)) {
    check_map_attributes(dataset);
    map = map_verifier(dataset, *place);
  }
  const h5::Scalar scalar = dataset.type().scalar;
  const bool count_values = place && !map && dataset.chunk().empty();
  Sha256 hash;
  dataset.for_each_stored_part([&](h5::StoredPart& part) {
    hash.update(part.bytes.data(), part.bytes.size());
    if (map) {
      map->add(part);
    } else if (count_values && scalar == h5::Scalar::f32) {
      nan_values_ += count_nan<float>(part.bytes);
    } else if (count_values && scalar == h5::Scalar::f64) {
      nan_values_ += count_nan<double>(part.bytes);
    }
  });
  if (map) map->finish();
  const std::string expected = dataset.text("sha256").value_or("");
  const std::string got = hash.finish();
  if (got != expected) add(dataset, "SHA-256", expected, got);
}

void DatasetVerifier::check_labels(const h5::Dataset& dataset) {
  for (const char* name : {"site", "dims", "sha256"}) {
    if (!dataset.text(name)) add(dataset, std::string("attribute ") + name, "text", "none");
  }
  const auto layer = dataset.integer("layer");
  if (!layer) {
    add(dataset, "attribute layer", "an integer", "none");
  } else if (*layer < -1 || (layers_ > 0 && *layer >= layers_)) {
    add(dataset, "attribute layer", "−1 … " + std::to_string(layers_ - 1), std::to_string(*layer));
  }
  const std::vector<std::string> labels = dataset.labels();
  if (labels.size() != dataset.dims().size()) {
    add(dataset, "dimension labels", std::to_string(dataset.dims().size()),
        std::to_string(labels.size()));
  }
  const std::string dims = dataset.text("dims").value_or("");
  if (dims != join(labels, " ")) {
    add(dataset, "dimension labels and attribute dims", quote(dims), quote(join(labels, " ")));
  }
}

// Lists of what was kept: one entry for each index of the axis that they are about.
void DatasetVerifier::check_subsets(const h5::Dataset& dataset) {
  struct List {
    const char* name;
    const char* axes;
  };
  const std::vector<std::string> labels = dataset.labels();
  const h5::Dims dims = dataset.dims();
  for (const List& list : {List{"heads", "hg"}, {"q_positions", "q"}, {"k_positions", "k"}}) {
    if (!dataset.has_attribute(list.name)) continue;
    const std::vector<std::int64_t> kept = dataset.integers(list.name);
    const bool ascend =
        !kept.empty() && kept.front() >= 0 &&
        std::adjacent_find(kept.begin(), kept.end(), std::greater_equal<>()) == kept.end();
    if (!ascend)
      add(dataset, std::string("attribute ") + list.name, "ascending from 0", "another order");
    bool fits = false;
    for (std::size_t a = 0; a < std::min(labels.size(), dims.size()); ++a) {
      const bool about = labels[a].size() == 1 &&
                         std::string_view(list.axes).find(labels[a]) != std::string_view::npos;
      fits |= about && dims[a] == kept.size();
    }
    if (!fits) {
      add(dataset, std::string("attribute ") + list.name, "one entry an index of its axis",
          std::to_string(kept.size()) + " for " + numbers(dims));
    }
  }
}

void DatasetVerifier::check_site(const h5::Dataset& dataset, const Place& place) {
  const FileLayout layout = place.prompt < 0 ? FileLayout::packed : FileLayout::per_prompt;
  const std::string dims = join(stored_dims(place.hook.site, layout), " ");
  if (const std::string got = dataset.text("dims").value_or(""); got != dims) {
    add(dataset, "attribute dims", quote(dims), quote(got));
  }
  const std::string site = site_label(place.hook);
  if (const std::string got = dataset.text("site").value_or(""); got != site) {
    add(dataset, "attribute site", quote(site), quote(got));
  }
  if (const auto got = dataset.integer("layer"); got && *got != place.hook.layer) {
    add(dataset, "attribute layer", std::to_string(place.hook.layer), std::to_string(*got));
  }
}

void DatasetVerifier::check_map_attributes(const h5::Dataset& dataset) {
  const auto require = [&](const char* name, bool fine, const std::string& expected) {
    if (!fine) add(dataset, std::string("attribute ") + name, expected, "another value or none");
  };
  const auto causal = dataset.integer("causal");
  require("causal", causal && (*causal == 0 || *causal == 1), "0 or 1");
  const auto window = dataset.integer("window");
  require("window", window && *window >= 0, "0 or more keys");
  const std::string dtype = dataset.text("map_dtype").value_or("");
  const h5::Scalar scalar = dtype == "f16" ? h5::Scalar::f16 : h5::Scalar::f32;
  require("map_dtype", is_one_of(dtype, {"r10", "f32", "f16"}) && dataset.type().scalar == scalar,
          "r10, f32 or f16, as the values are stored");
  const auto floor = dataset.number("floor");
  require("floor", floor && (*floor == 0 || *floor == kMapFloor), "0 or 2^-24");
  require("row_sum", is_one_of(dataset.text("row_sum").value_or(""), {"one", "sink", "free"}),
          "one, sink or free");
}

std::unique_ptr<MapVerifier> DatasetVerifier::map_verifier(const h5::Dataset& dataset,
                                                           const Place& place) {
  const h5::Dims dims = dataset.dims();
  const bool empty = std::find(dims.begin(), dims.end(), 0U) != dims.end();
  const auto site = place.prompt >= 0 && place.prompt < reader_.prompts() && dims.size() == 3
                        ? reader_.site(place.prompt, place.hook)
                        : std::nullopt;
  if (empty || !site || !site->map) {
    add(dataset, "a map", "[h q k] of a prompt", numbers(dims));
    return nullptr;
  }
  const h5::Scalar scalar = site->map->dtype == MapDType::f16 ? h5::Scalar::f16 : h5::Scalar::f32;
  const TileGrid grid(*site->map);
  const h5::Dims tile{static_cast<std::uint64_t>(grid.tile_heads()),
                      static_cast<std::uint64_t>(grid.tile_queries()),
                      static_cast<std::uint64_t>(grid.tile_keys())};
  if (dataset.chunk() != tile || dataset.filters() != h5::Filters::shuffle_deflate ||
      dataset.type().scalar != scalar) {
    add(dataset, "how the map is stored", "shuffled and deflated tiles of " + numbers(tile),
        "tiles of " + numbers(dataset.chunk()));
    return nullptr;
  }
  return std::make_unique<MapVerifier>(*site, facts(place.prompt, place.hook.stack), queue_);
}

// Datasets come prompt by prompt, so that one table at a time is enough.
std::shared_ptr<const RowFacts> DatasetVerifier::facts(int prompt, Stack stack) {
  if (!facts_ || facts_of_ != std::pair(prompt, stack)) {
    facts_ = std::make_shared<RowFacts>(reader_, prompt, stack);
    facts_of_ = {prompt, stack};
  }
  return facts_;
}

}  // namespace attnscope::storage_detail
