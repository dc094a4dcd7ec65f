#include "pyramid.h"

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "attnscope/storage/h5.h"
#include "attnscope/storage/verify.h"
#include "capture_case.h"
#include "map_assembler.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

using testing::TempFolder;

MapSpec map_of(std::int64_t heads, std::int64_t tokens) {
  return {.heads = heads, .queries = tokens, .keys = tokens, .causal = true};
}

TEST(Pyramid, StartsAbove1024TokensAndEndsAt256Cells) {
  const auto factors = [](std::int64_t tokens) { return pyramid_factors(map_of(1, tokens)); };
  EXPECT_TRUE(factors(1024).empty());
  EXPECT_EQ(factors(1025), (std::vector<std::int64_t>{4, 16}));
  EXPECT_EQ(factors(4096), (std::vector<std::int64_t>{4, 16}));
  EXPECT_EQ(factors(4097), (std::vector<std::int64_t>{4, 16, 64}));
  EXPECT_EQ(factors(32768), (std::vector<std::int64_t>{4, 16, 64, 256}));
}

// A file with one prompt to which maps can be added.
class OneMapFile {
 public:
  explicit OneMapFile(const std::string& path)
      : writer_(path, {.run_id = "run", .tool_version = "1", .git_commit = "none"},
                {.name = "none"}, {}, {}) {
    writer_.add_prompt({.text = "x"});
  }
  // Feeds the map to an assembler, `block` rows at a time.
  template <typename Rows>
  void add(const MapSpec& map, std::int64_t block, const Rows& rows) {
    WritePipeline pipeline(2, 1);  // one result at a time
    std::atomic<std::int64_t> nan = 0;
    MapAssembler assembler({pipeline, writer_, nan}, 0, {Site::pattern, 0, Stack::self}, map);
    for (std::int64_t q = 0; q < map.queries; q += block) {
      assembler.add(rows(q, std::min(block, map.queries - q)), q);
    }
    pipeline.drain();
  }
  void finish() { writer_.finish(); }

 private:
  CaptureWriter writer_;
};

// The nearest float with 7 bits of mantissa, by arithmetic on the value.
double rounded(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  std::frexp(value, &exponent);
  const double unit = std::ldexp(1.0, exponent - 8);
  return std::nearbyint(value / unit) * unit;
}

std::vector<float> read(const h5::File& file, const std::string& path) {
  const h5::Dataset dataset = file.root().open_dataset(path);
  std::vector<float> values(dataset.count());
  dataset.read(values.data());
  return values;
}

// Every stored cell of every level against a loop over the cells of the map.
void expect_levels_of(const h5::File& file, const std::string& group, const at::Tensor& map) {
  const std::int64_t heads = map.size(0);
  const std::int64_t rows = map.size(1);
  const std::int64_t columns = map.size(2);
  const auto cell = map.accessor<float, 3>();
  for (std::int64_t f = 4; f == 4 || std::max(rows, columns) > 64 * f; f *= 4) {
    const std::vector<float> largest = read(file, group + "/max_" + std::to_string(f));
    const std::vector<float> mean = read(file, group + "/mean_" + std::to_string(f));
    const std::int64_t height = (rows + f - 1) / f;
    const std::int64_t width = (columns + f - 1) / f;
    ASSERT_EQ(largest.size(), static_cast<std::size_t>(heads * height * width));
    ASSERT_EQ(mean.size(), largest.size());
    std::size_t at = 0;
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t a = 0; a < height; ++a) {
        for (std::int64_t b = 0; b < width; ++b, ++at) {
          double sum = 0;
          double most = 0;
          const std::int64_t end_q = std::min(rows, (a + 1) * f);
          const std::int64_t end_k = std::min(columns, (b + 1) * f);
          for (std::int64_t q = a * f; q < end_q; ++q) {
            for (std::int64_t k = b * f; k < end_k; ++k) {
              sum += cell[h][q][k];
              most = std::max(most, static_cast<double>(cell[h][q][k]));
            }
          }
          const double average = sum / static_cast<double>((end_q - a * f) * (end_k - b * f));
          ASSERT_EQ(largest[at], rounded(most)) << "max_" << f << " " << h << "," << a << "," << b;
          // Half a unit of 7 bits, and the rounding of the sum.
          ASSERT_NEAR(mean[at], average, average * (0x1p-8 + 1e-5))
              << "mean_" << f << " " << h << "," << a << "," << b;
        }
      }
    }
  }
}

struct LevelsCase {
  std::int64_t heads, tokens, block;
  bool causal;
  std::int64_t window;
};

class PyramidLevels : public ::testing::TestWithParam<LevelsCase> {};

TEST_P(PyramidLevels, AreTheLargestAndTheMeanOfTheirCells) {
  const LevelsCase& c = GetParam();
  const TempFolder folder;
  MapSpec spec = map_of(c.heads, c.tokens);
  spec.causal = c.causal;
  spec.window = c.window;
  at::manual_seed(3);
  at::Tensor map = at::rand({c.heads, c.tokens, c.tokens});
  if (c.causal) map.tril_();
  if (c.window > 0) map.triu_(1 - c.window);
  const std::string path = folder.file("a.h5");
  OneMapFile out(path);
  out.add(spec, c.block, [&](std::int64_t q, std::int64_t n) { return map.narrow(1, q, n); });
  out.finish();
  expect_levels_of(h5::File::open(path), "prompts/p000000/attention/self/pyramid/0", map);
}

