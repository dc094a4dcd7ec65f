// What lies in the file, against what the run showed.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attnscope/capture/memory_sink.h"
#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/core/tensor_convert.h"
#include "capture_case.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

using testing::fixture;
using testing::spec_for;
using testing::TempFolder;

// Rounds to 10 mantissa bits, to nearest even, by arithmetic on the value.
float rounded(float value) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const double unit = std::ldexp(1.0, exponent - 11);
  return static_cast<float>(std::nearbyint(value / unit) * unit);
}

struct Seen {
  Model model;
  MemoryCapture capture;
};

Seen run_alone(const std::string& name, const std::vector<std::int64_t>& ids,
               const std::string& hooks) {
  Warnings warnings;
  const Model model = Model::load(open_checkpoint(fixture(name), {}, warnings), {}, warnings);
  const Batch batch = make_batch({{.ids = ids}});
  return {model, capture_to_memory(model, batch, hooks)};
}

std::vector<std::int64_t> some_ids(int count, int vocab) {
  std::vector<std::int64_t> ids;
  for (int i = 0; i < count; ++i) ids.push_back((i * i * 7 + 3 * i + 1) % vocab);
  return ids;
}

void expect_equal(const Array& stored, const at::Tensor& seen, const std::string& what) {
  const at::Tensor flat = seen.contiguous().view({-1});
  const std::vector<float> values = stored.as_float();
  ASSERT_EQ(static_cast<std::int64_t>(values.size()), flat.numel()) << what;
  const float* expected = flat.const_data_ptr<float>();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], expected[i]) << what << i;
}

class CaptureValues : public ::testing::TestWithParam<const char*> {};

TEST_P(CaptureValues, EverySiteIsWhatTheRunShowed) {
  const TempFolder folder;
  const std::string name = std::string("families/") + GetParam();
  CaptureSpec spec = spec_for(name, folder.file("run.h5"));
  const auto ids = some_ids(23, 200);
  spec.prompts.ids = ids;
  spec.hooks = "*";
  spec.map_format = MapFormat::f32;
  run_capture(spec);
  const Seen seen = run_alone(name, ids, "*");
  const CaptureReader file(spec.output.out, {.trust = Trust::own});
  auto hooks = file.hooks(0);
  auto expected = seen.model.sites().hooks;
  std::sort(hooks.begin(), hooks.end());
  std::sort(expected.begin(), expected.end());
  ASSERT_EQ(hooks.size(), expected.size());
  ASSERT_TRUE(hooks == expected);
  for (const HookId& hook : hooks) {
    expect_equal(file.read(0, hook), seen.capture.values.at(hook)[0], hook_name(hook) + " ");
  }
}

INSTANTIATE_TEST_SUITE_P(Families, CaptureValues,
                         ::testing::Values("gpt2", "llama", "gemma2", "bert", "albert"));

TEST(CaptureMaps, AreRoundedToTenBits) {
  const TempFolder folder;
  CaptureSpec spec = spec_for("families/llama", folder.file("run.h5"));
  const auto ids = some_ids(40, 200);
  spec.prompts.ids = ids;
  run_capture(spec);
  const Seen seen = run_alone("families/llama", ids, "pattern");
  const CaptureReader file(spec.output.out, {.trust = Trust::own});
  for (const HookId& hook : file.hooks(0)) {
    at::Tensor expected = seen.capture.values.at(hook)[0].contiguous().clone();
    float* values = expected.mutable_data_ptr<float>();
    for (std::int64_t i = 0; i < expected.numel(); ++i) values[i] = rounded(values[i]);
    expect_equal(file.read(0, hook), expected, hook_name(hook));
  }
}

// Longer than a tile and no multiple of it, so that rows arrive in several blocks and tile rows.
TEST(CaptureMaps, LongMapsComeTogetherFromTheirTiles) {
  const TempFolder folder;
  CaptureSpec spec = spec_for("families/llama", folder.file("run.h5"));
  const auto ids = some_ids(700, 200);
  spec.prompts.ids = ids;
  spec.beyond_context = true;
  spec.hooks = "1.pattern,1.attn_scores";
  spec.heads = "1.2,1.5";
  spec.map_format = MapFormat::f32;
  run_capture(spec);
  Warnings warnings;
  const Model model =
      Model::load(open_checkpoint(fixture("families/llama"), {}, warnings), {}, warnings);
  const CaptureReader file(spec.output.out, {.trust = Trust::own});
  const std::vector<HookId> hooks = file.hooks(0);
  ASSERT_EQ(hooks.size(), 2u);
  MemorySink sink(hooks, MemorySink::Statistics::off);
  Taps taps;
  taps.observers.push_back(&sink);
  RunOptions options;
  options.context = ContextLimit::exceed;
  model.run(make_batch({{.ids = ids}}), taps, options);
  for (const HookId& hook : hooks) {
    const at::Tensor whole = sink.values().at(hook)[0];
    // All heads at once are another matrix product than two of them: equal to rounding only. The
    // masked scores are −inf in both.
    const at::Tensor expected = at::stack({whole[2], whole[5]}).flatten();
    const at::Tensor stored = at::tensor(file.read(0, hook).as_float());
    EXPECT_TRUE(at::allclose(stored, expected, 1e-4, 1e-4)) << hook_name(hook);
    EXPECT_EQ(file.site(0, hook)->subset.heads, (std::vector<std::int64_t>{2, 5}));
  }
}

