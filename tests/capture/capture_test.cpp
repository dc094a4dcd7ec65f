// Files as a whole: bytes, layouts, refusals, records.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "attnscope/storage/h5.h"
#include "attnscope/storage/merge.h"
#include "attnscope/storage/verify.h"
#include "attnscope/support/sha256.h"
#include "capture_case.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

using nlohmann::json;
using testing::bytes_of;
using testing::caught;
using testing::exists;
using testing::spec_for;
using testing::TempFolder;

constexpr const char* kTiny = "models/tiny-random-gpt2";
constexpr int kTinyLayers = 5;

CaptureSpec tiny(const std::string& out) {
  CaptureSpec spec = spec_for(kTiny, out);
  spec.prompts.prompt = "The cat sat on the mat, and the cat sat on the mat.";
  return spec;
}

TEST(Capture, WritesAFileThatVerifiesAndItsSidecar) {
  const TempFolder folder;
  CaptureSpec spec = tiny(folder.file("run.h5"));
  spec.hooks = "pattern,z,resid_post";
  const CaptureResult result = run_capture(spec, {.command_line = {"attnscope", "capture"}});
  EXPECT_TRUE(verify_file(spec.output.out).findings.empty());
  EXPECT_EQ(result.sha256, sha256_of(bytes_of(spec.output.out)));
  EXPECT_EQ(result.file_bytes, bytes_of(spec.output.out).size());
  const json sidecar = json::parse(bytes_of(folder.file("run.json")));
  EXPECT_EQ(sidecar[kSidecarHashKey], result.sha256);
  EXPECT_EQ(sidecar["command_line"][1], "capture");
  for (const char* key : {"host", "started", "finished", "git_commit", "libraries"}) {
    EXPECT_TRUE(sidecar.contains(key)) << key;
  }
  // Nothing but the two files is left.
  EXPECT_FALSE(exists(spec.output.out + ".parts"));
  EXPECT_FALSE(exists(spec.output.out + ".tmp"));
  // What changes between two runs of one configuration must not be inside.
  const std::string file = bytes_of(spec.output.out);
  EXPECT_EQ(file.find(folder.path()), std::string::npos);
  EXPECT_EQ(file.find(testing::fixture(kTiny)), std::string::npos);
}

TEST(Capture, TokensAndProvenanceAreStored) {
  const TempFolder folder;
  const CaptureSpec spec = tiny(folder.file("run.h5"));
  const CaptureResult result = run_capture(spec);
  const CaptureReader file(spec.output.out, {.trust = Trust::own});
  const PromptRecord prompt = file.prompt(0);
  EXPECT_EQ(prompt.text, *spec.prompts.prompt);
  EXPECT_EQ(prompt.tokens.ids, result.plan.prompts[0].ids);
  std::string text;
  for (const std::string& part : prompt.tokens.text) text += part;
  EXPECT_EQ(text, *spec.prompts.prompt);
  const ModelInfo model = file.model();
  const std::string folder_of_model = testing::fixture(kTiny);
  EXPECT_EQ(model.config_sha256, sha256_of(bytes_of(folder_of_model + "/config.json")));
  EXPECT_EQ(model.weights_sha256, sha256_of(bytes_of(folder_of_model + "/model.safetensors")));
  EXPECT_EQ(model.tokenizer_sha256, sha256_of(bytes_of(folder_of_model + "/tokenizer.json")));
  EXPECT_EQ(model.sizes.at("n_layers"), 5);
  EXPECT_EQ(json::parse(file.run().options_json)["hooks"], "pattern");
  EXPECT_EQ(file.run().threads, at::get_num_threads());
}

TEST(Capture, SameConfigSameBytes) {
  const TempFolder folder;
  std::vector<int> lengths;
  for (int i = 0; i < 30; ++i) lengths.push_back(1 + (i * 13) % 90);
  testing::write_id_prompts(folder.file("p.jsonl"), lengths, 1000);
  std::string first;
  for (const int compressors : {1, 2, 4}) {
    CaptureSpec spec = spec_for(kTiny, folder.file("run" + std::to_string(compressors) + ".h5"));
    spec.prompts.prompts_file = folder.file("p.jsonl");
    spec.hooks = "pattern,z,mlp_out";
    run_capture(spec, {.compressor_threads = compressors});
    const std::string bytes = bytes_of(spec.output.out);
    if (first.empty()) first = bytes;
    EXPECT_TRUE(bytes == first) << compressors << " compressors";
  }
}

