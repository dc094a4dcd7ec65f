#include "verify_maps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "attnscope/support/text.h"
#include "decode.h"

namespace attnscope::storage_detail {
namespace {

constexpr std::size_t kTaskBytes = 4U << 20U;  // stored bytes that one check gets at least

std::int64_t position(const std::vector<std::int64_t>& list, std::int64_t index) {
  return list.empty() ? index : list[static_cast<std::size_t>(index)];
}

double row_tolerance(const MapSpec& spec) {
  if (spec.dtype == MapDType::f32) return 1e-6;
  const bool small_values = spec.dtype == MapDType::f16 || spec.floor == Floor::on;
  return 0x1p-11 + (small_values ? static_cast<double>(spec.keys) * 0x1p-24 : 0);
}

// Stored keys that a query sees.
struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

KeyRange visible_keys(const MapSpec& spec, std::int64_t query) {
  if (!spec.causal) return {0, spec.keys};
  const std::int64_t i = position(spec.subset.q_positions, query);
  const std::int64_t first = spec.window == 0 ? 0 : std::max<std::int64_t>(0, i - spec.window + 1);
  const auto index_of = [&spec](std::int64_t key) {
    const auto& kept = spec.subset.k_positions;
    if (kept.empty()) return std::clamp<std::int64_t>(key, 0, spec.keys);
    return static_cast<std::int64_t>(std::lower_bound(kept.begin(), kept.end(), key) -
                                     kept.begin());
  };
  return {index_of(first), index_of(i + 1)};
}

std::vector<float> half_table() {
  std::vector<float> table(1U << 16U);
  for (std::size_t bits = 0; bits < table.size(); ++bits) {
    table[bits] = from_half(static_cast<std::uint16_t>(bits));
  }
  return table;
}

// Several sums side by side, which the compiler can keep in one register.
double sum_of(const float* values, std::int64_t count) {
  constexpr std::int64_t kLanes = 8;
  std::array<double, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[static_cast<std::size_t>(lane)] += values[i + lane];
    }
  }
  double sum = 0;
  for (; i < count; ++i) sum += values[i];
  for (const double lane : lanes) sum += lane;
  return sum;
}

template <typename Wrong>
bool any_of(const float* values, std::int64_t count, Wrong wrong) {
  int found = 0;
  for (std::int64_t i = 0; i < count; ++i) found |= wrong(values[i]) ? 1 : 0;
  return found != 0;
}

bool any_nan(const float* values, std::int64_t count) {
  return any_of(values, count, [](float v) { return v != v; });
}

// What must hold of the values of one map.
class Rules {
 public:
  Rules(const StoredSite& site, const RowFacts& facts) : site_(site), facts_(facts) {
    const MapSpec& spec = *site.map;
    scores_ = spec.kind == MapKind::scores;
    sums_ = !scores_ && spec.row_sum != RowSum::free;
  }

  std::int64_t head(std::int64_t slot) const { return position(spec().subset.heads, slot); }
  std::int64_t query(std::int64_t slot) const { return position(spec().subset.q_positions, slot); }
  const MapSpec& spec() const { return *site_.map; }
  bool may_be_nan(std::int64_t slot, std::int64_t row) const {
    return facts_.is_nan(site_.hook.layer, head(slot), query(row));
  }

  bool is_wrong(const float* values, std::int64_t count) const {
    if (scores_) {
      constexpr float kLargest = std::numeric_limits<float>::max();
      return any_of(values, count, [](float v) { return !(v <= kLargest); });
    }
    if (!sums_) return any_nan(values, count);
    constexpr float kMost = 1 + 0x1p-11F + 1e-6F;
    return any_of(values, count, [](float v) { return !(v >= 0 && v <= kMost); });
  }
  bool is_not_empty(const float* values, std::int64_t count) const {
    if (scores_) {
      return any_of(values, count,
                    [](float v) { return v != -std::numeric_limits<float>::infinity(); });
    }
    return any_of(values, count, [](float v) { return v != 0; });
  }

  std::optional<Finding> sum(std::int64_t slot, std::int64_t row, double sum) const {
    if (!sums_) return std::nullopt;
    const double tolerance = row_tolerance(spec());
    const bool with_sink = spec().row_sum == RowSum::sink;
    const auto sink =
        with_sink ? facts_.sink(site_.hook.layer, head(slot), query(row)) : std::nullopt;
    const double total = sum + sink.value_or(0);
    const bool fine =
        with_sink && !sink ? total <= 1 + tolerance : std::fabs(total - 1) <= tolerance;
    if (fine) return std::nullopt;
    return finding(
        "row sum of head " + std::to_string(head(slot)) + ", query " + std::to_string(query(row)),
        "1 ± " + format_number(tolerance, 3), total);
  }

