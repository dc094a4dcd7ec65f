#include "attnscope/storage/schema.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "attnscope/support/text.h"

namespace attnscope {
namespace {

constexpr std::int64_t kTile = 256;
// Up to this many positions a tile of one head is so small that all heads share one.
constexpr std::int64_t kAllHeads = 128;

constexpr std::int64_t kPyramidStep = 4;
constexpr std::int64_t kFlatTokens = 1024;  // maps up to this size have no pyramid
constexpr std::int64_t kTopSide = 256;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

constexpr std::array<const char*, 10> kKindNames{"capture",  "ablate", "patch", "verdict",
                                                 "lens",     "probe",  "prune", "explain",
                                                 "generate", "diff"};
constexpr std::array<const char*, 4> kStackNames{"self", "encoder", "decoder", "cross"};

struct Interval {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

// The positions of stored rows or columns [begin, begin + count).
Interval positions(const std::vector<std::int64_t>& list, std::int64_t begin, std::int64_t count) {
  if (list.empty()) return {begin, begin + count - 1};
  const auto first = list.begin() + begin;
  const auto [low, high] = std::minmax_element(first, first + count);
  return {*low, *high};
}

}  // namespace

const char* file_kind_name(FileKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

std::optional<FileKind> parse_file_kind(std::string_view name) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i) {
    if (name == kKindNames[i]) return static_cast<FileKind>(i);
  }
  return std::nullopt;
}

const char* stack_name(Stack stack) {
  return kStackNames[static_cast<std::size_t>(stack)];
}

std::optional<Stack> parse_stack(std::string_view name) {
  for (std::size_t i = 0; i < kStackNames.size(); ++i) {
    if (name == kStackNames[i]) return static_cast<Stack>(i);
  }
  return std::nullopt;
}

std::string prompt_group_name(int prompt) {
  std::array<char, 16> name{};
  std::snprintf(name.data(), name.size(), "p%06d", prompt);
  return name.data();
}

std::vector<std::string> stored_dims(Site site, FileLayout layout) {
  std::vector<std::string> dims = split(site_info(site).dims, ' ');
  dims.erase(dims.begin());
  const bool is_map = site == Site::pattern || site == Site::attn_scores;
  if (layout == FileLayout::packed && !is_map) dims.front().assign(1, 'n');
  return dims;
}

PositionAxis position_axis(Site site) {
  return stored_dims(site, FileLayout::per_prompt).front() == "k" ? PositionAxis::key
                                                                  : PositionAxis::query;
}

TileGrid::TileGrid(const MapSpec& spec) : spec_(spec) {
  const bool all_heads = std::max(spec.queries, spec.keys) <= kAllHeads;
  tile_heads_ = all_heads ? spec.heads : 1;
  tile_queries_ = std::min(kTile, spec.queries);
  tile_keys_ = std::min(kTile, spec.keys);
}

Tile TileGrid::tile_at(std::int64_t head, std::int64_t query, std::int64_t key) const {
  return {.head = head,
          .query = query,
          .key = key,
          .heads = std::min(tile_heads_, spec_.heads - head),
          .queries = std::min(tile_queries_, spec_.queries - query),
          .keys = std::min(tile_keys_, spec_.keys - key)};
}

std::vector<Tile> TileGrid::tiles() const {
  std::vector<Tile> out;
  for (std::int64_t h = 0; h < spec_.heads; h += tile_heads_) {
    for (std::int64_t q = 0; q < spec_.queries; q += tile_queries_) {
      for (std::int64_t k = 0; k < spec_.keys; k += tile_keys_) {
        const Tile tile = tile_at(h, q, k);
        if (!is_masked(tile)) out.push_back(tile);
      }
    }
  }
  return out;
}

std::vector<Tile> TileGrid::tiles_of_rows(std::int64_t query) const {
  std::vector<Tile> out = tiles();
  std::erase_if(out, [query](const Tile& tile) { return tile.query != query; });
  return out;
}

bool TileGrid::is_masked(const Tile& tile) const {
  if (!spec_.causal) return false;
  const Interval q = positions(spec_.subset.q_positions, tile.query, tile.queries);
  const Interval k = positions(spec_.subset.k_positions, tile.key, tile.keys);
  const bool future = k.low > q.high;
  const bool outside_window = spec_.window > 0 && k.high <= q.low - spec_.window;
  return future || outside_window;
}

float TileGrid::fill() const {
  return spec_.kind == MapKind::scores ? -std::numeric_limits<float>::infinity() : 0.0F;
}

TileTarget TileGrid::target() const {
  return {.dtype = spec_.dtype,
          .floor = spec_.floor,
          .heads = tile_heads_,
          .queries = tile_queries_,
          .keys = tile_keys_,
          .padding = fill()};
}

std::vector<std::int64_t> pyramid_factors(const MapSpec& map) {
  std::vector<std::int64_t> factors;
  const bool whole = map.subset.q_positions.empty() && map.subset.k_positions.empty();
  const std::int64_t side = std::max(map.queries, map.keys);
  if (map.kind != MapKind::pattern || !whole || side <= kFlatTokens) return factors;
  for (std::int64_t f = kPyramidStep; factors.empty() || side > kTopSide * factors.back();
       f *= kPyramidStep) {
    factors.push_back(f);
  }
  return factors;
}

MapSpec pyramid_map(const MapSpec& map, std::int64_t factor) {
  MapSpec level = map;
  level.queries = ceil_div(map.queries, factor);
  level.keys = ceil_div(map.keys, factor);
  // Square (a, b) holds a seen cell while its nearest corner does: (a − b)·factor − factor + 1 is
  // the least distance of a query to a key in it.
  if (map.window > 0) level.window = ceil_div(map.window + factor - 1, factor);
  level.dtype = MapDType::r7;
  level.floor = Floor::off;
  level.row_sum = RowSum::free;
  return level;
}

}  // namespace attnscope
