// Files for the tests of the viewer that no command writes yet, from synthetic attention, through
// the same writer as all others:
//
//   viewer_files encoder_decoder OUT.h5     three stacks, maps of a translation
//   viewer_files long OUT.h5 TOKENS         some heads of a long text, with their pyramids
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/kernels/attention_statistics.h"
#include "attnscope/storage/writer.h"
#include "attnscope/support/error.h"

namespace attnscope {
namespace {

// Unnormalised weight of (layer, head, query, key) ≥ 0.
using Weight = std::function<double(int layer, int head, std::int64_t q, std::int64_t k)>;

// The attention of one stack and prompt.
struct Attention {
  Stack stack = Stack::self;
  std::vector<std::int64_t> layers;
  int n_heads = 0;
  std::vector<std::int64_t> stored_heads;  // empty = all
  std::int64_t queries = 0, keys = 0;
  bool causal = false;
  std::vector<std::int64_t> ids;  // of the keys; empty for cross-attention
  Weight weight;
};

// Largest and mean of squares of 4^n cells of one head, finest first.
class Pyramid {
 public:
  explicit Pyramid(const MapSpec& map)
      : queries_(map.queries), keys_(map.keys), factors_(pyramid_factors(map)) {
    for (const std::int64_t factor : factors_) {
      const std::size_t cells =
          static_cast<std::size_t>(side(queries_, factor) * side(keys_, factor));
      largest_.emplace_back(cells, 0.0F);
      sum_.emplace_back(cells, 0.0);
    }
  }

  void add_row(std::int64_t q, const std::vector<float>& row) {
    for (std::size_t level = 0; level < factors_.size(); ++level) {
      const std::int64_t factor = factors_[level];
      const std::int64_t begin = q / factor * side(keys_, factor);
      for (std::int64_t k = 0; k < keys_; ++k) {
        const auto cell = static_cast<std::size_t>(begin + k / factor);
        const float value = row[static_cast<std::size_t>(k)];
        largest_[level][cell] = std::max(largest_[level][cell], value);
        sum_[level][cell] += value;
      }
    }
  }

  const std::vector<float>& largest(std::size_t level) const { return largest_[level]; }
  std::vector<float> mean(std::size_t level) const {
    const std::int64_t factor = factors_[level];
    const std::int64_t columns = side(keys_, factor);
    std::vector<float> out(sum_[level].size());
    for (std::size_t cell = 0; cell < out.size(); ++cell) {
      const std::int64_t q = static_cast<std::int64_t>(cell) / columns * factor;
      const std::int64_t k = static_cast<std::int64_t>(cell) % columns * factor;
      const std::int64_t cells = std::min(factor, queries_ - q) * std::min(factor, keys_ - k);
      out[cell] = static_cast<float>(sum_[level][cell] / static_cast<double>(cells));
    }
    return out;
  }
  static std::int64_t side(std::int64_t n, std::int64_t factor) {
    return (n + factor - 1) / factor;
  }

 private:
  std::int64_t queries_, keys_;
  std::vector<std::int64_t> factors_;
  std::vector<std::vector<float>> largest_;
  std::vector<std::vector<double>> sum_;
};

class AttentionWriter {
 public:
  AttentionWriter(CaptureWriter& writer, int prompt, const Attention& attention)
      : writer_(writer), prompt_(prompt), attention_(attention), heads_(attention.stored_heads) {
    if (!heads_.empty()) return;
    for (int head = 0; head < attention.n_heads; ++head) heads_.push_back(head);
  }

