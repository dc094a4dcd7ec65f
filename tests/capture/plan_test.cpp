#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "attnscope/checkpoint/checkpoint.h"
#include "capture_case.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

using testing::caught;
using testing::fixture;

ModelConfig config_of(const std::string& model) {
  Warnings warnings;
  return open_checkpoint(fixture(model), {}, warnings).config;
}

EncodedPrompt prompt_of(int length) {
  EncodedPrompt prompt;
  const auto n = static_cast<std::size_t>(length);
  prompt.ids.assign(n, 1);
  prompt.token_types.assign(n, 0);
  prompt.pieces.assign(n, "x");
  prompt.token_texts.assign(n, "x");
  prompt.token_bytes.assign(n, "x");
  prompt.offsets.assign(n, {});
  prompt.special.assign(n, 1);
  prompt.in_second.assign(n, 0);
  return prompt;
}

std::vector<EncodedPrompt> prompts_of(const std::vector<int>& lengths) {
  std::vector<EncodedPrompt> prompts;
  for (const int length : lengths) prompts.push_back(prompt_of(length));
  return prompts;
}

CaptureSpec plan_spec() {
  CaptureSpec spec;
  spec.prompts.prompt = "x";
  return spec;
}

TEST(CapturePlan, BatchesHoldEveryPromptOnceWithinTheTokenLimit) {
  const ModelConfig config = config_of("families/llama");
  std::vector<int> lengths;
  for (int i = 0; i < 60; ++i) lengths.push_back(1 + (i * 37) % 120);
  lengths.push_back(400);
  PlanLimits limits;
  limits.batch_tokens = 300;
  limits.shard_flop = 2e7;
  CaptureSpec spec = plan_spec();
  spec.beyond_context = true;
  const CapturePlan plan = plan_capture(config, prompts_of(lengths), spec, limits);
  EXPECT_GT(plan.shards.size(), 2u);
  std::vector<int> seen;
  std::int64_t next = 0;
  for (const ShardPlan& shard : plan.shards) {
    EXPECT_EQ(shard.range.first, next);
    EXPECT_GE(shard.range.count, 1);
    next += shard.range.count;
    for (const BatchPlan& batch : shard.batches) {
      int longest = 0;
      for (const int p : batch.prompts) {
        EXPECT_GE(p, shard.range.first);
        EXPECT_LT(p, next);
        longest = std::max(longest, lengths[static_cast<std::size_t>(p)]);
        seen.push_back(p);
      }
      const auto count = static_cast<int>(batch.prompts.size());
      EXPECT_TRUE(count == 1 || count * longest <= 300) << count << " × " << longest;
    }
  }
  std::sort(seen.begin(), seen.end());
  std::vector<int> all(lengths.size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
  spec.compute.batch = 2;
  for (const ShardPlan& shard : plan_capture(config, prompts_of(lengths), spec, limits).shards) {
    for (const BatchPlan& batch : shard.batches) EXPECT_LE(batch.prompts.size(), 2u);
  }
}

// Packed and with one site the bytes of a prompt are easily said: llama fixture, 2 layers, m 48,
// H 6.
TEST(CapturePlan, ShardsAreBoundedByTheBytesOfTheirValues) {
  const ModelConfig config = config_of("families/llama");
  CaptureSpec spec = plan_spec();
  spec.hooks = "resid_post";
  spec.layout = LayoutChoice::packed;
  std::vector<int> lengths;
  for (int i = 0; i < 40; ++i) lengths.push_back(1 + (i * 13) % 50);
  const auto bytes = [&](std::int64_t p) {
    return std::uint64_t{2} * 4 *
           (static_cast<std::uint64_t>(lengths[static_cast<std::size_t>(p)]) * 48 +
            6 * std::uint64_t{kHeadStatCount});
  };
  PlanLimits limits;
  limits.shard_bytes = 40'000;
  const CapturePlan plan = plan_capture(config, prompts_of(lengths), spec, limits);
  EXPECT_GT(plan.shards.size(), 4u);
  for (std::size_t s = 0; s < plan.shards.size(); ++s) {
    const ShardRange range = plan.shards[s].range;
    std::uint64_t total = 0;
    for (std::int64_t p = range.first; p < range.first + range.count; ++p) total += bytes(p);
    EXPECT_LE(total, limits.shard_bytes) << "shard " << s;
    // The next prompt would not have fitted.
    if (s + 1 < plan.shards.size()) {
      EXPECT_GT(total + bytes(range.first + range.count), limits.shard_bytes) << "shard " << s;
    }
  }
  limits.shard_bytes = 1;
  EXPECT_EQ(plan_capture(config, prompts_of(lengths), spec, limits).shards.size(), lengths.size());
}

// Maps of 1700 tokens, causal: 2 layers of 6 heads of 1.66 million floats are 79 MB, pyramids and
// tables another 20. Two prompts fit 256 MiB, three do not, far below 2 TFLOP of work.
TEST(CapturePlan, AFewLargePromptsAreSeveralShards) {
  CaptureSpec spec = plan_spec();
  spec.beyond_context = true;
  const CapturePlan plan =
      plan_capture(config_of("families/llama"), prompts_of(std::vector<int>(6, 1700)), spec);
  EXPECT_LT(plan.flop, 2e12);
  ASSERT_EQ(plan.shards.size(), 3u);
  for (const ShardPlan& shard : plan.shards) EXPECT_EQ(shard.range.count, 2);
}

TEST(CapturePlan, TheForwardPassCostsWhatTheShapesSay) {
  // llama fixture: 2 layers, m 48, d 8, H 6, G 2, gated MLP.
  const ModelConfig config = config_of("families/llama");
  const double f = config.layers[0].d_mlp;
  const double t = 10;
  const double weights = 2 * (48 * 8 * (2 * 6 + 2 * 2) + 3 * 48 * f);
  const double attention = 2 * (2 * 6 * 8 * t * t);
  const CapturePlan plan = plan_capture(config, prompts_of({10}), plan_spec());
  EXPECT_DOUBLE_EQ(plan.flop, 2 * (weights * t + attention));
}

TEST(CapturePlan, LayoutFollowsTheNumberOfPrompts) {
  const ModelConfig config = config_of("families/gpt2");
  const auto plan = [&](int count, LayoutChoice choice) {
    CaptureSpec spec = plan_spec();
    spec.layout = choice;
    return plan_capture(config, prompts_of(std::vector<int>(static_cast<std::size_t>(count), 3)),
                        spec);
  };
  EXPECT_EQ(plan(64, LayoutChoice::automatic).layout, FileLayout::per_prompt);
  EXPECT_EQ(plan(65, LayoutChoice::automatic).layout, FileLayout::packed);
  EXPECT_EQ(plan(65, LayoutChoice::prompts).layout, FileLayout::per_prompt);
  EXPECT_EQ(plan(1, LayoutChoice::packed).layout, FileLayout::packed);
  // Maps of ten thousand prompts are stored only when somebody asks for them.
  EXPECT_TRUE(plan(65, LayoutChoice::automatic).hooks.empty());
  EXPECT_FALSE(plan(65, LayoutChoice::automatic).all_tables);
  EXPECT_EQ(plan(64, LayoutChoice::automatic).hooks.size(), 2u);
}

TEST(CapturePlan, SelectorsCutHooksAndHeads) {
  const ModelConfig config = config_of("families/llama");
  CaptureSpec spec = plan_spec();
  spec.hooks = "z,k,resid_post,hook_embed";
  spec.heads = "1.0,1.2,1.3";
  const CapturePlan plan = plan_capture(config, prompts_of({4}), spec);
  std::vector<std::string> names;
  for (const HookPlan& hook : plan.hooks) names.push_back(hook_name(hook.hook));
  EXPECT_EQ(names, (std::vector<std::string>{"hook_embed", "blocks.0.hook_resid_post",
                                             "blocks.1.attn.hook_k", "blocks.1.attn.hook_z",
                                             "blocks.1.hook_resid_post"}));
  for (const HookPlan& hook : plan.hooks) {
    if (hook.hook.site == Site::z) {
      EXPECT_EQ(hook.heads, (std::vector<int>{0, 2, 3}));
    }
    // Query heads 0, 2 and 3 read kv heads 0, 0 and 1: all there are, so nothing is cut.
    if (hook.hook.site == Site::k || hook.hook.site == Site::resid_post) {
      EXPECT_TRUE(hook.heads.empty());
    }
  }
  spec.layers = "0";
  spec.heads = "1.0";
  spec.hooks = "z";
  EXPECT_EQ(caught([&] { plan_capture(config, prompts_of({4}), spec); }).exit_code, 2);
}

TEST(CapturePlan, BadSelectorsNameTheOption) {
  const ModelConfig config = config_of("families/llama");
  const auto message = [&](auto change) {
    CaptureSpec spec = plan_spec();
    change(spec);
    const auto error = caught([&] { plan_capture(config, prompts_of({4}), spec); });
    EXPECT_EQ(error.exit_code, 2);
    return error.message;
  };
  EXPECT_NE(message([](auto& s) { s.layers = "99"; }).find("--layers"), std::string::npos);
  EXPECT_NE(message([](auto& s) { s.heads = "0.77"; }).find("--heads"), std::string::npos);
  EXPECT_NE(message([](auto& s) { s.hooks = "patern"; }).find("--hooks"), std::string::npos);
  EXPECT_NE(message([](auto& s) { s.positions = "9"; }).find("--positions"), std::string::npos);
}

TEST(CapturePlan, PromptsTheModelCannotTake) {
  const ModelConfig learned = config_of("families/gpt2");
  const auto refused = [](const ModelConfig& config, EncodedPrompt prompt, CaptureSpec spec) {
    return caught([&] { plan_capture(config, {std::move(prompt)}, spec); });
  };
  const int over = learned.n_context + 1;
  CaptureSpec spec = plan_spec();
  const auto too_long = refused(learned, prompt_of(over), spec);
  EXPECT_EQ(too_long.exit_code, 2);
  EXPECT_NE(too_long.message.find(std::to_string(over)), std::string::npos) << too_long.message;
  EXPECT_NE(too_long.message.find(std::to_string(learned.n_context)), std::string::npos);
  spec.beyond_context = true;
  EXPECT_EQ(refused(learned, prompt_of(over), spec).exit_code, 2) << "learned positions";
  const ModelConfig rotary = config_of("families/llama");
  EXPECT_NO_THROW(plan_capture(rotary, prompts_of({rotary.n_context + 1}), spec));

  EncodedPrompt unknown = prompt_of(3);
  unknown.ids[1] = learned.d_vocab;
  EXPECT_NE(refused(learned, unknown, spec).message.find("token 1"), std::string::npos);
  EncodedPrompt typed = prompt_of(3);
  typed.token_types[2] = 1;
  EXPECT_EQ(refused(learned, typed, spec).exit_code, 2);
}

TEST(CapturePlan, TheBudgetRefusesAndNamesTheLargestSite) {
  const ModelConfig config = config_of("families/gpt2");
  CaptureSpec spec = plan_spec();
  spec.hooks = "pattern,resid_post,mlp.hook_post";
  spec.compute.budget = 1000;
  const auto disk = caught([&] { plan_capture(config, prompts_of({60, 60}), spec); });
  EXPECT_EQ(disk.exit_code, 4);
  EXPECT_NE(disk.message.find("hook_"), std::string::npos) << disk.message;
  EXPECT_NE(disk.message.find("--"), std::string::npos);
  spec.compute.budget = 1 << 20;  // the disk is enough, the memory is not
  const auto memory = caught([&] { plan_capture(config, prompts_of({60}), spec); });
  EXPECT_EQ(memory.exit_code, 4);
  EXPECT_NE(memory.message.find("memory"), std::string::npos) << memory.message;
  spec.compute.budget = std::uint64_t{8} << 30;
  EXPECT_NO_THROW(plan_capture(config, prompts_of({60}), spec));
}

TEST(CapturePlan, IsDescribedForPeople) {
  const CapturePlan plan =
      plan_capture(config_of("families/gpt2"), prompts_of({5, 7}), plan_spec());
  const std::string text = describe(plan);
  for (const char* part : {"2 prompts", "12 tokens", "hook_pattern", "statistics", "memory"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

}  // namespace
}  // namespace attnscope
