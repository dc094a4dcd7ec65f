#include "write_pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

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