  void write() {
    std::vector<std::string> head_stats, row_stats;
    for (int s = 0; s < kHeadStatCount; ++s) {
      head_stats.emplace_back(head_stat_name(static_cast<HeadStat>(s)));
    }
    for (int r = 0; r < kRowStatCount; ++r) {
      row_stats.emplace_back(row_stat_name(static_cast<RowStat>(r)));
    }
    const std::vector<std::int64_t> n_heads(attention_.layers.size(), attention_.n_heads);
    const int tables =
        writer_.open_attention(prompt_, {.stack = attention_.stack,
                                         .layers = attention_.layers,
                                         .n_heads = n_heads,
                                         .queries = attention_.queries,
                                         .keys = attention_.keys,
                                         .top_k = std::min<std::int64_t>(32, attention_.keys),
                                         .head_stats = head_stats,
                                         .row_stats = row_stats});
    for (std::size_t slot = 0; slot < attention_.layers.size(); ++slot) {
      const AttentionStatistics found = write_layer(static_cast<int>(attention_.layers[slot]));
      writer_.write_attention(tables, static_cast<std::int64_t>(slot),
                              {.head_stats = found.head_stats,
                               .row_stats = found.row_stats,
                               .topk_index = found.topk_index,
                               .topk_value = found.topk_value,
                               .key_sum = found.key_sum,
                               .value_norm = found.value_norm,
                               .overview = found.overview});
    }
    writer_.close_attention(tables);
  }

 private:
  AttentionStatistics write_layer(int layer) {
    StatisticsAccumulator statistics({.n_heads = attention_.n_heads,
                                      .n_queries = static_cast<int>(attention_.queries),
                                      .n_keys = static_cast<int>(attention_.keys),
                                      .top_k = 32,
                                      .causal = attention_.causal,
                                      .cross = attention_.stack == Stack::cross,
                                      .ids = attention_.ids});
    const MapSpec spec{.heads = static_cast<std::int64_t>(heads_.size()),
                       .queries = attention_.queries,
                       .keys = attention_.keys,
                       .subset = {.heads = attention_.stored_heads},
                       .causal = attention_.causal,
                       .floor = attention_.keys >= 4096 ? Floor::on : Floor::off};
    const int map = writer_.open_map(prompt_, {Site::pattern, layer, attention_.stack}, spec);
    std::vector<Pyramid> pyramids(heads_.size(), Pyramid(spec));
    const TileGrid grid(spec);
    // A row of tiles at a time: the map of a long text fits in no memory.
    for (std::int64_t q = 0; q < attention_.queries; q += grid.tile_queries()) {
      write_rows(layer, q, grid, map, statistics, pyramids);
    }
    writer_.close_map(map);
    write_pyramids(layer, spec, pyramids);
    const std::vector<float> norms(static_cast<std::size_t>(attention_.keys), 1.0F);
    for (int head = 0; head < attention_.n_heads; ++head) {
      statistics.set_value_norm(head, norms.data());
    }
    return statistics.finish();
  }

  void write_rows(int layer, std::int64_t q_begin, const TileGrid& grid, int map,
                  StatisticsAccumulator& statistics, std::vector<Pyramid>& pyramids) {
    const std::int64_t rows = std::min(grid.tile_queries(), attention_.queries - q_begin);
    const auto keys = static_cast<std::size_t>(attention_.keys);
    std::vector<float> block(heads_.size() * static_cast<std::size_t>(rows) * keys);
    std::vector<float> row(keys);
    for (int head = 0; head < attention_.n_heads; ++head) {
      const auto stored = std::find(heads_.begin(), heads_.end(), head);
      const auto place = static_cast<std::size_t>(stored - heads_.begin());
      for (std::int64_t r = 0; r < rows; ++r) {
        const float lse = fill_row(layer, head, q_begin + r, row);
        statistics.add_rows<float>(head, static_cast<int>(q_begin + r), 1, row.data(),
                                   attention_.keys, &lse, nullptr);
        if (stored == heads_.end()) continue;
        pyramids[place].add_row(q_begin + r, row);
        std::copy(
            row.begin(), row.end(),
            block.begin() +
                static_cast<std::ptrdiff_t>(
                    (place * static_cast<std::size_t>(rows) + static_cast<std::size_t>(r)) * keys));
      }
    }
    for (const Tile& tile : grid.tiles_of_rows(q_begin)) {
      const TileSource source{.data = block.data() + tile.head * rows * attention_.keys + tile.key,
                              .heads = tile.heads,
                              .queries = tile.queries,
                              .keys = tile.keys,
                              .head_stride = rows * attention_.keys,
                              .query_stride = attention_.keys};
      writer_.write_tile(map, tile, compressor_.compress_tile(source, grid.target()));
    }
  }

