#include "attnscope/checkpoint/describe.h"

#include <gtest/gtest.h>

#include "testing/fixtures.h"

namespace attnscope::testing {
namespace {

ArchitectureDescription describe_fixture(const std::string& path) {
  Warnings warnings;
  return describe_architecture(open_checkpoint(fixture(path), {}, warnings));
}

TEST(Describe, SaysWhatADecoderIs) {
  const ArchitectureDescription d = describe_fixture("models/stories260k/hf");
  EXPECT_EQ(d.kind, "decoder");
  EXPECT_EQ(d.family, "llama");
  EXPECT_EQ(d.norm, "RMS norm before attention and MLP, eps 1e-05");
  EXPECT_EQ(d.positions, "rotary, made for 512");
  EXPECT_EQ(d.mlp, "gated, silu");
  EXPECT_EQ(d.head, "language model, 512 outputs, tied to the embedding");
  EXPECT_EQ(d.parameters, 260'032);
  EXPECT_EQ(d.stored_bytes, 4U * 260'032);
  EXPECT_EQ(d.memory_bytes, 4U * 260'032);
  EXPECT_EQ(d.stored_types, "float32");
  ASSERT_EQ(d.layers.size(), 1U);
  EXPECT_EQ(d.layers[0].first, 0);
  EXPECT_EQ(d.layers[0].last, 4);
  EXPECT_EQ(d.layers[0].n_heads, 8);
  EXPECT_EQ(d.layers[0].n_kv_heads, 4);
  EXPECT_EQ(d.layers[0].mask, "causal");
  EXPECT_EQ(d.layers[0].rotary, "theta 10000, 8 of 8 dims");
}

TEST(Describe, TellsMixedLayersApart) {
  const ArchitectureDescription d = describe_fixture("families/gemma2");
  ASSERT_EQ(d.layers.size(), 2U);
  EXPECT_EQ(d.layers[0].mask, "causal, window of 6 keys");
  EXPECT_EQ(d.layers[1].mask, "causal");
  EXPECT_EQ(d.layers[0].details, "scores capped at 3");
  EXPECT_EQ(d.norm,
            "RMS norm before and after attention and MLP, gains stored as w - 1, eps 1e-06");
}

TEST(Describe, SaysWhatAnEncoderWithSharedLayersIs) {
  const ArchitectureDescription d = describe_fixture("models/rxnmapper");
  EXPECT_EQ(d.kind, "encoder");
  EXPECT_EQ(d.n_layers, 12);
  EXPECT_EQ(d.n_distinct_layers, 1);
  EXPECT_EQ(d.d_embed, 128);
  EXPECT_EQ(d.head, "masked language model, 591 outputs, tied to the embedding");
  EXPECT_EQ(d.layers[0].mask, "bidirectional");
  EXPECT_EQ(d.layers[0].rotary, "");
  // The pooler and the tied head's second copy are not read.
  EXPECT_EQ(d.unused,
            (std::vector<std::string>{"albert.pooler.bias", "albert.pooler.weight",
                                      "predictions.decoder.bias", "predictions.decoder.weight"}));
}

TEST(EstimateMemory, CountsMapsAndActivations) {
  Warnings warnings;
  const ModelConfig config = open_checkpoint(fixture("models/stories260k/hf"), {}, warnings).config;
  const MemoryFigures estimate = estimate_memory(config, 100);
  EXPECT_EQ(estimate.layer_maps, 8U * 100 * 100 * 4);
  EXPECT_EQ(estimate.all_maps, 5U * 8 * 100 * 100 * 4);
  // q and z 8×8 each, k and v 4×8 each, MLP 172 twice; residual 64 three times.
  EXPECT_EQ(estimate.activations, (2U * (64 + 32) + 2 * 172 + 3 * 64) * 100 * 4);
}

}  // namespace
}  // namespace attnscope::testing