  // The first cell of a tile's row that is wrong; `begin` is the key of values[0].
  Finding cell(std::int64_t slot, std::int64_t row, std::int64_t begin, const float* values,
               KeyRange visible, std::int64_t count) const {
    for (std::int64_t k = 0; k < count; ++k) {
      const bool seen = begin + k >= visible.begin && begin + k < visible.end;
      const bool bad = seen ? is_wrong(values + k, 1) : is_not_empty(values + k, 1);
      if (!bad) continue;
      const std::string place =
          " at [" + std::to_string(head(slot)) + "," + std::to_string(query(row)) + "," +
          std::to_string(position(spec().subset.k_positions, begin + k)) + "]";
      if (!seen) return finding("masked cell" + place, scores_ ? "-inf" : "0", values[k]);
      return finding("value" + place, scores_ ? "a number or -inf" : "0 … 1", values[k]);
    }
    return finding("a row", "", std::numeric_limits<double>::quiet_NaN());
  }

  Finding finding(const std::string& what, const std::string& expected, double got) const {
    return {site_.path, what, expected, format_number(got, 9)};
  }

 private:
  const StoredSite& site_;
  const RowFacts& facts_;
  bool scores_ = false;
  bool sums_ = false;  // rows add up to something
};

// Decodes whole rows of tiles and checks them.
class TileRowsCheck {
 public:
  TileRowsCheck(const StoredSite& site, const RowFacts& facts)
      : path_(site.path), rules_(site, facts), grid_(*site.map) {
    if (site.map->dtype == MapDType::f16) half_ = half_table();
    values_.resize(
        static_cast<std::size_t>(grid_.tile_heads() * grid_.tile_queries() * grid_.tile_keys()));
    raw_.resize(values_.size() * (half_.empty() ? 4 : 2));
  }

  CheckResult run(const std::vector<h5::StoredPart>& tiles) {
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const h5::Dims& at = tiles[i].at;
      const bool same_rows = i > 0 && tiles[i - 1].at[0] == at[0] && tiles[i - 1].at[1] == at[1];
      if (!same_rows) begin_rows(at);
      add(tiles[i]);
      const bool last =
          i + 1 == tiles.size() || tiles[i + 1].at[0] != at[0] || tiles[i + 1].at[1] != at[1];
      if (last) end_rows();
    }
    return std::move(result_);
  }

 private:
  static std::int64_t i64(std::uint64_t n) { return static_cast<std::int64_t>(n); }
  std::size_t slot(std::int64_t h, std::int64_t q) const {
    return static_cast<std::size_t>(h * grid_.tile_queries() + q);
  }

  void begin_rows(const h5::Dims& at) {
    head_ = i64(at[0]);
    query_ = i64(at[1]);
    heads_ = std::min(grid_.tile_heads(), rules_.spec().heads - head_);
    queries_ = std::min(grid_.tile_queries(), rules_.spec().queries - query_);
    sums_.assign(slot(grid_.tile_heads(), 0), 0);
    nan_.assign(sums_.size(), false);
    damaged_ = false;
  }

  void add(const h5::StoredPart& tile) {
    if (!decoder_.decode(tile.bytes, tile.filter_mask, half_.empty() ? 4 : 2, raw_)) {
      damaged_ = true;
      return keep(head_, {path_, "a stored tile", "shuffled and deflated values", "others"});
    }
    if (half_.empty()) {
      std::memcpy(values_.data(), raw_.data(), raw_.size());
    } else {
      const auto* bits = reinterpret_cast<const std::uint16_t*>(raw_.data());
      for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = half_[bits[i]];
    }
    const std::int64_t key = i64(tile.at[2]);
    const std::int64_t keys = std::min(grid_.tile_keys(), rules_.spec().keys - key);
    for (std::int64_t h = 0; h < heads_; ++h) {
      for (std::int64_t q = 0; q < queries_; ++q) {
        add_row(h, q, key,
                values_.data() + slot(h, q) * static_cast<std::size_t>(grid_.tile_keys()), keys);
      }
    }
  }

  void add_row(std::int64_t h, std::int64_t q, std::int64_t key, const float* row,
               std::int64_t keys) {
    const KeyRange visible = visible_keys(rules_.spec(), query_ + q);
    const std::int64_t begin = std::clamp<std::int64_t>(visible.begin - key, 0, keys);
    const std::int64_t end = std::clamp<std::int64_t>(visible.end - key, begin, keys);
    if (any_nan(row, keys) && rules_.may_be_nan(head_ + h, query_ + q)) {
      nan_[slot(h, q)] = true;
      return;
    }
    if (rules_.is_not_empty(row, begin) || rules_.is_wrong(row + begin, end - begin) ||
        rules_.is_not_empty(row + end, keys - end)) {
      keep(head_ + h, rules_.cell(head_ + h, query_ + q, key, row, visible, keys));
    }
    sums_[slot(h, q)] += sum_of(row + begin, end - begin);
  }

  void end_rows() {
    if (damaged_) return;
    for (std::int64_t h = 0; h < heads_; ++h) {
      for (std::int64_t q = 0; q < queries_; ++q) {
        if (nan_[slot(h, q)]) {
          ++result_.nan_rows;
          continue;
        }
        if (auto found = rules_.sum(head_ + h, query_ + q, sums_[slot(h, q)])) {
          keep(head_ + h, std::move(*found));
        }
      }
    }
  }

  // One bad head gives one line.
  void keep(std::int64_t head_slot, Finding finding) {
    if (!bad_heads_.insert(head_slot).second) return;
    result_.items.push_back({path_ + "#" + std::to_string(head_slot), std::move(finding)});
  }

  const std::string& path_;
  Rules rules_;
  TileGrid grid_;
  ChunkDecoder decoder_;
  std::vector<float> half_;  // values of all bit patterns, f16 maps only
  std::vector<std::byte> raw_;
  std::vector<float> values_;
  std::int64_t head_ = 0, query_ = 0, heads_ = 0, queries_ = 0;  // of the current rows of tiles
  std::vector<double> sums_;
  std::vector<bool> nan_;
  bool damaged_ = false;
  std::set<std::int64_t> bad_heads_;
  CheckResult result_;
};

}  // namespace

