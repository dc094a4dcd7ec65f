#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "attnscope/storage/diff.h"
#include "attnscope/storage/h5.h"
#include "attnscope/storage/merge.h"
#include "attnscope/storage/verify.h"
#include "attnscope/support/error.h"
#include "storage/sample.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

using testing::SampleOptions;
using testing::TempFolder;
using testing::write_sample;

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.what();
  }
  return {};
}

class Merge : public ::testing::TestWithParam<FileLayout> {};

TEST_P(Merge, KeepsEveryValueAndRenumbersPrompts) {
  const TempFolder folder;
  const SampleOptions a{.lengths = {7, 130}, .layout = GetParam(), .run_id = "a"};
  const SampleOptions b{
      .lengths = {5, 3, 4}, .layout = GetParam(), .first_prompt = 2, .run_id = "b"};
  write_sample(folder.file("a.h5"), a);
  write_sample(folder.file("b.h5"), b);
  merge_files({.inputs = {folder.file("a.h5"), folder.file("b.h5")}, .path = folder.file("m.h5")});
  for (const Finding& finding : verify_file(folder.file("m.h5")).findings)
    ADD_FAILURE() << describe(finding);
  const CaptureReader m(folder.file("m.h5"));
  ASSERT_EQ(m.prompts(), 5);
  EXPECT_EQ(m.layout(), GetParam());
  const CaptureReader read_a(folder.file("a.h5"));
  const CaptureReader read_b(folder.file("b.h5"));
  for (int p = 0; p < 5; ++p) {
    const CaptureReader& from = p < 2 ? read_a : read_b;
    const int q = p < 2 ? p : p - 2;
    EXPECT_EQ(m.prompt(p).text, from.prompt(q).text);
    EXPECT_EQ(m.prompt(p).tokens.ids, from.prompt(q).tokens.ids);
    EXPECT_EQ(m.prompt(p).columns, from.prompt(q).columns);
    ASSERT_EQ(m.hooks(p), from.hooks(q));
    for (const HookId hook : m.hooks(p)) {
      EXPECT_EQ(m.read(p, hook).data, from.read(q, hook).data) << hook_name(hook);
    }
    EXPECT_EQ(m.read_table(p, Stack::self, AttentionTable::head_stats).data,
              from.read_table(q, Stack::self, AttentionTable::head_stats).data);
    EXPECT_EQ(m.read_table(p, Stack::self, AttentionTable::overview).data,
              from.read_table(q, Stack::self, AttentionTable::overview).data);
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Merge,
                         ::testing::Values(FileLayout::per_prompt, FileLayout::packed),
                         [](const auto& test) {
                           return test.param == FileLayout::packed ? "Packed" : "PerPrompt";
                         });

TEST(MergeErrors, OtherModelsAndLayoutsAreRefused) {
  const TempFolder folder;
  write_sample(folder.file("a.h5"), {.lengths = {5}});
  write_sample(folder.file("b.h5"), {.lengths = {5}, .weights_sha256 = "other"});
  write_sample(folder.file("c.h5"), {.lengths = {5}, .layout = FileLayout::packed});
  const auto merge = [&](const std::string& other) {
    return message_of([&] {
      merge_files(
          {.inputs = {folder.file("a.h5"), folder.file(other)}, .path = folder.file("m.h5")});
    });
  };
  EXPECT_NE(merge("b.h5").find("another model"), std::string::npos);
  EXPECT_NE(merge("c.h5").find("another layout"), std::string::npos);
  EXPECT_FALSE(std::ifstream(folder.file("m.h5")).good());
}

TEST(MergeErrors, OneFileOrRunTwiceIsRefused) {
  const TempFolder folder;
  write_sample(folder.file("a.h5"), {.lengths = {5}, .run_id = "a"});
  write_sample(folder.file("again.h5"), {.lengths = {5}, .run_id = "a"});
  std::filesystem::create_hard_link(folder.file("a.h5"), folder.file("hard.h5"));
  std::filesystem::create_symlink(folder.file("a.h5"), folder.file("soft.h5"));
  for (const auto& [name, expected] : {std::pair{"a.h5", "the same file as"},
                                       {"hard.h5", "the same file as"},
                                       {"soft.h5", "the same file as"},
                                       {"again.h5", "the same run as"}}) {
    const std::string message = message_of([&, other = name] {
      merge_files(
          {.inputs = {folder.file("a.h5"), folder.file(other)}, .path = folder.file("m.h5")});
    });
    EXPECT_NE(message.find(expected), std::string::npos) << message;
    EXPECT_NE(message.find(folder.file(name)), std::string::npos) << message;
  }
  EXPECT_FALSE(std::ifstream(folder.file("m.h5")).good());
}

// Captures that hold different things of their prompts.
TEST(MergeErrors, OtherDTypesAndOptionsAreNamed) {
  const TempFolder folder;
  const auto write = [&](const std::string& name, const RunInfo& run, Site site) {
    CaptureWriter writer(folder.file(name), testing::sample_file_info({.run_id = name}),
                         testing::sample_model({}), run, {});
    writer.add_prompt(testing::sample_prompt(0, 2));
    const std::vector<float> values(4);
    writer.write_site(0, {site, 0}, contiguous_view(values.data(), DType::f32, {2, 2}));
    writer.finish();
  };
  RunInfo run = testing::sample_run();
  const auto with_options = [&run](const std::string& json) {
    RunInfo out = run;
    out.options_json = json;
    return out;
  };
  const std::string options =
      R"({"hooks":"resid_pre","topk":8,"map_dtype":"r10","threads":1,"prompt":"a"})";
  write("a.h5", with_options(options), Site::resid_pre);
  struct Case {
    std::string options;
    std::string dtype;
    Site site;
    std::string expected;  // empty = merges
  };
  const std::vector<Case> cases{
      // What was asked, and how it was computed, may differ.
      {R"({"hooks":"resid_pre","topk":8,"map_dtype":"r10","threads":2,"prompt":"b"})", "float32",
       Site::resid_pre, ""},
      {R"({"hooks":"resid_pre","topk":9,"map_dtype":"r10"})", "float32", Site::resid_pre,
       "\"topk\""},
      {R"({"hooks":"resid_pre","topk":8,"map_dtype":"f16"})", "float32", Site::resid_pre,
       "\"map_dtype\""},
      {R"({"hooks":"resid_post","topk":8,"map_dtype":"r10"})", "float32", Site::resid_post,
       "\"hooks\""},
      {R"({"hooks":"resid_pre","topk":8,"map_dtype":"r10","heads":"0.1"})", "float32",
       Site::resid_pre, "\"heads\""},
      {options, "float64", Site::resid_pre, "another dtype"},
      {options, "float32", Site::resid_post, "other sites"},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string name = "b" + std::to_string(i) + ".h5";
    run.dtype = cases[i].dtype;
    write(name, with_options(cases[i].options), cases[i].site);
    run.dtype = testing::sample_run().dtype;
    const std::string message = message_of([&] {
      merge_files(
          {.inputs = {folder.file("a.h5"), folder.file(name)}, .path = folder.file("m.h5")});
    });
    EXPECT_EQ(message.empty(), cases[i].expected.empty()) << i << ": " << message;
    EXPECT_NE(message.find(cases[i].expected), std::string::npos) << i << ": " << message;
    EXPECT_EQ(std::filesystem::remove(folder.file("m.h5")), cases[i].expected.empty());
  }
}

TEST(MergeErrors, PartsOfARunMustBeAllThere) {
  const TempFolder folder;
  const auto write = [&](const std::string& name, int index, int count,
                         const std::string& run_id = "run") {
    write_sample(folder.file(name),
                 {.lengths = {5}, .shard = ShardId{index, count}, .run_id = run_id});
  };
  write("1of3.h5", 0, 3);
  write("2of3.h5", 1, 3);
  write("3of3.h5", 2, 3);
  write("3of3-again.h5", 2, 3);
  write("1of2.h5", 0, 2);
  write("2of3-other.h5", 1, 3, "other");
  write_sample(folder.file("whole.h5"), {.lengths = {5}, .run_id = "whole"});
  struct Case {
    std::vector<std::string> inputs;
    std::string expected;
  };
  const std::vector<Case> cases{
      {{"1of3.h5", "3of3.h5"}, "no part 2"},
      {{"3of3.h5", "2of3.h5"}, "no part 1"},
      {{"1of3.h5", "2of3.h5", "3of3.h5", "3of3-again.h5"}, "the same run as"},
      {{"1of3.h5", "2of3.h5", "1of2.h5"}, "another number of parts"},
      {{"1of3.h5", "2of3-other.h5", "3of3.h5"}, "another run"},
      {{"1of3.h5", "2of3.h5", "3of3.h5", "whole.h5"}, "a whole run"},
      {{"whole.h5", "1of3.h5"}, "a whole run"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> inputs;
    for (const std::string& name : c.inputs) inputs.push_back(folder.file(name));
    const std::string message =
        message_of([&] { merge_files({.inputs = inputs, .path = folder.file("m.h5")}); });
    EXPECT_NE(message.find(c.expected), std::string::npos) << c.expected << ": " << message;
    EXPECT_FALSE(std::ifstream(folder.file("m.h5")).good());
  }
  merge_files({.inputs = {folder.file("3of3.h5"), folder.file("1of3.h5"), folder.file("2of3.h5")},
               .path = folder.file("m.h5")});
  const CaptureReader merged(folder.file("m.h5"));
  EXPECT_EQ(merged.prompts(), 3);
  EXPECT_FALSE(merged.file().shard.has_value());
  EXPECT_EQ(merged.file().run_id, "run");
}

// A file with one experiment, written by hand.
void write_experiment(const std::string& path, const std::string& name, const std::string& run_id) {
  write_sample(path + ".in", {.lengths = {5, 6}, .run_id = run_id});
  const h5::File from = h5::File::open(path + ".in");
  h5::File to = h5::File::create(path);
  h5::Group root = to.root();
  const h5::Group source = from.root();
  for (const char* text : {"schema", "kind", "run_id", "tool_version", "git_commit", "layout"}) {
    root.set_text(text, *source.text(text));
  }
  root.set_integers("schema_version", source.integers("schema_version"));
  for (const char* group : {"model", "run", "prompts"}) root.copy(source, group, group);
  h5::Group experiment = root.create_group("experiments").create_group(name);
  h5::Dataset index = experiment.create_dataset(
      "prompt_index", {.type = h5::Type::of(h5::Scalar::i64), .dims = {2}});
  const std::vector<std::int64_t> values{0, 1};
  index.write(values.data());
  const std::vector<std::string> labels{"cell"};
  index.set_labels(labels);
  index.set_text("site", "experiments");
  index.set_text("dims", "cell");
  index.set_integer("layer", -1);
  index.set_text("sha256", index.sha256());
  to.close();
}

TEST(MergeErrors, ExperimentsKeepTheirPromptsOrClash) {
  const TempFolder folder;
  write_experiment(folder.file("a.h5"), "x", "a");
  write_experiment(folder.file("b.h5"), "y", "b");
  merge_files({.inputs = {folder.file("a.h5"), folder.file("b.h5")}, .path = folder.file("m.h5")});
  EXPECT_TRUE(verify_file(folder.file("m.h5")).findings.empty());
  const h5::File file = h5::File::open(folder.file("m.h5"));
  std::vector<std::int64_t> values(2);
  file.root().open_dataset("experiments/x/prompt_index").read(values.data());
  EXPECT_EQ(values, (std::vector<std::int64_t>{0, 1}));
  file.root().open_dataset("experiments/y/prompt_index").read(values.data());
  EXPECT_EQ(values, (std::vector<std::int64_t>{2, 3}));
  write_experiment(folder.file("c.h5"), "x", "c");
  EXPECT_NE(message_of([&] {
              merge_files({.inputs = {folder.file("a.h5"), folder.file("c.h5")},
                           .path = folder.file("n.h5")});
            }).find("\"x\""),
            std::string::npos);
}

TEST(Diff, FindsLargestAndMeanChangeOfEachHead) {
  const TempFolder folder;
  write_sample(folder.file("a.h5"), {.lengths = {5, 9}});
  write_sample(folder.file("b.h5"), {.lengths = {5, 9}, .shift = 0.25F});
  const CaptureReader a(folder.file("a.h5"));
  const CaptureReader b(folder.file("b.h5"));
  const DiffResult same = diff_files(a, a);
  const DiffResult result = diff_files(a, b);
  // Two layers of: resid_pre, and scores, pattern, z of three heads each.
  ASSERT_EQ(result.changes.size(), 2U * (1 + 3 * 3));
  EXPECT_TRUE(result.only_a.empty() && result.only_b.empty() && result.other_shape.empty());
  for (std::size_t i = 0; i < result.changes.size(); ++i) {
    const SiteChange& change = result.changes[i];
    EXPECT_EQ(same.changes[i].largest, 0);
    EXPECT_EQ(same.changes[i].mean, 0);
    EXPECT_EQ(same.changes[i].undefined, 0);
    const bool shifted = change.hook.site == Site::resid_pre || change.hook.site == Site::z;
    EXPECT_NEAR(change.largest, shifted ? 0.25 : 0, 1e-6) << hook_name(change.hook);
    EXPECT_NEAR(change.mean, shifted ? 0.25 : 0, 1e-6) << hook_name(change.hook);
    if (change.hook.site == Site::z) {
      EXPECT_EQ(change.values, (5 + 9) * 4);
    }
    EXPECT_EQ(change.head < 0, change.hook.site == Site::resid_pre);
  }
  write_diff(result, a, b, folder.file("d.h5"), IfExists::refuse);
  EXPECT_TRUE(verify_file(folder.file("d.h5")).findings.empty());
  const CaptureReader d(folder.file("d.h5"));
  EXPECT_EQ(d.file().kind, FileKind::diff);
  const h5::File file = h5::File::open(folder.file("d.h5"));
  const h5::Dataset effect = file.root().open_dataset("experiments/diff/effect");
  EXPECT_EQ(effect.dims(), (h5::Dims{2, 20}));
  std::vector<double> values(40);
  effect.read(values.data());
  EXPECT_EQ(values[0], result.changes[0].largest);
  EXPECT_EQ(values[20], result.changes[0].mean);
}

TEST(Diff, OtherTokensAreAnErrorThatShowsThem) {
  const TempFolder folder;
  write_sample(folder.file("a.h5"), {.lengths = {5}});
  write_sample(folder.file("b.h5"), {.lengths = {5}, .first_prompt = 1});
  write_sample(folder.file("c.h5"), {.lengths = {5, 5}});
  const CaptureReader a(folder.file("a.h5"));
  const std::string ids = message_of([&] { diff_files(a, CaptureReader(folder.file("b.h5"))); });
  EXPECT_NE(ids.find("p000000, position 0"), std::string::npos) << ids;
  EXPECT_NE(ids.find("expected 0 "), std::string::npos) << ids;
  EXPECT_NE(ids.find("got 31 "), std::string::npos) << ids;
  EXPECT_NE(message_of([&] { diff_files(a, CaptureReader(folder.file("c.h5"))); }), "");
}

TEST(Diff, MissingHooksAreListed) {
  const TempFolder folder;
  write_sample(folder.file("a.h5"), {.lengths = {5}});
  {
    CaptureWriter writer(folder.file("b.h5"), testing::sample_file_info({}),
                         testing::sample_model({}), testing::sample_run(), {});
    writer.add_prompt(testing::sample_prompt(0, 5));
    const float nan = std::nanf("");
    const std::vector<float> z(5 * 3 * 4, nan);
    writer.write_site(0, {Site::z, 0}, contiguous_view(z.data(), DType::f32, {5, 3, 4}));
    const std::vector<float> wide(5 * 6, 0);
    writer.write_site(0, {Site::resid_pre, 0}, contiguous_view(wide.data(), DType::f32, {5, 6}));
    writer.write_site(0, {Site::mlp_out, 0}, contiguous_view(wide.data(), DType::f32, {5, 6}));
    writer.finish();
  }
  const CaptureReader a(folder.file("a.h5"));
  const CaptureReader b(folder.file("b.h5"));
  const DiffResult result = diff_files(a, b);
  EXPECT_EQ(result.only_a.size(), 6U);
  EXPECT_EQ(result.only_b, (std::vector<std::string>{"blocks.0.hook_mlp_out"}));
  EXPECT_EQ(result.other_shape, (std::vector<std::string>{"blocks.0.hook_resid_pre"}));
  ASSERT_EQ(result.changes.size(), 3U);
  EXPECT_EQ(result.changes[0].undefined, 20);
  EXPECT_EQ(result.changes[0].values, 0);
}

}  // namespace
}  // namespace attnscope
