#include "storage/sample.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "attnscope/support/philox.h"

namespace attnscope::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> out(values.size() * sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

std::vector<float> activations(int seed, std::int64_t count, float shift) {
  Philox random(42, static_cast<std::uint64_t>(seed));
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& value : out) value = static_cast<float>(random.uniform() * 4 - 2) + shift;
  return out;
}

std::vector<std::byte> padded(const std::vector<std::string>& texts, std::size_t width) {
  std::vector<std::byte> out(texts.size() * width);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::memcpy(&out[i * width], texts[i].data(), texts[i].size());
  }
  return out;
}

std::size_t widest(const std::vector<std::string>& texts) {
  std::size_t width = 1;
  for (const auto& text : texts) width = std::max(width, text.size());
  return width;
}

class SampleWriter {
 public:
  SampleWriter(const std::string& path, const SampleOptions& options)
      : options_(options),
        writer_(path, sample_file_info(options), sample_model(options), sample_run(),
                writer_options(options)) {}

  std::vector<Expected> run() {
    for (std::size_t i = 0; i < options_.lengths.size(); ++i) {
      write_prompt(static_cast<int>(i), options_.lengths[i]);
    }
    writer_.finish();
    return std::move(expected_);
  }

 private:
  static WriterOptions writer_options(const SampleOptions& options) {
    WriterOptions out{.layout = options.layout};
    out.packed.prompts = static_cast<std::int64_t>(options.lengths.size());
    for (std::size_t i = 0; i < options.lengths.size(); ++i) {
      out.packed.tokens += options.lengths[i];
      const auto prompt =
          sample_prompt(options.first_prompt + static_cast<int>(i), options.lengths[i]);
      out.packed.token_text_bytes =
          std::max(out.packed.token_text_bytes, widest(prompt.tokens.text));
    }
    out.packed.rows = out.packed.tokens;
    return out;
  }

  bool packed() const { return options_.layout == FileLayout::packed; }

  template <typename T>
  void expect(const std::string& path, const std::string& dtype, std::vector<std::int64_t> shape,
              const std::vector<T>& values) {
    expected_.push_back({path, dtype, std::move(shape), bytes_of(values)});
  }

  void write_prompt(int index, int tokens) {
    const int number = options_.first_prompt + index;
    const PromptRecord record = sample_prompt(number, tokens);
    const int prompt = writer_.add_prompt(record);
    const std::string group = "/prompts/" + prompt_group_name(prompt);
    if (!packed()) expect_tokens(group + "/tokens/", record.tokens);
    for (int layer = 0; layer < kSampleLayers; ++layer) {
      const int seed = number * 100 + layer;
      const std::string block = "blocks." + std::to_string(layer) + ".";
      const auto resid = activations(seed, tokens * 5, options_.shift);
      writer_.write_site(prompt, {Site::resid_pre, layer},
                         contiguous_view(resid.data(), DType::f32, {tokens, 5}));
      const auto z = activations(seed + 10, tokens * kSampleHeads * 4, options_.shift);
      writer_.write_site(prompt, {Site::z, layer},
                         contiguous_view(z.data(), DType::f32, {tokens, kSampleHeads, 4}));
      if (!packed()) {
        expect(group + "/cache/" + block + "hook_resid_pre", "<f4", {tokens, 5}, resid);
        expect(group + "/cache/" + block + "attn.hook_z", "<f4", {tokens, kSampleHeads, 4}, z);
      }
      write_maps(prompt, layer, tokens, group + "/cache/" + block);
    }
    write_statistics(prompt, number, tokens, group + "/attention/self/");
  }

  void expect_tokens(const std::string& group, const TokenTable& t) {
    const auto n = static_cast<std::int64_t>(t.ids.size());
    expect(group + "ids", "<i8", {n}, t.ids);
    expected_.push_back({group + "text",
                         "|S" + std::to_string(widest(t.text)),
                         {n},
                         padded(t.text, widest(t.text))});
    std::string all;
    std::vector<std::int64_t> offsets{0};
    for (const auto& piece : t.bytes) {
      all += piece;
      offsets.push_back(static_cast<std::int64_t>(all.size()));
    }
    expect(group + "bytes", "|u1", {static_cast<std::int64_t>(all.size())},
           std::vector<char>(all.begin(), all.end()));
    expect(group + "byte_offsets", "<i8", {n + 1}, offsets);
    expect(group + "char_offsets", "<i4", {n, 2}, t.char_offsets);
    expect(group + "position_ids", "<i4", {n}, t.position_ids);
  }

