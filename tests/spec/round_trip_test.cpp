#include <gtest/gtest.h>

#include <algorithm>
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

PairSource unusual_pairs() {
  return {.pairs_file = "p.csv",
          .prompt = "a",
          .corrupt = "b",
          .answer = " c",
          .wrong = " d",
          .ids = {{1}},
          .corrupt_ids = {{2}},
          .answer_id = 3,
          .wrong_id = 0,
          .answer_ids = true,
          .skip_misaligned = true,
          .skip_bad = true,
          .limit = 1LL << 40};
}

constexpr SweepOptions kUnusualSweep = {
    .exact = true, .naive = true, .verify = 0, .per_prompt = true, .bootstrap = 500};
const EncodingOptions kUnusualEncoding = {BosMode::on, InvalidUtf8::replace, ChatChoice::gemma};
const ComputeOptions kUnusualCompute = {"cuda", ComputeDType::f64, EngineChoice::reference, 2, 3, 4,
                                        5};
const DeliveryOptions kUnusualOutput = {"o.h5", true, true, true, true, true};

AblateSpec unusual_ablate() {
  AblateSpec s;
  s.model = "m";
  s.pairs = unusual_pairs();
  s.encoding = kUnusualEncoding;
  s.metric = {MetricChoice::kl, "last"};
  s.unit = UnitChoice::head_pos;
  s.methods = "mean-pos";
  s.layers = "1";
  s.heads = "1.1+1.2";
  s.neurons = "1.5";
  s.positions = "last";
  s.effects = "direct";
  s.reference = "r.txt";
  s.vector_file = "v.npy";
  s.interactions = 3;
  s.leave_one_in = true;
  s.float32_rerun = 6;
  s.sweep = kUnusualSweep;
  s.compute = kUnusualCompute;
  s.strict = true;
  s.fail_on_nan = true;
  s.shard = {2, 3};
  s.output = kUnusualOutput;
  return s;
}

PatchSpec unusual_patch() {
  PatchSpec s;
  s.model = "m";
  s.pairs = unusual_pairs();
  s.encoding = kUnusualEncoding;
  s.metric = {MetricChoice::rank, "-1"};
  s.sites = "z";
  s.by = "layer,head";
  s.direction = PatchDirection::noise;
  s.layers = "0";
  s.heads = "1.*";
  s.positions = "0";
  s.senders = "9.9";
  s.receivers = "logits";
  s.freeze_mlps = true;
  s.edges = "knockout";
  s.queries = "last";
  s.keys = "0";
  s.window = 5;
  s.floor = 0.25;
  s.sweep = kUnusualSweep;
  s.compute = kUnusualCompute;
  s.strict = true;
  s.fail_on_nan = true;
  s.shard = {2, 3};
  s.output = kUnusualOutput;
  return s;
}

VerdictSpec unusual_verdict() {
  VerdictSpec s;
  s.model = "m";
  s.pairs = unusual_pairs();
  s.encoding = kUnusualEncoding;
  s.metric = {MetricChoice::prob, "0"};
  s.delta = 0.125;
  s.methods = "zero,optimal";
  s.layers = "0";
  s.sources = "subject";
  s.kv_groups = true;
  s.control_model = true;
  s.random_draws = 30;
  s.matched_sets = 40;
  s.html = "v.html";
  s.sweep = kUnusualSweep;
  s.compute = kUnusualCompute;
  s.strict = true;
  s.fail_on_nan = true;
  s.output = kUnusualOutput;
  return s;
}

LensSpec unusual_lens() {
  LensSpec s;
  s.model = "m";
  s.pairs = unusual_pairs();
  s.encoding = kUnusualEncoding;
  s.positions = "*";
  s.top_k = 5;
  s.attribution = false;
  s.compute = kUnusualCompute;
  s.strict = true;
  s.fail_on_nan = true;
  s.output = kUnusualOutput;
  return s;
}

// Every field comes back, and no field of the unusual spec is written as the default is: a field
// that is not in the list would be.
template <typename Spec>
void expect_complete(const Spec& unusual, std::size_t options) {
  EXPECT_EQ(spec_from_json<Spec>(spec_to_json(unusual), "test"), unusual);
  EXPECT_EQ(spec_from_json<Spec>(spec_to_json(Spec{}), "test"), Spec{});
  EXPECT_EQ(spec_from_json<Spec>("{}", "test"), Spec{});
  const json written = json::parse(spec_to_json(unusual));
  const json defaults = json::parse(spec_to_json(Spec{}));
  EXPECT_EQ(written.size(), options);
  for (const auto& [key, value] : written.items()) {
    EXPECT_TRUE(!defaults.contains(key) || defaults.at(key) != value) << key;
  }
}

TEST(SpecRoundTrip, EveryFieldOfTheExperimentsComesBack) {
  expect_complete(unusual_ablate(), 52);
  expect_complete(unusual_patch(), 54);
  expect_complete(unusual_verdict(), 48);
  expect_complete(unusual_lens(), 35);
}