  // Returns the log of what the weights add up to.
  float fill_row(int layer, int head, std::int64_t q, std::vector<float>& row) const {
    const std::int64_t visible = attention_.causal ? q + 1 : attention_.keys;
    std::fill(row.begin(), row.end(), 0.0F);
    double sum = 0;
    for (std::int64_t k = 0; k < visible; ++k) sum += attention_.weight(layer, head, q, k);
    for (std::int64_t k = 0; k < visible; ++k) {
      row[static_cast<std::size_t>(k)] =
          static_cast<float>(attention_.weight(layer, head, q, k) / sum);
    }
    return static_cast<float>(std::log(sum));
  }

  void write_pyramids(int layer, const MapSpec& map, const std::vector<Pyramid>& pyramids) {
    const std::vector<std::int64_t> factors = pyramid_factors(map);
    for (std::size_t level = 0; level < factors.size(); ++level) {
      const TileGrid grid(pyramid_map(map, factors[level]));
      for (const Pooling pooling : {Pooling::max, Pooling::mean}) {
        const int open =
            writer_.open_pyramid(prompt_, {attention_.stack, layer, pooling, factors[level]}, map);
        std::vector<float> all;
        for (const Pyramid& pyramid : pyramids) {
          const std::vector<float> one =
              pooling == Pooling::max ? pyramid.largest(level) : pyramid.mean(level);
          all.insert(all.end(), one.begin(), one.end());
        }
        const std::int64_t rows = Pyramid::side(attention_.queries, factors[level]);
        const std::int64_t columns = Pyramid::side(attention_.keys, factors[level]);
        for (const Tile& tile : grid.tiles()) {
          const TileSource source{
              .data = all.data() + (tile.head * rows + tile.query) * columns + tile.key,
              .heads = tile.heads,
              .queries = tile.queries,
              .keys = tile.keys,
              .head_stride = rows * columns,
              .query_stride = columns};
          writer_.write_tile(open, tile, compressor_.compress_tile(source, grid.target()));
        }
        writer_.close_map(open);
      }
    }
  }