TEST(CaptureSubsets, PositionsAreStoredCompact) {
  const TempFolder folder;
  CaptureSpec spec = spec_for("families/gpt2", folder.file("run.h5"));
  const auto ids = some_ids(30, 200);
  spec.prompts.ids = ids;
  spec.positions = "3,5-7,-1";
  spec.hooks = "z,k,v,pattern,resid_post";
  spec.map_format = MapFormat::f32;
  run_capture(spec);
  const Seen seen = run_alone("families/gpt2", ids, spec.hooks);
  const CaptureReader file(spec.output.out, {.trust = Trust::own});
  const at::Tensor rows = at::tensor(std::vector<std::int64_t>{3, 5, 6, 7, 29});
  for (const HookId& hook : file.hooks(0)) {
    const int axis = hook.site == Site::pattern ? 1 : 0;
    expect_equal(file.read(0, hook), seen.capture.values.at(hook)[0].index_select(axis, rows),
                 hook_name(hook));
    const bool keys = hook.site == Site::k || hook.site == Site::v;
    const Subset subset = file.site(0, hook)->subset;
    const std::vector<std::int64_t> kept{3, 5, 6, 7, 29};
    EXPECT_EQ(keys ? subset.k_positions : subset.q_positions, kept) << hook_name(hook);
    EXPECT_TRUE((keys ? subset.q_positions : subset.k_positions).empty()) << hook_name(hook);
  }
}

// The same prompt alone and in a padded batch: tables of statistics, maps and sites agree to
// rounding, and NaN stands in the same places.
class PaddedCapture : public ::testing::TestWithParam<const char*> {};

TEST_P(PaddedCapture, EqualsEachPromptAlone) {
  const TempFolder folder;
  const std::string name = std::string("families/") + GetParam();
  const std::vector<int> lengths = {5, 19, 2, 11, 1, 23, 17};
  testing::write_id_prompts(folder.file("all.jsonl"), lengths, 200);
  CaptureSpec spec = spec_for(name, folder.file("all.h5"));
  spec.prompts.prompts_file = folder.file("all.jsonl");
  spec.hooks = "pattern,z,resid_post";
  spec.map_format = MapFormat::f32;
  const CaptureResult result = run_capture(spec);
  ASSERT_EQ(result.plan.shards.size(), 1u);
  ASSERT_LT(result.plan.shards[0].batches.size(), lengths.size()) << "nothing was padded";
  const CaptureReader all(spec.output.out, {.trust = Trust::own});
  for (std::size_t p = 0; p < lengths.size(); ++p) {
    CaptureSpec single = spec_for(name, folder.file("one.h5"));
    single.prompts.ids = result.plan.prompts[p].ids;
    single.hooks = spec.hooks;
    single.map_format = MapFormat::f32;
    single.output.force = true;
    run_capture(single);
    const CaptureReader one(single.output.out, {.trust = Trust::own});
    const int prompt = static_cast<int>(p);
    const auto compare = [&](const Array& a, const Array& b, const std::string& what) {
      ASSERT_EQ(a.shape, b.shape) << what;
      const auto x = a.as_float();
      const auto y = b.as_float();
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x[i]) || std::isnan(y[i])) {
          ASSERT_EQ(std::isnan(x[i]), std::isnan(y[i])) << what << " " << i;
        } else {
          ASSERT_NEAR(x[i], y[i], 2e-5 * std::max(1.0F, std::abs(y[i]))) << what << " " << i;
        }
      }
    };
    for (const AttentionTable table :
         {AttentionTable::head_stats, AttentionTable::row_stats, AttentionTable::topk_value,
          AttentionTable::key_sum, AttentionTable::value_norm}) {
      compare(all.read_table(prompt, Stack::self, table), one.read_table(0, Stack::self, table),
              std::string(GetParam()) + " " + attention_table_name(table) + " of prompt " +
                  std::to_string(p));
    }
    for (const HookId& hook : one.hooks(0)) {
      compare(all.read(prompt, hook), one.read(0, hook), hook_name(hook));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, PaddedCapture,
                         ::testing::Values("gpt2", "mistral", "bert", "roberta", "gemma2"));

// What the plan foretells is what the file holds, byte for byte before compression.
TEST(CaptureEstimate, IsWhatIsWritten) {
  const TempFolder folder;
  testing::write_id_prompts(folder.file("p.jsonl"), {300, 7, 64}, 200);
  CaptureSpec spec = spec_for("families/llama", folder.file("run.h5"));
  spec.prompts.prompts_file = folder.file("p.jsonl");
  spec.beyond_context = true;
  spec.hooks = "pattern,attn_scores,z,k,mlp.hook_post,result,ln1.hook_scale,unembed.hook_out";
  spec.positions = "0-4,last";
  const CaptureResult result = run_capture(spec);
  const CaptureReader file(spec.output.out, {.trust = Trust::own});
  std::map<std::string, std::uint64_t> written;
  for (int p = 0; p < 3; ++p) {
    for (const HookId& hook : file.hooks(p)) {
      const StoredSite site = *file.site(p, hook);
      if (!site.map) {
        written[site_info(hook.site).name] += file.read(p, hook).data.size();
        continue;
      }
      for (const Tile& tile : TileGrid(*site.map).tiles()) {
        written[site_info(hook.site).name] +=
            static_cast<std::uint64_t>(tile.heads * tile.queries * tile.keys) * 4;
      }
    }
    for (const AttentionTable table :
         {AttentionTable::head_stats, AttentionTable::row_stats, AttentionTable::topk_index,
          AttentionTable::topk_value, AttentionTable::key_sum, AttentionTable::value_norm,
          AttentionTable::overview}) {
      written["statistics"] += file.read_table(p, Stack::self, table).data.size();
    }
  }
  ASSERT_EQ(result.plan.sites.size(), written.size());
  for (const SiteEstimate& site : result.plan.sites) {
    EXPECT_EQ(site.value_bytes, written[site.site]) << site.site;
  }
}

}  // namespace
}  // namespace attnscope
