#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "attnscope/spec/spec_json.h"
#include "attnscope/support/error.h"
#include "testing/temp_folder.h"

namespace attnscope {
namespace {

using nlohmann::json;

// Every field differs from its default, so that a field which is not written shows.
CaptureSpec unusual_capture() {
  CaptureSpec s;
  s.model = "m/ö \"x\"";
  s.prompts.prompt = "line\nwith \u2028 and \\ and \x01";
  s.prompts.pair.emplace();
  s.prompts.ids = {{0, 5, 9'000'000'000}};
  s.prompts.token_types = {0, 1};
  s.prompts.prompts_file = "p.jsonl";
  s.prompts.skip_bad = true;
  s.encoding = {BosMode::off, InvalidUtf8::replace, ChatChoice::llama3};
  s.hooks = "z,resid_post";
  s.layers = "0-3";
  s.heads = "5.1";
  s.positions = "\"Mary#2\"";
  s.stats_only = true;
  s.map_format = MapFormat::f16;
  s.top_k = 3;
  s.layout = LayoutChoice::packed;
  s.beyond_context = true;
  s.strict = true;
  s.fail_on_nan = true;
  s.compute = {"cuda:1", ComputeDType::bf16, EngineChoice::aten, 7, 0xFFFFFFFFFFFFFFFFULL,
               9,        1ULL << 40};
  s.shard = {2, 5};
  s.output = {"o.h5", true, true, true, true, true};
  return s;
}

TEST(SpecRoundTrip, EveryFieldOfCaptureComesBack) {
  const CaptureSpec spec = unusual_capture();
  EXPECT_EQ(spec_from_json<CaptureSpec>(spec_to_json(spec), "test"), spec);
  // No field may be missing from the list: the document has a key for each of the 35 options.
  EXPECT_EQ(json::parse(spec_to_json(spec)).size(), 35u);
}

TEST(SpecRoundTrip, DefaultsComeBackAndAnEmptyObjectIsTheDefault) {
  EXPECT_EQ(spec_from_json<CaptureSpec>(spec_to_json(CaptureSpec{}), "test"), CaptureSpec{});
  EXPECT_EQ(spec_from_json<CaptureSpec>("{}", "test"), CaptureSpec{});
}

TEST(SpecRoundTrip, AnEmptyPromptIsNotAMissingOne) {
  const CaptureSpec empty = {.prompts = {.prompt = std::string()}};
  const CaptureSpec back = spec_from_json<CaptureSpec>(spec_to_json(empty), "test");
  ASSERT_TRUE(back.prompts.prompt.has_value());
  EXPECT_FALSE(spec_from_json<CaptureSpec>(spec_to_json(CaptureSpec{}), "test").prompts.prompt);
}

TEST(SpecRoundTrip, PathsThatAreNotUtf8ComeBackByteForByte) {
  CaptureSpec spec;
  spec.model = "dir/\xFF\xFE\x01";
  const std::string text = spec_to_json(spec);
  EXPECT_EQ(json::parse(text)["model"]["hex"], "6469722ffffe01");
  EXPECT_EQ(spec_from_json<CaptureSpec>(text, "test"), spec);
}

TEST(SpecRoundTrip, EnvelopeCarriesEveryVerb) {
  const std::vector<AnySpec> all = {
      unusual_capture(),
      DemoSpec{"d", true, true, true, 3},
      DoctorSpec{"m", "cpu", 2, true, true},
      InspectSpec{"m", 12, true, true},
      TokenizeSpec{"m", {.prompt = "x"}, {.bos = BosMode::on}, true, true},
      StatsSpec{"f", "sink", "p000001", 4, true},
      ShowSpec{"f", "1.2", "p000000", MapChoice::scores, true},
      ExportSpec{"f", "o", "1.2", "1.*", "p", MapChoice::scores, ExportFormat::svg, true},
      VerifySpec{"f", true},
      MergeSpec{{"a", "b\xFF"}, "o", true},
      DiffSpec{"a", "b", "o", true, true}};
  ASSERT_EQ(all.size(), std::variant_size_v<AnySpec>);
  for (const AnySpec& spec : all) {
    const Envelope envelope{spec, {"attnscope", "x", "\xFE"}};
    EXPECT_EQ(envelope_from_json(envelope_to_json(envelope), "test"), envelope);
  }
}

TEST(SpecRoundTrip, UnknownKeyIsNamedWithTheNearestOne) {
  try {
    spec_from_json<CaptureSpec>(R"({"laiers": "0"})", "my.json");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.exit_code(), 2);
    const std::string message = e.what();
    EXPECT_NE(message.find("my.json"), std::string::npos) << message;
    EXPECT_NE(message.find("laiers"), std::string::npos) << message;
    EXPECT_NE(message.find("\"layers\""), std::string::npos) << message;
  }
}

TEST(SpecRoundTrip, WrongTypesAreRefused) {
  const auto fails = [](const char* text) {
    EXPECT_THROW(spec_from_json<CaptureSpec>(text, "t"), Error) << text;
  };
  fails("[]");
  fails("");
  fails(R"({"topk": 2.5})");
  fails(R"({"topk": "8"})");
  fails(R"({"seed": -1})");
  fails(R"({"ids": [1, -2]})");
  fails(R"({"map_dtype": "f8"})");
  fails(R"({"shard": "3/2"})");
  fails(R"({"model": {"hex": "abc"}})");
  fails(R"({"model": {"hex": "zz"}})");
  fails(R"({"topk": 1, "topk": 2})");
  EXPECT_THROW(envelope_from_json(R"({"verb": "frobnicate", "spec": {}})", "t"), Error);
}

TEST(SpecFile, IsReadFromDisk) {
  const testing::TempFolder folder;
  std::ofstream(folder.file("s.json")) << R"({"hooks": "z", "topk": 4})";
  const auto spec = load_spec_file<CaptureSpec>(folder.file("s.json"));
  EXPECT_EQ(spec.hooks, "z");
  EXPECT_EQ(spec.top_k, 4);
  EXPECT_THROW(load_spec_file<CaptureSpec>(folder.file("absent.json")), Error);
}

TEST(ResolvedOptions, LeaveOutDeliveryAndPaths) {
  CaptureSpec a = unusual_capture();
  CaptureSpec b = a;
  b.output = {};
  b.compute.budget = 5;
  b.shard = {};
  b.model = "elsewhere";
  b.prompts.prompts_file = "moved.jsonl";
  EXPECT_EQ(resolved_options_json(a), resolved_options_json(b));
  EXPECT_EQ(config_hash(a, {"x"}), config_hash(b, {"x"}));
  EXPECT_NE(config_hash(a, {"x"}), config_hash(b, {"y"}));
  EXPECT_NE(config_hash(a, {"x", "y"}), config_hash(a, {"xy"}));
  b.top_k = 4;
  EXPECT_NE(config_hash(a, {"x"}), config_hash(b, {"x"}));
  const json kept = json::parse(resolved_options_json(a));
  for (const char* key : {"out", "resume", "force", "quiet", "json", "dry_run", "budget", "shard",
                          "model", "prompts"}) {
    EXPECT_FALSE(kept.contains(key)) << key;
  }
  EXPECT_TRUE(kept.contains("threads"));
}

TEST(ResolvedOptions, DifferencesAreNamed) {
  CaptureSpec a;
  const CaptureSpec b = {.prompts = {.prompt = "x"}, .top_k = 4};
  const auto keys = differing_keys(resolved_options_json(a), resolved_options_json(b));
  EXPECT_EQ(keys, (std::vector<std::string>{"topk", "prompt"}));
}

}  // namespace
}  // namespace attnscope