TEST(Capture, PackedLayoutHoldsTwoHundredPrompts) {
  const TempFolder folder;
  std::vector<int> lengths;
  for (int i = 0; i < 200; ++i) lengths.push_back(1 + (i * 29) % 40);
  testing::write_id_prompts(folder.file("p.jsonl"), lengths, 1000);
  CaptureSpec spec = spec_for(kTiny, folder.file("packed.h5"));
  spec.prompts.prompts_file = folder.file("p.jsonl");
  spec.hooks = "z,resid_post";
  const CaptureResult result = run_capture(spec);
  EXPECT_TRUE(verify_file(spec.output.out).findings.empty());
  const CaptureReader packed(spec.output.out, {.trust = Trust::own});
  ASSERT_EQ(packed.layout(), FileLayout::packed);
  ASSERT_EQ(packed.prompts(), 200);
  // Against the same prompts, each with its own group.
  CaptureSpec grouped = spec;
  grouped.output.out = folder.file("grouped.h5");
  grouped.layout = LayoutChoice::prompts;
  run_capture(grouped);
  const CaptureReader groups(grouped.output.out, {.trust = Trust::own});
  for (const int p : {0, 1, 63, 64, 137, 199}) {
    EXPECT_EQ(packed.prompt(p).group, "g" + std::to_string(p % 5));
    EXPECT_EQ(packed.prompt(p).tokens.ids, result.plan.prompts[static_cast<std::size_t>(p)].ids);
    for (const HookId& hook : groups.hooks(p)) {
      const Array a = packed.read(p, hook);
      const Array b = groups.read(p, hook);
      ASSERT_EQ(a.shape, b.shape);
      EXPECT_TRUE(at::allclose(at::tensor(a.as_float()), at::tensor(b.as_float()), 1e-4, 1e-5))
          << hook_name(hook) << " of " << p;
    }
    const auto x = packed.read_table(p, Stack::self, AttentionTable::head_stats).as_float();
    const auto y = groups.read_table(p, Stack::self, AttentionTable::head_stats).as_float();
    EXPECT_TRUE(at::allclose(at::tensor(x), at::tensor(y), 1e-4, 1e-5, /*equal_nan=*/true)) << p;
  }
}

TEST(Capture, ManyShardsGiveOneFileThatVerifies) {
  const TempFolder folder;
  std::vector<int> lengths;
  for (int i = 0; i < 90; ++i) lengths.push_back(3 + (i * 29) % 40);
  testing::write_id_prompts(folder.file("p.jsonl"), lengths, 1000);
  for (const bool packed : {false, true}) {
    CaptureSpec spec = spec_for(kTiny, folder.file(packed ? "packed.h5" : "groups.h5"));
    spec.prompts.prompts_file = folder.file("p.jsonl");
    spec.hooks = "z";
    spec.layout = packed ? LayoutChoice::packed : LayoutChoice::prompts;
    CaptureContext context;
    context.limits.shard_flop = 3e7;
    const CaptureResult result = run_capture(spec, context);
    EXPECT_GT(result.plan.shards.size(), 3u);
    EXPECT_TRUE(verify_file(spec.output.out).findings.empty());
    const CaptureReader file(spec.output.out, {.trust = Trust::own});
    ASSERT_EQ(file.prompts(), 90);
    for (int p = 0; p < 90; ++p) {
      EXPECT_EQ(file.prompt(p).tokens.ids, result.plan.prompts[static_cast<std::size_t>(p)].ids);
    }
    EXPECT_FALSE(exists(spec.output.out + ".parts"));
  }
}

// Path and checksum of every dataset, attributes of the root beside them.
std::vector<std::string> content_of(const h5::Group& group) {
  std::vector<std::string> out;
  for (const std::string& name : group.names()) {
    if (group.is_group(name)) {
      for (std::string& line : content_of(group.open_group(name))) out.push_back(std::move(line));
    } else {
      const h5::Dataset dataset = group.open_dataset(name);
      out.push_back(dataset.path() + " " + dataset.sha256());
    }
  }
  return out;
}

