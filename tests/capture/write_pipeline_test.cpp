#include "write_pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>

#include "attnscope/storage/writer.h"
#include "attnscope/support/file.h"
#include "storage/sample.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

using std::chrono::milliseconds;

void pause(int ms) {
  std::this_thread::sleep_for(milliseconds(ms));
}

StoredChunk chunk_of(int value) {
  StoredChunk chunk;
  chunk.bytes.assign(1, static_cast<std::byte>(value));
  return chunk;
}

TEST(WritePipeline, WritesInTheOrderOfPushingWhateverFinishesFirst) {
  for (const int threads : {1, 2, 4}) {
    std::vector<int> written;  // by the writer thread only, read after drain
    WritePipeline pipeline(threads, 1000);
    for (int i = 0; i < 40; ++i) {
      if (i % 4 == 3) {
        pipeline.push(1, [&written, i] { written.push_back(i); });
        continue;
      }
      pipeline.push(
          1,
          [i](ChunkCompressor&) {
            pause(i % 3 == 0 ? 3 : 0);
            return chunk_of(i);
          },
          [&written](const StoredChunk& chunk) {
            written.push_back(static_cast<int>(chunk.bytes.front()));
          });
    }
    pipeline.drain();
    ASSERT_EQ(written.size(), 40u);
    for (int i = 0; i < 40; ++i) EXPECT_EQ(written[static_cast<std::size_t>(i)], i);
  }
}

// Two maps of 3 heads and 2×2 tiles through `threads` compressors; the file's bytes.
std::string file_of_maps(const std::string& path, int threads) {
  using namespace testing;
  constexpr int kTokens = 300;
  auto writer = std::make_unique<CaptureWriter>(path, sample_file_info({}), sample_model({}),
                                                sample_run(), WriterOptions{});
  const int prompt = writer->add_prompt(sample_prompt(0, kTokens));
  const MapSpec spec{.heads = kSampleHeads, .queries = kTokens, .keys = kTokens, .causal = true};
  const TileGrid grid(spec);
  {
    WritePipeline pipeline(threads, 1 << 20);
    for (const int layer : {0, 1}) {
      const auto map = std::make_shared<int>();
      pipeline.push(0, [&writer, prompt, layer, spec, map] {
        *map = writer->open_map(prompt, {Site::pattern, layer}, spec);
      });
      const auto pattern =
          std::make_shared<const std::vector<float>>(sample_pattern(layer, kSampleHeads, kTokens));
      for (const Tile& tile : grid.tiles()) {
        const std::int64_t first = (tile.head * kTokens + tile.query) * kTokens + tile.key;
        pipeline.push(
            static_cast<std::uint64_t>(tile.heads * tile.queries * tile.keys) * sizeof(float),
            [&grid, pattern, tile, first](ChunkCompressor& compressor) {
              return compressor.compress_tile({.data = pattern->data() + first,
                                               .heads = tile.heads,
                                               .queries = tile.queries,
                                               .keys = tile.keys,
                                               .head_stride = kTokens * kTokens,
                                               .query_stride = kTokens},
                                              grid.target());
            },
            [&writer, map, tile](const StoredChunk& chunk) {
              writer->write_tile(*map, tile, chunk);
            });
      }
      pipeline.push(0, [&writer, map] { writer->close_map(*map); });
    }
    pipeline.drain();
  }
  writer->finish();
  writer.reset();
  return read_text_file(path, "TS01", 1 << 28);
}

TEST(WritePipeline, AFileHasTheSameBytesForAnyNumberOfCompressors) {
  const testing::TempFolder folder;
  const std::string one = file_of_maps(folder.file("one.h5"), 1);
  EXPECT_GT(one.size(), 10'000U);
  for (const int threads : {2, 4, 7}) {
    EXPECT_TRUE(file_of_maps(folder.file(std::to_string(threads) + ".h5"), threads) == one);
  }
}

TEST(WritePipeline, HoldsBackWhenTooMuchIsUnderWay) {
  std::atomic<int> under_way = 0;
  std::atomic<int> most = 0;
  {
    WritePipeline pipeline(2, 30);
    for (int i = 0; i < 50; ++i) {
      pipeline.push(
          10,
          [&](ChunkCompressor&) {
            const int now = ++under_way;
            int seen = most;
            while (now > seen && !most.compare_exchange_weak(seen, now)) {
            }
            pause(1);
            return chunk_of(0);
          },
          [&](const StoredChunk&) { --under_way; });
    }
    pipeline.drain();
  }
  EXPECT_LE(most, 3);
  EXPECT_EQ(under_way, 0);
}

TEST(WritePipeline, AResultLargerThanTheLimitStillPasses) {
  WritePipeline pipeline(1, 10);
  bool done = false;
  pipeline.push(1000, [&done] { done = true; });
  pipeline.drain();
  EXPECT_TRUE(done);
}

TEST(WritePipeline, TheFirstErrorComesBackAndWhatFollowsIsDropped) {
  WritePipeline pipeline(1, 1000);
  std::atomic<int> after = 0;
  pipeline.push(1, [] { throw std::runtime_error("disk full"); });
  try {
    for (int i = 0; i < 100; ++i) {
      pipeline.push(1, [&after] { ++after; });
      pause(1);
    }
    pipeline.drain();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "disk full");
  }
  EXPECT_THROW(pipeline.push(1, [] {}), std::runtime_error);
  pipeline.discard();
  EXPECT_EQ(after, 0);
  pipeline.push(1, [&after] { ++after; });
  pipeline.drain();
  EXPECT_EQ(after, 1);
}

TEST(WritePipeline, AnErrorOfACompressorCountsToo) {
  WritePipeline pipeline(2, 1000);
  pipeline.push(
      1, [](ChunkCompressor&) -> StoredChunk { throw std::runtime_error("x"); },
      [](const StoredChunk&) { FAIL(); });
  EXPECT_THROW(pipeline.drain(), std::runtime_error);
  pipeline.discard();
}

TEST(WritePipeline, LeavesWithWorkStillQueued) {
  WritePipeline pipeline(1, 1 << 20);
  for (int i = 0; i < 100; ++i) pipeline.push(1, [] { pause(1); });
}

}  // namespace
}  // namespace attnscope