  CaptureWriter& writer_;
  int prompt_;
  const Attention& attention_;
  std::vector<std::int64_t> heads_;
  ChunkCompressor compressor_;
};

TokenTable tokens_of(const std::vector<std::string>& words) {
  TokenTable table;
  std::int32_t at = 0;
  for (const std::string& word : words) {
    table.ids.push_back(static_cast<std::int64_t>(std::hash<std::string>{}(word) % 1000));
    table.text.push_back(word);
    const auto end = static_cast<std::int32_t>(at + static_cast<std::int32_t>(word.size()));
    table.char_offsets.push_back({at, end});
    at = end + 1;
  }
  return table;
}

CaptureWriter create(const std::string& path, const std::string& name, std::int64_t layers,
                     std::int64_t heads) {
  return {
      path,
      {.run_id = name, .tool_version = "0.1.0", .git_commit = "synthetic"},
      {.name = name, .family = "synthetic", .sizes = {{"n_layers", layers}, {"n_heads", heads}}},
      {.device = "cpu", .dtype = "float32", .engine = "synthetic", .options_json = "{}"},
      {}};
}

// How sharply a head looks at `distance` from where it aims.
double peak(double distance, int head) {
  return std::exp(-std::abs(distance) * (1 + head));
}

void write_encoder_decoder(const std::string& path) {
  constexpr int kHeads = 3;
  const std::vector<std::vector<std::string>> sources{
      {"the", "cat", "sat", "on", "the", "mat", "</s>"}, {"good", "morning", "</s>"}};
  const std::vector<std::vector<std::string>> targets{{"<s>", "die", "Katze", "sass", "da"},
                                                      {"<s>", "guten", "Morgen", "alle"}};
  CaptureWriter writer = create(path, "encoder-decoder", 2, kHeads);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    PromptRecord record{.text = i == 0 ? "the cat sat on the mat" : "good morning",
                        .group = "g" + std::to_string(i),
                        .label = "",
                        .tokens = tokens_of(sources[i]),
                        .target = tokens_of(targets[i])};
    const int prompt = writer.add_prompt(record);
    const auto source = static_cast<std::int64_t>(sources[i].size());
    const auto target = static_cast<std::int64_t>(targets[i].size());
    const auto near = [](int layer, int head, std::int64_t q, std::int64_t k) {
      return peak(static_cast<double>(q - k) - layer, head);
    };
    const auto aligned = [=](int layer, int head, std::int64_t q, std::int64_t k) {
      const double aim = static_cast<double>(q * (source - 1)) / static_cast<double>(target - 1);
      return peak(static_cast<double>(k) - aim + layer, head);
    };
    const std::vector<Attention> stacks{{.stack = Stack::encoder,
                                         .layers = {0, 1},
                                         .n_heads = kHeads,
                                         .queries = source,
                                         .keys = source,
                                         .ids = record.tokens.ids,
                                         .weight = near},
                                        {.stack = Stack::decoder,
                                         .layers = {0, 1},
                                         .n_heads = kHeads,
                                         .queries = target,
                                         .keys = target,
                                         .causal = true,
                                         .ids = record.target->ids,
                                         .weight = near},
                                        {.stack = Stack::cross,
                                         .layers = {0, 1},
                                         .n_heads = kHeads,
                                         .queries = target,
                                         .keys = source,
                                         .weight = aligned}};
    for (const Attention& stack : stacks) AttentionWriter(writer, prompt, stack).write();
  }
  writer.finish();
}

// Layers 0 and 5 of four heads each, maps of heads 1 and 3.
void write_long(const std::string& path, std::int64_t tokens) {
  CaptureWriter writer = create(path, "long", 6, 4);
  std::vector<std::string> words;
  for (std::int64_t i = 0; i < tokens; ++i) words.push_back("w" + std::to_string(i % 997));
  PromptRecord record{
      .text = "a long text", .group = "g0", .label = "", .tokens = tokens_of(words)};
  const int prompt = writer.add_prompt(record);
  // The first token, what is near, and where the same word stood before.
  const auto weight = [](int layer, int head, std::int64_t q, std::int64_t k) {
    const std::int64_t distance = q - k;
    const double near = 1.0 / static_cast<double>((1 + distance) * (1 + distance));
    const double again = distance > 0 && distance % 997 == 0 ? 0.5 * head : 0.0;
    return near + again + (k == 0 ? 1.0 + layer : 0.0);
  };
  AttentionWriter(writer, prompt,
                  {.layers = {0, 5},
                   .n_heads = 4,
                   .stored_heads = {1, 3},
                   .queries = tokens,
                   .keys = tokens,
                   .causal = true,
                   .ids = record.tokens.ids,
                   .weight = weight})
      .write();
  writer.finish();
}

int usage() {
  std::fputs("usage: viewer_files encoder_decoder OUT.h5 | long OUT.h5 TOKENS\n", stderr);
  return 2;
}

int run(int argc, char** argv) {
  const std::string_view kind = argc > 2 ? argv[1] : "";
  if (kind == "encoder_decoder" && argc == 3) {
    write_encoder_decoder(argv[2]);
  } else if (kind == "long" && argc == 4) {
    const std::int64_t tokens = std::atoll(argv[3]);
    if (tokens < 1) return usage();
    write_long(argv[2], tokens);
  } else {
    return usage();
  }
  return 0;
}

}  // namespace
}  // namespace attnscope

int main(int argc, char** argv) {
  try {
    return attnscope::run(argc, argv);
  } catch (const attnscope::Error& error) {
    std::fprintf(stderr, "viewer_files: %s\n", error.what());
    return 1;
  }
}