// Parts that are computed by themselves and merged are the run that was not cut, whether a part is
// whole shards or some prompts of a batch.
TEST(Capture, PartsOfARunMergeToTheRun) {
  std::vector<int> lengths;
  for (int i = 0; i < 23; ++i) lengths.push_back(3 + (i * 29) % 40);
  for (const LayoutChoice layout : {LayoutChoice::prompts, LayoutChoice::packed}) {
    for (const double shard_flop : {2e12, 1e7}) {
      const TempFolder folder;
      testing::write_id_prompts(folder.file("p.jsonl"), lengths, 1000);
      CaptureSpec spec = spec_for(kTiny, folder.file("whole.h5"));
      spec.prompts.prompts_file = folder.file("p.jsonl");
      spec.hooks = layout == LayoutChoice::packed ? "z,k" : "pattern,z,k";
      spec.positions = "0-2,-1";
      spec.layout = layout;
      CaptureContext context;
      context.limits.shard_flop = shard_flop;
      const CaptureResult whole = run_capture(spec, context);
      const std::size_t shards = whole.plan.shards.size();
      EXPECT_EQ(shards > 4, shard_flop < 1e12);
      std::vector<std::string> parts;
      std::int64_t next = 0;
      for (const int part : {1, 2, 3, 4}) {
        spec.output.out = folder.file("part" + std::to_string(part) + ".h5");
        spec.shard = {part, 4};
        const CaptureResult result = run_capture(spec, context);
        EXPECT_EQ(result.plan.part.first, next);
        next += result.plan.part.count;
        EXPECT_TRUE(verify_file(spec.output.out).findings.empty());
        const CaptureReader file(spec.output.out, {.trust = Trust::own});
        EXPECT_EQ(file.file().shard, (ShardId{part - 1, 4}));
        ASSERT_EQ(file.prompts(), result.plan.part.count);
        EXPECT_EQ(file.prompt(0).tokens.ids,
                  whole.plan.prompts[static_cast<std::size_t>(result.plan.part.first)].ids);
        // The order of the arguments does not matter.
        parts.insert(parts.begin() + part / 2, spec.output.out);
      }
      EXPECT_EQ(next, 23);
      const std::string sha256 = merge_files({.inputs = parts, .path = folder.file("merged.h5")});
      EXPECT_EQ(content_of(h5::File::open(folder.file("merged.h5")).root()),
                content_of(h5::File::open(folder.file("whole.h5")).root()));
      EXPECT_TRUE(verify_file(folder.file("merged.h5")).findings.empty());
      // A run of several shards was put together in the same way.
      if (shards > 1) {
        EXPECT_EQ(sha256, whole.sha256);
      }
    }
  }
}

TEST(Capture, PartsAreResumedAsTheirOwnPart) {
  const TempFolder folder;
  testing::write_id_prompts(folder.file("p.jsonl"), {3, 4, 5, 6, 7}, 1000);
  CaptureSpec spec = spec_for(kTiny, folder.file("part.h5"));
  spec.prompts.prompts_file = folder.file("p.jsonl");
  spec.shard = {1, 6};
  EXPECT_NE(caught([&] { run_capture(spec); }).message.find("at most 5 parts"), std::string::npos);
  spec.shard = {1, 2};
  run_capture(spec);
  spec.output.resume = true;
  EXPECT_EQ(run_capture(spec).plan.part.count, 2);
  spec.shard = {2, 2};
  const auto other = caught([&] { run_capture(spec); });
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.message.find("\"shard\" differs"), std::string::npos) << other.message;
  EXPECT_NE(other.message.find("1/2"), std::string::npos) << other.message;
}

TEST(Capture, NeverOverwritesWithoutForce) {
  const TempFolder folder;
  const CaptureSpec spec = tiny(folder.file("run.h5"));
  std::ofstream(folder.file("run.h5")) << "mine";
  EXPECT_EQ(caught([&] { run_capture(spec); }).exit_code, 3);
  EXPECT_EQ(bytes_of(folder.file("run.h5")), "mine");
  std::filesystem::remove(folder.file("run.h5"));
  std::ofstream(folder.file("run.json")) << "mine too";
  EXPECT_EQ(caught([&] { run_capture(spec); }).exit_code, 3);
  EXPECT_EQ(bytes_of(folder.file("run.json")), "mine too");
  EXPECT_FALSE(exists(folder.file("run.h5")));
  CaptureSpec forced = spec;
  forced.output.force = true;
  run_capture(forced);
  EXPECT_TRUE(verify_file(spec.output.out).findings.empty());
}

