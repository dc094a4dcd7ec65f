// File: schema.h
// The file format attnscope/1 as plain structs: what a file says about its model, its run and its
// prompts, and how attention maps are cut into tiles. src/storage/SCHEMA.md lists every group,
// dataset and attribute; a test compares it with what is written.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attnscope/sites/site.h"
#include "attnscope/storage/codec.h"

namespace attnscope {

inline constexpr const char* kSchemaName = "attnscope/1";
inline constexpr std::array<std::int64_t, 2> kSchemaVersion{1, 0};
// Up to this many prompts each one has its own group; more are packed unless asked otherwise.
inline constexpr int kMaxPromptGroups = 64;

enum class FileKind : std::uint8_t {
  capture,
  ablate,
  patch,
  verdict,
  lens,
  probe,
  prune,
  explain,
  generate,
  diff
};
const char* file_kind_name(FileKind kind);
std::optional<FileKind> parse_file_kind(std::string_view name);

enum class FileLayout : std::uint8_t { per_prompt, packed };

// Shard `index` of `count`, counted from 0.
struct ShardId {
  int index = 0;
  int count = 1;
  bool operator==(const ShardId&) const = default;
};

// Root attributes.
struct FileInfo {
  FileKind kind = FileKind::capture;
  std::string run_id;  // hash of configuration and inputs
  std::string tool_version;
  std::string git_commit;
  std::optional<ShardId> shard;  // a part of a longer run
};

// /model. Sizes that differ between layers hold the largest.
struct ModelInfo {
  std::string name;
  std::string family;
  std::map<std::string, std::int64_t> sizes;  // n_layers, n_heads, n_kv_heads, d_model, d_head …
  std::string config_sha256;
  std::string weights_sha256;
  std::string tokenizer_sha256;
  std::string config_json;
};

// /run. No clock, host, path or command line: the same configuration must give the same bytes.
struct RunInfo {
  std::string device;
  std::string dtype;
  std::string engine;
  std::string engine_reason;  // why, where one engine computed everything; else empty
  std::int64_t threads = 1;
  std::int64_t seed = 0;
  std::map<std::string, std::string> libraries;  // "libtorch" → "2.13.0"; attribute lib_<key>
  std::string options_json;                      // resolved options
};

// The tokens of one prompt, T of them. Optional columns are empty.
struct TokenTable {
  std::vector<std::int64_t> ids;
  std::vector<std::string> text;                          // valid UTF-8, for people
  std::vector<std::string> bytes;                         // the exact bytes of each token
  std::vector<std::array<std::int32_t, 2>> char_offsets;  // code points; −1, −1 if special
  std::vector<std::int32_t> position_ids;
  std::vector<std::int32_t> token_type_ids;
  std::vector<std::int32_t> step;  // 0 = prompt, else the generation step
};

using ColumnValue = std::variant<std::string, std::int64_t, double>;

struct PromptRecord {
  std::string text;
  std::string group;
  std::string label;
  std::vector<std::pair<std::string, ColumnValue>> columns;  // further columns of the input file
  TokenTable tokens;                                         // encoder–decoder: the source
  std::optional<TokenTable> target;
};

// Which part of a site was kept; empty = all.
struct Subset {
  std::vector<std::int64_t> heads;        // query heads, or kv heads at sites with g
  std::vector<std::int64_t> q_positions;  // positions along q
  std::vector<std::int64_t> k_positions;  // positions along k: of maps, and of sites [k g d]
  bool operator==(const Subset&) const = default;
};

// What the rows of a stored pattern add up to.
enum class RowSum : std::uint8_t {
  one,   // 1
  sink,  // 1 − the mass on the learned sink
  free,  // nothing can be said: keys left out, patched patterns, mixed softmax
};

enum class MapKind : std::uint8_t { pattern, scores };  // fill 0, fill −inf

// One attention map dataset [h q k]: one layer of one prompt. h, q, k count what is stored.
struct MapSpec {
  MapKind kind = MapKind::pattern;
  std::int64_t heads = 0, queries = 0, keys = 0;
  Subset subset;
  bool causal = false;
  std::int64_t window = 0;  // sliding window in keys including the query's own; 0 = none
  MapDType dtype = MapDType::r10;
  Floor floor = Floor::off;
  RowSum row_sum = RowSum::one;
};

// A tile of a map: index of its first value and its extent inside the map.
struct Tile {
  std::int64_t head = 0, query = 0, key = 0;
  std::int64_t heads = 0, queries = 0, keys = 0;
};

// How a map is cut: tiles of 256×256 values of one head, clamped to the map; up to 128 queries and
// keys all heads lie in one tile.
class TileGrid {
 public:
  explicit TileGrid(const MapSpec& spec);
  // Extent of a full tile, the chunk of the dataset.
  std::int64_t tile_heads() const { return tile_heads_; }
  std::int64_t tile_queries() const { return tile_queries_; }
  std::int64_t tile_keys() const { return tile_keys_; }
  // Every tile that holds an unmasked value, in index order (head, query tile, key tile). The
  // others are never written: they read back as the fill value.
  std::vector<Tile> tiles() const;
  // Those tiles of one row of tiles: `query` is a multiple of tile_queries().
  std::vector<Tile> tiles_of_rows(std::int64_t query) const;
  // No query of the tile sees a key of it.
  bool is_masked(const Tile& tile) const;

  float fill() const;  // 0, or −inf for scores
  TileTarget target() const;

 private:
  Tile tile_at(std::int64_t head, std::int64_t query, std::int64_t key) const;
  MapSpec spec_;
  std::int64_t tile_heads_ = 0, tile_queries_ = 0, tile_keys_ = 0;
};

enum class Pooling : std::uint8_t { max, mean };

// One level of the pyramid of one pattern: attention/<stack>/pyramid/<layer>/max_4 …
struct PyramidLevel {
  Stack stack = Stack::self;
  std::int64_t layer = 0;
  Pooling pooling = Pooling::max;
  std::int64_t factor = 4;  // each cell stands for factor × factor cells of the pattern
};

// The levels of a pattern, finest first: 4, 16, 64 … down to at most 256 cells a side. None of maps
// up to 1024 tokens, of scores, and where only some positions are stored.
std::vector<std::int64_t> pyramid_factors(const MapSpec& map);
// A level as a map of its own [h ⌈q/factor⌉ ⌈k/factor⌉], cut into tiles and masked like one.
MapSpec pyramid_map(const MapSpec& map, std::int64_t factor);

// Path parts inside a file.
std::string prompt_group_name(int prompt);  // "p000007"
const char* stack_name(Stack stack);        // "self", "encoder", "decoder", "cross"
std::optional<Stack> parse_stack(std::string_view name);
// The axis along which the positions of a site lie that is no map; n in the packed layout.
enum class PositionAxis : std::uint8_t { query, key };
PositionAxis position_axis(Site site);
// Dims of a site in a file: no batch axis, the first axis of a packed site is n ("n h d").
std::vector<std::string> stored_dims(Site site, FileLayout layout);

}  // namespace attnscope