  void write_maps(int prompt, int layer, int tokens, const std::string& block) {
    const auto pattern = sample_pattern(prompt * 10 + layer, kSampleHeads, tokens);
    MapSpec spec{.kind = MapKind::pattern,
                 .heads = kSampleHeads,
                 .queries = tokens,
                 .keys = tokens,
                 .causal = true,
                 .dtype = options_.map_dtype,
                 .floor = options_.floor};
    write_map(prompt, {Site::pattern, layer}, spec, pattern);
    std::vector<float> stored = pattern;
    for (float& v : stored) {
      if (options_.floor == Floor::on && std::fabs(v) < 0x1p-24F) v = 0;
      if (options_.map_dtype == MapDType::r10) v = rounded_to(10, v);
    }
    const std::vector<std::int64_t> shape{kSampleHeads, tokens, tokens};
    if (options_.map_dtype == MapDType::f16) {
      // The compiler's own conversion.
      const std::vector<_Float16> half(stored.begin(), stored.end());
      expect(block + "attn.hook_pattern", "<f2", shape, half);
    } else {
      expect(block + "attn.hook_pattern", "<f4", shape, stored);
    }
    // Scores: the log of the pattern, −inf above the diagonal.
    std::vector<float> scores = pattern;
    for (float& v : scores) v = v > 0 ? std::log(v) : -kInf;
    spec.kind = MapKind::scores;
    spec.dtype = MapDType::f32;
    spec.floor = Floor::off;
    spec.row_sum = RowSum::free;
    write_map(prompt, {Site::attn_scores, layer}, spec, scores);
    expect(block + "attn.hook_attn_scores", "<f4", shape, scores);
  }

  void write_map(int prompt, HookId hook, const MapSpec& spec, const std::vector<float>& values) {
    const TileGrid grid(spec);
    const int map = writer_.open_map(prompt, hook, spec);
    for (const Tile& tile : grid.tiles()) {
      const TileSource source{
          .data = values.data() + (tile.head * spec.queries + tile.query) * spec.keys + tile.key,
          .heads = tile.heads,
          .queries = tile.queries,
          .keys = tile.keys,
          .head_stride = spec.queries * spec.keys,
          .query_stride = spec.keys};
      writer_.write_tile(map, tile, compressor_.compress_tile(source, grid.target()));
    }
    writer_.close_map(map);
  }

  void write_statistics(int prompt, int number, int tokens, const std::string& group) {
    const std::int64_t top = std::min(8, tokens);
    const std::int64_t cells = std::min(64, tokens);
    // The second layer has one head less: its last row is padding.
    const AttentionPlan plan{.layers = {0, 1},
                             .n_heads = {kSampleHeads, kSampleHeads - 1},
                             .queries = tokens,
                             .keys = tokens,
                             .top_k = top,
                             .head_stats = {"entropy", "max"},
                             .row_stats = {"entropy", "learned_sink"}};
    const int attention = writer_.open_attention(prompt, plan);
    std::vector<float> head_stats, row_stats, topk_value, key_sum, value_norm;
    std::vector<std::int32_t> topk_index;
    std::vector<std::uint8_t> overview;
    for (int layer = 0; layer < kSampleLayers; ++layer) {
      const std::int64_t h = plan.n_heads[static_cast<std::size_t>(layer)];
      auto stats = activations(number * 7 + layer, h * 2, 0);
      for (float& v : stats) v = std::fabs(v) / 2;
      auto rows = activations(number * 7 + layer + 50, h * tokens * 2, 0);
      for (std::size_t i = 1; i < rows.size(); i += 2) rows[i] = 0;
      std::vector<std::int32_t> index(static_cast<std::size_t>(h * tokens * top), -1);
      std::vector<float> value(index.size(), kNan);
      for (std::size_t row = 0; row < static_cast<std::size_t>(h * tokens); ++row) {
        const auto visible = static_cast<std::int64_t>(row) % tokens + 1;
        for (std::int64_t j = 0; j < std::min(top, visible); ++j) {
          const std::size_t at = row * static_cast<std::size_t>(top) + static_cast<std::size_t>(j);
          index[at] = static_cast<std::int32_t>(j);
          value[at] = 1.0F / static_cast<float>(j + 2);
        }
      }
      auto sums = activations(number + layer, h * tokens, 3);
      auto norms = activations(number + layer + 5, h * tokens, 3);
      std::vector<std::uint8_t> cell(static_cast<std::size_t>(h * cells * cells));
      for (std::size_t i = 0; i < cell.size(); ++i) cell[i] = static_cast<std::uint8_t>(i * 7);
      writer_.write_attention(attention, layer,
                              {.head_stats = stats,
                               .row_stats = rows,
                               .topk_index = index,
                               .topk_value = value,
                               .key_sum = sums,
                               .value_norm = norms,
                               .overview = cell});
      const auto pad = [&](auto& all, auto& part, auto fill) {
        all.insert(all.end(), part.begin(), part.end());
        all.resize(all.size() + part.size() / static_cast<std::size_t>(h) *
                                    static_cast<std::size_t>(kSampleHeads - h),
                   fill);
      };
      pad(head_stats, stats, kNan);
      pad(row_stats, rows, kNan);
      pad(topk_index, index, std::int32_t{-1});
      pad(topk_value, value, kNan);
      pad(key_sum, sums, kNan);
      pad(value_norm, norms, kNan);
      pad(overview, cell, std::uint8_t{0});
    }
    writer_.close_attention(attention);
    const std::int64_t l = kSampleLayers;
    const std::int64_t h = kSampleHeads;
    expect(group + "layers", "<i8", {l}, plan.layers);
    expect(group + "n_heads", "<i8", {l}, plan.n_heads);
    expect(group + "head_stats", "<f4", {l, h, 2}, head_stats);
    expect(group + "row_stats", "<f4", {l, h, tokens, 2}, row_stats);
    expect(group + "topk_index", "<i4", {l, h, tokens, top}, topk_index);
    expect(group + "topk_value", "<f4", {l, h, tokens, top}, topk_value);
    expect(group + "key_sum", "<f4", {l, h, tokens}, key_sum);
    expect(group + "value_norm", "<f4", {l, h, tokens}, value_norm);
    expect(group + "overview", "|u1", {l, h, cells, cells}, overview);
  }

