// Rotary settings in their old and new spelling.
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint_files.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

using nlohmann::json;

std::vector<RopeSpec> ropes_of(const std::string& family, const json& change) {
  const TempFolder folder;
  const std::string source = fixture("families/" + family);
  json config = config_of(source);
  for (const auto& [key, value] : change.items()) config[key] = value;
  write_model(folder.file("m"), config, tensors_of(source));
  Warnings warnings;
  const Checkpoint checkpoint = open_checkpoint(folder.file("m"), {}, warnings);
  std::vector<RopeSpec> ropes;
  for (const LayerConfig& layer : checkpoint.config.layers) ropes.push_back(layer.attention.rope);
  return ropes;
}

RopeSpec rope_of(const json& change) {
  return ropes_of("llama", change).front();
}

TEST(RopeScalings, Llama3) {
  const RopeSpec rope = rope_of({{"rope_theta", 500000.0},
                                 {"rope_scaling",
                                  {{"rope_type", "llama3"},
                                   {"factor", 8.0},
                                   {"low_freq_factor", 1.0},
                                   {"high_freq_factor", 4.0},
                                   {"original_max_position_embeddings", 8192}}}});
  EXPECT_EQ(rope.scaling, RopeScaling::llama3);
  EXPECT_EQ(rope.theta, 500000);
  EXPECT_EQ(rope.factor, 8);
  EXPECT_EQ(rope.low_freq_factor, 1);
  EXPECT_EQ(rope.high_freq_factor, 4);
  EXPECT_EQ(rope.original_context, 8192);
}

TEST(RopeScalings, LinearAndDynamicUnderTheOldKey) {
  const RopeSpec linear = rope_of({{"rope_scaling", {{"type", "linear"}, {"factor", 2}}}});
  EXPECT_EQ(linear.scaling, RopeScaling::linear);
  EXPECT_EQ(linear.factor, 2);
  const RopeSpec dynamic = rope_of({{"rope_scaling", {{"type", "dynamic"}, {"factor", 4.0}}}});
  EXPECT_EQ(dynamic.scaling, RopeScaling::dynamic);
  EXPECT_EQ(dynamic.original_context, 64);  // max_position_embeddings
  EXPECT_EQ(rope_of({{"rope_scaling", {{"type", "default"}}}}).scaling, RopeScaling::none);
}

TEST(RopeScalings, YarnTakesItsFactorFromWhatIsGiven) {
  json scaling = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 16}};
  const RopeSpec plain = rope_of({{"rope_scaling", scaling}});
  EXPECT_EQ(plain.scaling, RopeScaling::yarn);
  EXPECT_EQ(plain.original_context, 16);
  EXPECT_EQ(plain.beta_fast, 32);
  EXPECT_EQ(plain.beta_slow, 1);
  EXPECT_TRUE(plain.truncate);
  EXPECT_NEAR(plain.attention_factor, 1.13862943611, 1e-10);  // 0.1 ln 4 + 1

  scaling["mscale"] = 1.0;
  scaling["mscale_all_dim"] = 0.5;
  // (0.1 ln 4 + 1) / (0.05 ln 4 + 1)
  EXPECT_NEAR(rope_of({{"rope_scaling", scaling}}).attention_factor, 1.0648216, 1e-6);
  scaling["attention_factor"] = 1.5;
  scaling["truncate"] = false;
  scaling["beta_fast"] = 8;
  const RopeSpec given = rope_of({{"rope_scaling", scaling}});
  EXPECT_EQ(given.attention_factor, 1.5);
  EXPECT_FALSE(given.truncate);
  EXPECT_EQ(given.beta_fast, 8);
}

TEST(RopeParameters, ReplaceThetaAndScaling) {
  const RopeSpec rope = rope_of(
      {{"rope_theta", nullptr},
       {"rope_scaling", nullptr},
       {"rope_parameters", {{"rope_theta", 12345.0}, {"rope_type", "linear"}, {"factor", 3.0}}}});
  EXPECT_EQ(rope.theta, 12345);
  EXPECT_EQ(rope.scaling, RopeScaling::linear);
  EXPECT_EQ(rope.factor, 3);
}

TEST(RopeParameters, MayDifferByTheKindOfLayer) {
  const std::vector<RopeSpec> ropes = ropes_of(
      "gemma2", {{"rope_theta", nullptr},
                 {"rope_parameters",
                  {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 1e6}}},
                   {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 5e3}}}}}});
  EXPECT_EQ(ropes[0].theta, 5e3);
  EXPECT_EQ(ropes[1].theta, 1e6);
}

TEST(RopeParameters, OfPartialHeadsMayStandInEither) {
  EXPECT_EQ(ropes_of("gpt_neox",
                     {{"rope_parameters", {{"rope_theta", 1e4}, {"partial_rotary_factor", 0.75}}}})
                .front()
                .rotary_dims,
            6);
  EXPECT_EQ(ropes_of("gpt_neox", {{"rotary_pct", 1.0}}).front().rotary_dims, 8);
}

TEST(RopeTheta, OfGptNeoxIsCalledRotaryEmbBase) {
  EXPECT_EQ(ropes_of("gpt_neox", {{"rotary_emb_base", 777}, {"rope_theta", 10000}}).front().theta,
            777);
}

}  // namespace
}  // namespace attnscope::testing