MapVerifier::MapVerifier(const StoredSite& site, std::shared_ptr<const RowFacts> facts,
                         CheckQueue& queue)
    : site_(std::make_shared<StoredSite>(site)),
      facts_(std::move(facts)),
      queue_(queue),
      expected_(TileGrid(*site.map).tiles()) {}

// Tiles that had to come before `at` and did not; a null `at` is the end of the map.
void MapVerifier::expect_before(const h5::Dims* at) {
  const auto place = [](const Tile& tile) {
    return h5::Dims{static_cast<std::uint64_t>(tile.head), static_cast<std::uint64_t>(tile.query),
                    static_cast<std::uint64_t>(tile.key)};
  };
  while (next_ < expected_.size() && (at == nullptr || place(expected_[next_]) < *at)) {
    if (!std::exchange(missing_, true)) {
      const Tile& tile = expected_[next_];
      const std::string where = std::to_string(tile.head) + "," + std::to_string(tile.query) + "," +
                                std::to_string(tile.key);
      queue_.push([path = site_->path, where] {
        return CheckResult{
            .items = {
                {path + "#tiles", {path, "a tile is not stored", "one at [" + where + "]", ""}}}};
      });
    }
    ++next_;
  }
  if (at != nullptr && next_ < expected_.size() && place(expected_[next_]) == *at) ++next_;
}

void MapVerifier::add(h5::StoredPart& tile) {
  expect_before(&tile.at);
  const bool new_rows =
      rows_.empty() || rows_.back().at[0] != tile.at[0] || rows_.back().at[1] != tile.at[1];
  if (new_rows && bytes_ >= kTaskBytes) flush();
  bytes_ += tile.bytes.size();
  rows_.push_back({tile.at, tile.filter_mask, std::move(tile.bytes)});
}

void MapVerifier::flush() {
  if (rows_.empty()) return;
  auto rows = std::make_shared<std::vector<h5::StoredPart>>(std::exchange(rows_, {}));
  bytes_ = 0;
  queue_.push(
      [site = site_, facts = facts_, rows] { return TileRowsCheck(*site, *facts).run(*rows); });
}

void MapVerifier::finish() {
  expect_before(nullptr);
  flush();
}

}  // namespace attnscope::storage_detail