  SampleOptions options_;
  ChunkCompressor compressor_;
  CaptureWriter writer_;
  std::vector<Expected> expected_;
};

}  // namespace

PromptRecord sample_prompt(int index, int tokens) {
  PromptRecord record{.text = "Prompt " + std::to_string(index) + " ▁é",
                      .group = "g" + std::to_string(index % 3),
                      .label = index % 2 == 0 ? "even" : "odd",
                      .columns = {{"answer", std::string(" Mary")},
                                  {"length", std::int64_t{tokens}},
                                  {"weight", 0.5 * index},
                                  {"story", std::string(400, 'x')}}};
  for (int i = 0; i < tokens; ++i) {
    // Token 1 is the first byte of a two-byte letter: its text is the replacement character.
    record.tokens.ids.push_back((index * 31 + i * 7) % 1000);
    record.tokens.text.push_back(i == 1 ? "\xEF\xBF\xBD" : "t" + std::to_string(i % 12));
    record.tokens.bytes.push_back(i == 1 ? std::string("\xC3") : "t" + std::to_string(i % 12));
    record.tokens.char_offsets.push_back({i, i + 1});
    record.tokens.position_ids.push_back(i);
  }
  return record;
}

FileInfo sample_file_info(const SampleOptions& options) {
  return {.kind = FileKind::capture,
          .run_id = options.run_id,
          .tool_version = "0.1.0",
          .git_commit = "0000000",
          .shard = options.shard};
}

ModelInfo sample_model(const SampleOptions& options) {
  return {.name = "tiny",
          .family = "sample",
          .sizes = {{"n_layers", kSampleLayers}, {"n_heads", kSampleHeads}, {"d_model", 5}},
          .config_sha256 = "c",
          .weights_sha256 = options.weights_sha256,
          .tokenizer_sha256 = "t",
          .config_json = "{\"a\":1}"};
}

RunInfo sample_run() {
  return {.device = "cpu",
          .dtype = "float32",
          .engine = "reference",
          .threads = 1,
          .seed = 7,
          .libraries = {{"hdf5", "1.10.8"}},
          .options_json = "{\"hooks\":\"pattern\"}"};
}

std::vector<float> sample_pattern(int seed, int heads, int tokens) {
  Philox random(7, static_cast<std::uint64_t>(seed));
  std::vector<float> out(static_cast<std::size_t>(heads * tokens * tokens), 0.0F);
  for (int h = 0; h < heads; ++h) {
    for (int q = 0; q < tokens; ++q) {
      float* row = out.data() + (h * tokens + q) * tokens;
      double sum = 0;
      std::vector<double> weights;
      for (int k = 0; k <= q; ++k) {
        const double score = 6 * random.uniform() - (h + 1) * 0.3 * (q - k);
        weights.push_back(std::exp(std::max(score, -30.0)));
        sum += weights.back();
      }
      for (int k = 0; k <= q; ++k) {
        row[k] = static_cast<float>(weights[static_cast<std::size_t>(k)] / sum);
      }
    }
  }
  return out;
}

float rounded_to(int bits, float value) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  const double mantissa = std::frexp(static_cast<double>(value), &exponent);  // 0.5 ≤ |m| < 1
  // float32 subnormals have a fixed last bit; 10 bits of mantissa end at 2^-136 there.
  const int last_bit = std::max(exponent - bits - 1, -126 - bits);
  const double scaled = std::ldexp(mantissa, exponent - last_bit);
  return static_cast<float>(std::ldexp(std::nearbyint(scaled), last_bit));
}

std::vector<Expected> write_sample(const std::string& path, const SampleOptions& options) {
  return SampleWriter(path, options).run();
}

}  // namespace attnscope::testing