// The schema knows the keys that are read, their types and their defaults, and no others.
template <typename Spec>
void expect_schema(const Spec& unusual) {
  const json schema = json::parse(spec_schema<Spec>());
  const json written = json::parse(spec_to_json(unusual));
  const json defaults = json::parse(spec_to_json(Spec{}));
  EXPECT_EQ(schema["additionalProperties"], false);
  ASSERT_EQ(schema["properties"].size(), written.size());
  for (const auto& [key, value] : written.items()) {
    ASSERT_TRUE(schema["properties"].contains(key)) << key;
    const json& property = schema["properties"][key];
    EXPECT_EQ(property.contains("default"), defaults.contains(key)) << key;
    if (defaults.contains(key)) {
      EXPECT_EQ(property["default"], defaults[key]) << key;
    }
    if (property.contains("enum")) {
      const json& names = property["enum"];
      EXPECT_NE(std::find(names.begin(), names.end(), value), names.end()) << key;
    } else if (property.contains("type")) {
      const std::string type = value.is_boolean()          ? "boolean"
                               : value.is_string()         ? "string"
                               : value.is_array()          ? "array"
                               : value.is_number_integer() ? "integer"
                                                           : "number";
      EXPECT_EQ(property["type"], type) << key;
    } else {
      EXPECT_TRUE(value.is_string()) << key;
      EXPECT_EQ(property["anyOf"].size(), 2U) << key;
    }
  }
}

TEST(SpecSchema, DescribesWhatIsRead) {
  expect_schema(unusual_capture());
  expect_schema(unusual_ablate());
  expect_schema(unusual_patch());
  expect_schema(unusual_verdict());
  expect_schema(unusual_lens());
  const json schema = json::parse(spec_schema<AblateSpec>());
  EXPECT_EQ(schema["properties"]["unit"]["enum"],
            (json{"head", "head-pos", "kv-group", "mlp", "attention", "neuron"}));
  EXPECT_EQ(schema["properties"]["limit"]["minimum"], 0);
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
      ExportSpec{"f", "o", "1.2", "1.*", "p", MapChoice::scores, FigureChoice::scatter, "verdict",
                 "mean", "mass", ExportFormat::svg, true},
      VerifySpec{"f", true},
      MergeSpec{{"a", "b\xFF"}, "o", true, true},
      DiffSpec{"a", "b", "o", true, true},
      ViewSpec{{"a", "b\xFF"}, "::1", 80, false, "o.html", true},
      unusual_ablate(),
      unusual_patch(),
      unusual_verdict(),
      unusual_lens()};
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
  const auto ablate_fails = [](const char* text) {
    EXPECT_THROW(spec_from_json<AblateSpec>(text, "t"), Error) << text;
  };
  ablate_fails(R"({"limit": -1})");
  ablate_fails(R"({"answer_id": 1.5})");
  ablate_fails(R"({"unit": "heads"})");
  ablate_fails(R"({"verify": -2})");
  ablate_fails(R"({"interactions": 99999999999})");
  EXPECT_THROW(spec_from_json<VerdictSpec>(R"({"delta": "0.1"})", "t"), Error);
  EXPECT_THROW(envelope_from_json(R"({"verb": "frobnicate", "spec": {}})", "t"), Error);
}

TEST(SpecRoundTrip, AListWhereNamesAreOneStringSaysHowTheyAreWritten) {
  try {
    spec_from_json<AblateSpec>(R"({"method": ["zero"]})", "my.json");
    FAIL() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "SP01");
    EXPECT_NE(error.detail().what.find("\"method\""), std::string::npos) << error.what();
    EXPECT_NE(error.detail().expected.find("\"zero,mean\""), std::string::npos) << error.what();
    EXPECT_EQ(error.detail().got, "an array");
  }
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

TEST(ResolvedOptions, OfAnExperimentLeaveOutDeliveryAndPaths) {
  const AblateSpec a = unusual_ablate();
  AblateSpec b = a;
  b.output = {};
  b.compute.budget = 0;
  b.shard = {};
  b.model = b.reference = b.vector_file = b.pairs.pairs_file = "elsewhere";
  EXPECT_EQ(config_hash(a, {"x"}), config_hash(b, {"x"}));
  b.sweep.verify = 1;
  EXPECT_NE(config_hash(a, {"x"}), config_hash(b, {"x"}));
  EXPECT_EQ(differing_keys(resolved_options_json(a), resolved_options_json(b)),
            std::vector<std::string>{"verify"});
}

TEST(ResolvedOptions, DifferencesAreNamed) {
  CaptureSpec a;
  const CaptureSpec b = {.prompts = {.prompt = "x"}, .top_k = 4};
  const auto keys = differing_keys(resolved_options_json(a), resolved_options_json(b));
  EXPECT_EQ(keys, (std::vector<std::string>{"topk", "prompt"}));
}

}  // namespace
}  // namespace attnscope