TEST(Capture, OutputFolderMustExistAndBeWritable) {
  const TempFolder folder;
  EXPECT_EQ(caught([&] { run_capture(tiny(folder.file("absent/run.h5"))); }).exit_code, 3);
  std::ofstream(folder.file("file")) << "x";
  EXPECT_EQ(caught([&] { run_capture(tiny(folder.file("file/run.h5"))); }).exit_code, 3);
  EXPECT_EQ(
      caught([&] { run_capture(tiny(folder.file(std::string(300, 'n') + ".h5"))); }).exit_code, 3);
}

TEST(Capture, DryRunPlansAndWritesNothing) {
  const TempFolder folder;
  CaptureSpec spec = tiny(folder.file("run.h5"));
  spec.output.dry_run = true;
  bool planned = false;
  CaptureContext context;
  context.on_plan = [&planned](const CapturePlan& plan) { planned = plan.tokens > 0; };
  const CaptureResult result = run_capture(spec, context);
  EXPECT_TRUE(planned);
  EXPECT_TRUE(result.path.empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// Stopped after some batches, a run keeps its committed shards and goes on from them.
TEST(Capture, AStopMidwayKeepsWhatIsCommitted) {
  const TempFolder folder;
  testing::write_id_prompts(folder.file("p.jsonl"), std::vector<int>(24, 20), 1000);
  struct Stopper : ProgressListener {
    std::atomic<bool> stop = false;
    void update(const ProgressState& state) override { stop = state.items_done >= 12; }
  } stopper;
  CaptureSpec spec = spec_for(kTiny, folder.file("run.h5"));
  spec.prompts.prompts_file = folder.file("p.jsonl");
  CaptureContext context;
  context.limits.shard_flop = 1e7;
  context.stop = &stopper.stop;
  context.progress = &stopper;
  const auto stopped = caught([&] { run_capture(spec, context); });
  EXPECT_EQ(stopped.exit_code, 130);
  EXPECT_NE(stopped.message.find("kept: 4 shards"), std::string::npos) << stopped.message;
  EXPECT_NE(stopped.message.find("--resume"), std::string::npos) << stopped.message;
  EXPECT_FALSE(exists(spec.output.out));
  spec.output.resume = true;
  CaptureContext rest;
  rest.limits = context.limits;
  const CaptureResult resumed = run_capture(spec, rest);
  EXPECT_GT(resumed.shards_kept, 0);
  EXPECT_LT(resumed.shards_kept, static_cast<std::int64_t>(resumed.plan.shards.size()));
  CaptureSpec whole = spec;
  whole.output.resume = false;
  whole.output.out = folder.file("whole.h5");
  const CaptureResult alone = run_capture(whole, rest);
  EXPECT_EQ(resumed.sha256, alone.sha256);
  // The summary covers the shards that were kept, too.
  const HeadId head{1, 2};
  EXPECT_FLOAT_EQ(static_cast<float>(resumed.heads.mean(head, HeadStat::entropy)),
                  static_cast<float>(alone.heads.mean(head, HeadStat::entropy)));
}

// Stopped before its first commit, a run says so and leaves nothing behind.
TEST(Capture, AStopBeforeTheFirstCommitLeavesNothing) {
  const TempFolder folder;
  testing::write_id_prompts(folder.file("p.jsonl"), std::vector<int>(24, 20), 1000);
  const std::atomic<bool> stop = true;
  for (const double shard_flop : {1e7, 2e12}) {
    CaptureSpec spec = spec_for(kTiny, folder.file("run.h5"));
    spec.prompts.prompts_file = folder.file("p.jsonl");
    CaptureContext context;
    context.limits.shard_flop = shard_flop;
    context.stop = &stop;
    const auto stopped = caught([&] { run_capture(spec, context); });
    EXPECT_EQ(stopped.exit_code, 130);
    EXPECT_NE(stopped.message.find("nothing was committed yet"), std::string::npos)
        << stopped.message;
    for (const std::string& left : {spec.output.out, spec.output.out + ".parts",
                                    spec.output.out + ".tmp", sidecar_path(spec.output.out)}) {
      EXPECT_FALSE(exists(left)) << left;
    }
    context.stop = nullptr;
    run_capture(spec, context);
    std::remove(spec.output.out.c_str());
    std::remove(sidecar_path(spec.output.out).c_str());
  }
}

class CaptureDTypes : public ::testing::TestWithParam<ComputeDType> {};

TEST_P(CaptureDTypes, AreStoredAsFloatOrDouble) {
  const TempFolder folder;
  CaptureSpec spec = tiny(folder.file("run.h5"));
  spec.compute.dtype = GetParam();
  spec.hooks = "pattern,z";
  run_capture(spec);
  EXPECT_TRUE(verify_file(spec.output.out).findings.empty());
  const CaptureReader file(spec.output.out, {.trust = Trust::own});
  const bool wide = GetParam() == ComputeDType::f64;
  EXPECT_EQ(file.read(0, {Site::z, 0}).dtype, wide ? DType::f64 : DType::f32);
  EXPECT_EQ(file.read(0, {Site::pattern, 0}).dtype, DType::f32);
}

INSTANTIATE_TEST_SUITE_P(All, CaptureDTypes,
                         ::testing::Values(ComputeDType::f64, ComputeDType::bf16));

// Puts NaN into the first value of one tensor of a copy of the tiny model.
std::string model_with_nan(const TempFolder& folder) {
  const std::string copy = folder.file("nan-model");
  std::filesystem::copy(testing::fixture(kTiny), copy);
  const std::string path = copy + "/model.safetensors";
  std::string bytes = bytes_of(path);
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  const json tensors = json::parse(bytes.substr(8, header));
  for (const auto& [name, tensor] : tensors.items()) {
    if (!name.ends_with("h.2.mlp.c_proj.bias")) continue;
    const float nan = std::nanf("");
    std::memcpy(bytes.data() + 8 + header + tensor["data_offsets"][0].get<std::size_t>(), &nan,
                sizeof nan);
  }
  std::ofstream(path, std::ios::binary) << bytes;
  return copy;
}

TEST(Capture, NanIsStoredCountedAndWarnedOf) {
  const TempFolder folder;
  CaptureSpec spec = tiny(folder.file("run.h5"));
  spec.model = model_with_nan(folder);
  spec.hooks = "resid_post";
  const CaptureResult result = run_capture(spec);
  EXPECT_GT(result.non_finite, 0);
  bool warned = false;
  for (const std::string& line : result.warnings) {
    warned |= line.find("NaN") != std::string::npos;
  }
  EXPECT_TRUE(warned);
  const CaptureReader file(spec.output.out, {.trust = Trust::own});
  const HookId before{Site::resid_post, 1};
  const HookId after{Site::resid_post, 2};
  for (const float v : file.read(0, before).as_float()) ASSERT_TRUE(std::isfinite(v));
  EXPECT_TRUE(std::isnan(file.read(0, after).as_float().front()));
  spec.output.out = folder.file("fail.h5");
  spec.fail_on_nan = true;
  const auto error = caught([&] { run_capture(spec); });
  EXPECT_EQ(error.exit_code, 2);
  EXPECT_FALSE(exists(folder.file("fail.h5")));
}

TEST(Capture, ProgressCountsPromptsAndTokens) {
  const TempFolder folder;
  testing::write_id_prompts(folder.file("p.jsonl"), {9, 3, 5}, 1000);
  struct Listener : ProgressListener {
    ProgressState last;
    int updates = 0;
    void update(const ProgressState& state) override {
      EXPECT_GE(state.items_done, last.items_done);
      EXPECT_GE(state.tokens_done, last.tokens_done);
      if (state.tokens_done < state.tokens_total && state.tokens_done > 0) {
        EXPECT_GT(state.seconds_left, 0);
      }
      last = state;
      ++updates;
    }
  } listener;
  CaptureSpec spec = spec_for(kTiny, folder.file("run.h5"));
  spec.prompts.prompts_file = folder.file("p.jsonl");
  spec.compute.batch = 1;
  run_capture(spec, {.progress = &listener});
  EXPECT_EQ(listener.last.items_done, 3);
  EXPECT_EQ(listener.last.items_total, 3);
  EXPECT_EQ(listener.last.tokens_done, 17);
  EXPECT_EQ(listener.last.seconds_left, 0);
  // Each layer of each prompt shows how far the prompt is.
  EXPECT_EQ(listener.updates, 3 * (kTinyLayers + 1));
}

// The run ends with the last layer that is asked for, and says the same of it as a whole run.
TEST(Capture, StatisticsAloneCanBeOfSomeLayers) {
  const TempFolder folder;
  CaptureSpec spec = tiny(folder.file("whole.h5"));
  spec.stats_only = true;
  const CaptureResult whole = run_capture(spec);
  spec.output.out = folder.file("some.h5");
  spec.layers = "0,2";
  const CaptureResult some = run_capture(spec);
  EXPECT_EQ(some.plan.statistics_layers, (std::vector<int>{0, 2}));
  EXPECT_EQ(some.plan.layers_computed, 3);
  EXPECT_LT(some.plan.flop, whole.plan.flop);
  const CaptureReader whole_file(whole.path, {.trust = Trust::own});
  const CaptureReader some_file(some.path, {.trust = Trust::own});
  for (const AttentionTable table :
       {AttentionTable::head_stats, AttentionTable::row_stats, AttentionTable::topk_value}) {
    const std::vector<float> all = whole_file.read_table(0, Stack::self, table).as_float();
    const std::vector<float> two = some_file.read_table(0, Stack::self, table).as_float();
    const std::size_t layer = all.size() / std::size_t{kTinyLayers};
    ASSERT_EQ(two.size(), 2 * layer);
    for (std::size_t i = 0; i < two.size(); ++i) {
      const float expected = all[i < layer ? i : i + layer];
      ASSERT_TRUE(two[i] == expected || (std::isnan(two[i]) && std::isnan(expected))) << i;
    }
  }
  spec.layers = "";
  spec.heads = "0.1";
  EXPECT_EQ(caught([&] { run_capture(spec); }).exit_code, 2);
}

TEST(Capture, SaysWhichEngineComputedAndWhy) {
  const TempFolder folder;
  CaptureSpec spec = tiny(folder.file("run.h5"));
  const auto engine = [&](const char* hooks, EngineChoice asked) {
    spec.hooks = hooks;
    spec.compute.engine = asked;
    spec.output.force = true;
    const CaptureResult result = run_capture(spec);
    const RunInfo run = CaptureReader(result.path, {.trust = Trust::own}).run();
    EXPECT_EQ(run.engine, result.engine);
    EXPECT_EQ(run.engine_reason, result.engine_reason);
    return result.engine + ": " + result.engine_reason;
  };
  EXPECT_EQ(engine("pattern", EngineChoice::automatic), "cpu_tiled: statistics are wanted");
  EXPECT_EQ(engine("attn_scores", EngineChoice::automatic), "reference: scores are wanted");
  EXPECT_EQ(engine("pattern", EngineChoice::reference), "reference: asked for");
}

TEST(Capture, TheEngineForGpusIsRefusedOnTheCpu) {
  const TempFolder folder;
  CaptureSpec spec = tiny(folder.file("run.h5"));
  spec.compute.engine = EngineChoice::cuda;
  const auto error = caught([&] { run_capture(spec); });
  EXPECT_EQ(error.exit_code, 2);
  EXPECT_NE(error.message.find("--engine cuda"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("--device cuda"), std::string::npos) << error.message;
  EXPECT_FALSE(exists(spec.output.out));
}

// A plan that is shown is one that could run.
TEST(Capture, ADryRunRefusesAnEngineThatCannotComputeTheModel) {
  const TempFolder folder;
  for (const bool dry_run : {false, true}) {
    for (const EngineChoice engine : {EngineChoice::aten, EngineChoice::cuda}) {
      CaptureSpec spec = tiny(folder.file("run.h5"));
      spec.model = testing::fixture("families/gemma2");  // its scores are soft-capped
      spec.prompts.ids = {1, 2, 3};
      spec.prompts.prompt.reset();
      spec.compute.engine = engine;
      spec.output.dry_run = dry_run;
      const auto error = caught([&] { run_capture(spec); });
      EXPECT_EQ(error.exit_code, 2);
      EXPECT_NE(error.message.find("layer 0 cannot be computed so"), std::string::npos)
          << error.message;
      EXPECT_FALSE(exists(spec.output.out));
    }
  }
}

TEST(CaptureResult, IsOneJsonObject) {
  const TempFolder folder;
  const json result = json::parse(to_json(run_capture(tiny(folder.file("run.h5")))));
  EXPECT_EQ(result["prompts"], 1);
  EXPECT_EQ(result["out"], folder.file("run.h5"));
  ASSERT_EQ(result["top_heads"]["induction"].size(), 5u);
  EXPECT_GE(result["top_heads"]["entropy"][0]["value"], result["top_heads"]["entropy"][1]["value"]);
}

}  // namespace
}  // namespace attnscope
