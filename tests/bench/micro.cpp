// Google Benchmark set of the parts without LibTorch: codec, statistics, tokenizer.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/kernels/attention_statistics.h"
#include "attnscope/storage/codec.h"
#include "attnscope/support/philox.h"
#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope {
namespace {

// Causal softmax rows of random scores, [q k].
std::vector<float> causal_pattern(int n) {
  Philox random(1, 0);
  std::vector<float> out(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    float* row = out.data() + static_cast<std::ptrdiff_t>(i) * n;
    double sum = 0;
    for (int j = 0; j <= i; ++j) {
      row[j] = static_cast<float>(std::exp(4 * random.uniform()));
      sum += row[j];
    }
    for (int j = 0; j <= i; ++j) row[j] = static_cast<float>(row[j] / sum);
  }
  return out;
}

void compress_tile(benchmark::State& state) {
  const auto pattern = causal_pattern(256);
  ChunkCompressor compressor;
  const TileSource source{.data = pattern.data(),
                          .queries = 256,
                          .keys = 256,
                          .head_stride = 256 * 256,
                          .query_stride = 256};
  const TileTarget target{.queries = 256, .keys = 256};
  for (auto _ : state) benchmark::DoNotOptimize(compressor.compress_tile(source, target));
  state.SetBytesProcessed(state.iterations() * 256 * 256 * 4);
}
BENCHMARK(compress_tile);

void statistics_of_a_head(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  const auto pattern = causal_pattern(n);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) ids[static_cast<std::size_t>(i)] = i % 97;
  const std::vector<float> lse(static_cast<std::size_t>(n), 1.0F);
  const StatisticsShape shape{.n_heads = 1, .n_queries = n, .n_keys = n, .ids = ids};
  for (auto _ : state) {
    StatisticsAccumulator accumulator(shape);
    accumulator.add_rows<float>(0, 0, n, pattern.data(), n, lse.data(), nullptr);
    benchmark::DoNotOptimize(accumulator);
  }
  state.SetItemsProcessed(state.iterations() * n * (n + 1) / 2);
}
BENCHMARK(statistics_of_a_head)->Arg(128)->Arg(512)->Arg(2048);

void encode_text(benchmark::State& state) {
  const std::string folder =
      std::string(ATTNSCOPE_SOURCE_DIR) + "/tests/fixtures/models/tiny-random-gpt2";
  const Tokenizer tokenizer = Tokenizer::load(folder + "/tokenizer.json", "");
  std::string text;
  while (text.size() < 100000)
    text += "It was the best of times, it was the worst of times, 1859. ";
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.encode(text, {}));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(encode_text);

}  // namespace
}  // namespace attnscope