INSTANTIATE_TEST_SUITE_P(Shapes, PyramidLevels,
                         ::testing::Values(LevelsCase{3, 1025, 128, true, 0},
                                           LevelsCase{2, 1300, 77, true, 0},
                                           LevelsCase{2, 1300, 128, false, 0},
                                           LevelsCase{1, 2100, 1024, true, 130},
                                           LevelsCase{1, 4097, 128, true, 0}));

TEST(PyramidTiles, AreStoredWhereSomethingIsSeen) {
  const TempFolder folder;
  MapSpec spec = map_of(1, 3000);
  const at::Tensor map = at::ones({1, 3000, 3000}).tril();
  const std::string path = folder.file("a.h5");
  OneMapFile out(path);
  out.add(spec, 128, [&](std::int64_t q, std::int64_t n) { return map.narrow(1, q, n); });
  out.finish();
  const h5::File file = h5::File::open(path);
  const h5::Dataset level =
      file.root().open_dataset("prompts/p000000/attention/self/pyramid/0/mean_4");
  EXPECT_EQ(level.chunk(), (h5::Dims{1, 256, 256}));
  // 750 squares a side are 3 × 3 tiles, of which 3 lie above the diagonal.
  std::uint64_t stored = 0;
  for (std::uint64_t q = 0; q < 750; q += 256) {
    for (std::uint64_t k = 0; k < 750; k += 256) {
      const bool is_stored = level.chunk_bytes({0, q, k}) > 0;
      EXPECT_EQ(is_stored, k <= q) << q << "," << k;
      stored += is_stored ? 1 : 0;
    }
  }
  EXPECT_EQ(stored, 6U);
}

// Counts what tensors hold.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t n) override {
    auto* block = new Block{c10::alloc_cpu(n), n, this};
    const std::size_t held = held_ += n;
    std::size_t peak = peak_;
    while (held > peak && !peak_.compare_exchange_weak(peak, held)) {
    }
    return {block->data, block, &release, at::kCPU};
  }
  void copy_data(void* to, const void* from, std::size_t n) const override {
    default_copy_data(to, from, n);
  }
  std::size_t peak() const { return peak_; }
  void forget_peak() { peak_ = held_.load(); }

 private:
  struct Block {
    void* data;
    std::size_t bytes;
    CountingAllocator* owner;
  };
  static void release(void* context) {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    block->owner->held_ -= block->bytes;
    c10::free_cpu(block->data);
  }
  std::atomic<std::size_t> held_ = 0;
  std::atomic<std::size_t> peak_ = 0;
};

// Most bytes that tensors hold while a map of one head is put together.
std::size_t peak_bytes(std::int64_t tokens) {
  const TempFolder folder;
  static CountingAllocator counting;  // tensors may outlive a test
  c10::Allocator* const usual = c10::GetAllocator(at::kCPU);
  counting.forget_peak();
  c10::SetAllocator(at::kCPU, &counting, 1);
  {
    OneMapFile out(folder.file("a.h5"));
    const at::Tensor rows = at::zeros({1, 128, tokens});
    out.add(map_of(1, tokens), 128,
            [&](std::int64_t, std::int64_t n) { return rows.narrow(1, 0, n); });
    out.finish();
  }
  c10::SetAllocator(at::kCPU, usual, 1);
  return counting.peak();
}

// Whole levels of 16384 tokens are 2 × 4096² and 2 × 1024² floats …: 143 MB. Rows of tiles are
// 16.8 MB of the map, of which one fills while one is compressed, and 2 × 4.2 MB of the first
// level.
TEST(PyramidMemory, GrowsWithTheTokensNotWithTheirSquare) {
  const std::size_t half = peak_bytes(8192);
  const std::size_t full = peak_bytes(16384);
  EXPECT_LT(full, std::size_t{80} << 20U);
  EXPECT_LT(static_cast<double>(full), 2.2 * static_cast<double>(half));
}

// What a run of a model stores, against the map beside it.
TEST(PyramidCapture, IsThatOfTheStoredMap) {
  const TempFolder folder;
  CaptureSpec spec = testing::spec_for("families/llama", folder.file("run.h5"));
  std::vector<std::int64_t>& ids = spec.prompts.ids.emplace();
  for (int i = 0; i < 1100; ++i) ids.push_back((i * i * 7 + 3 * i + 1) % 200);
  spec.beyond_context = true;
  spec.hooks = "1.pattern";
  spec.heads = "1.2,1.5";
  spec.map_format = MapFormat::f32;
  const CaptureResult result = run_capture(spec);
  EXPECT_TRUE(verify_file(spec.output.out).findings.empty());
  const h5::File file = h5::File::open(spec.output.out);
  const std::vector<float> stored = read(file, "prompts/p000000/cache/blocks.1.attn.hook_pattern");
  const at::Tensor map = at::tensor(stored).view({2, 1100, 1100});
  expect_levels_of(file, "prompts/p000000/attention/self/pyramid/1", map);
  // The estimate counts the tiles that are there.
  std::uint64_t bytes = 0;
  for (const std::int64_t side : {275, 69}) {
    const std::uint64_t tiles = side > 256 ? 256 * 256 + 19 * 256 + 19 * 19 : side * side;
    bytes += 2 * 2 * tiles * sizeof(float);
  }
  const auto estimate =
      std::find_if(result.plan.sites.begin(), result.plan.sites.end(),
                   [](const SiteEstimate& site) { return site.site == "pyramid"; });
  ASSERT_NE(estimate, result.plan.sites.end());
  EXPECT_EQ(estimate->value_bytes, bytes);
}

}  // namespace
}  // namespace attnscope
