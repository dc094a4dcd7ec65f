// What a GPU of a given size is said to hold. No device is asked.
#include "device_memory.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "attnscope/kernels/cuda_statistics.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"

namespace attnscope::testing {
namespace {

// GPT-2 small.
ModelConfig gpt2() {
  ModelConfig config;
  config.n_layers = 12;
  config.d_model = 768;
  config.d_vocab = config.d_vocab_out = 50257;
  config.n_context = 1 << 20;
  LayerConfig layer;
  layer.d_mlp = 3072;
  layer.attention.n_heads = layer.attention.n_kv_heads = 12;
  layer.attention.d_head = 64;
  config.layers.assign(12, layer);
  return config;
}

struct PlannedRun {
  explicit PlannedRun(int rows, int length) {
    EncodedPrompt prompt;
    prompt.ids.assign(static_cast<std::size_t>(length), 1);
    plan.prompts.assign(static_cast<std::size_t>(rows), prompt);
    plan.memory.weights = std::uint64_t{498} << 20;
    BatchPlan batch;
    for (int p = 0; p < rows; ++p) batch.prompts.push_back(p);
    plan.shards.push_back({{0, rows}, {batch}});
  }
  DeviceMemory memory(std::uint64_t free) const {
    return {config, spec, plan, Engine::cuda, FreeMemory{free, "of cuda:0"}};
  }
  ModelConfig config = gpt2();
  CaptureSpec spec;
  CapturePlan plan;
};

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// The residual's copies and one layer's q, k, v and z of 8,192 tokens are 236 MB; nothing is n × n.
TEST(DeviceMemory, GrowsWithTheLengthAndNotWithItsSquare) {
  const PlannedRun run(1, 8192);
  const DeviceMemory memory = run.memory(kGiB);
  const std::uint64_t fixed = memory.bytes({1, 0});
  EXPECT_EQ(fixed, run.plan.memory.weights + (std::uint64_t{64} << 20));
  const std::uint64_t one = memory.bytes({1, 8192}) - fixed;
  EXPECT_GT(one, std::uint64_t{236000000});
  EXPECT_LT(one, std::uint64_t{1200000000});
  EXPECT_NEAR(static_cast<double>(memory.bytes({1, 16384}) - fixed), 2.0 * static_cast<double>(one),
              0.01 * static_cast<double>(one));
  EXPECT_EQ(memory.bytes({3, 8192}) - fixed, 3 * one);
}

Error error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::internal, "none", {.what = "no error"});
}

TEST(DeviceMemory, RefusesBeforeTheRunAndSaysWhatWouldFit) {
  const PlannedRun run(1, 65536);
  const Error error = error_of([&] { run.memory(2 * kGiB).expect_fits(); });
  EXPECT_EQ(error.code(), "CA22");
  EXPECT_EQ(error.exit_code(), 4);
  // The longest that fits, and not one token more.
  const DeviceMemory memory = run.memory(2 * kGiB);
  std::int64_t longest = 0;
  for (std::int64_t n = 1; n < 65536 && memory.bytes({1, n}) <= 2 * kGiB; ++n) longest = n;
  ASSERT_GT(longest, 100);
  EXPECT_NE(
      error.detail().next.find("up to " + count_of(static_cast<std::uint64_t>(longest), "token")),
      std::string::npos)
      << error.what();
  EXPECT_NO_THROW(run.memory(memory.bytes({1, 65536})).expect_fits());
  EXPECT_THROW(run.memory(memory.bytes({1, 65536}) - 1).expect_fits(), Error);
}

TEST(DeviceMemory, ProposesASmallerBatchFirst) {
  const PlannedRun run(8, 2048);
  const std::uint64_t three = run.memory(0).bytes({3, 2048});
  EXPECT_EQ(run.memory(three).what_would_fit({8, 2048}), "--batch 3 would fit");
  EXPECT_EQ(run.memory(1).what_would_fit({8, 2048}),
            "not even one token would fit: use --device cpu, or --dtype bf16");
}

// At run time: the layer and what was asked for stay in the message.
TEST(DeviceMemory, SaysWhatWouldHaveFittedWhenMemoryRanOut) {
  const Error library(ErrorKind::limit, "CO30",
                      {.where = "layer 5 of the forward pass",
                       .what = "out of memory",
                       .got = "CUDA out of memory. Tried to allocate 2.00 GiB."});
  const PlannedRun run(8, 2048);
  const std::uint64_t three = run.memory(0).bytes({3, 2048});
  const Error error = error_of([&] { run.memory(three).rethrow(library, {8, 2048}); });
  EXPECT_EQ(error.code(), "CA23");
  EXPECT_EQ(error.exit_code(), 4);
  const std::string text = error.what();
  EXPECT_NE(text.find("layer 5 of the forward pass"), std::string::npos) << text;
  EXPECT_NE(text.find("Tried to allocate 2.00 GiB"), std::string::npos) << text;
  EXPECT_NE(text.find("--batch 3 would fit"), std::string::npos) << text;
  // Where the estimate had said that it fits, half is proposed.
  const Error wrong = error_of([&] { run.memory(100 * kGiB).rethrow(library, {8, 2048}); });
  EXPECT_NE(std::string(wrong.what()).find("use --batch 4"), std::string::npos) << wrong.what();
  const Error other(ErrorKind::input, "MO20", {.what = "something else"});
  EXPECT_EQ(error_of([&] { run.memory(three).rethrow(other, {8, 2048}); }).code(), "MO20");
}

}  // namespace
}  // namespace attnscope::testing
