#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "attnscope/spec/experiment_specs.h"
#include "attnscope/spec/pair_source.h"
#include "attnscope/support/error.h"

namespace attnscope {
namespace {

template <typename Spec>
Spec good() {
  Spec s;
  s.model = "m";
  s.pairs.pairs_file = "p.jsonl";
  return s;
}

template <typename Spec>
struct Case {
  const char* option;  // must be named
  std::function<void(Spec&)> spoil;
};

template <typename Spec>
void expect_refusals(const std::vector<Case<Spec>>& cases) {
  EXPECT_NO_THROW(validate(good<Spec>()));
  for (const Case<Spec>& c : cases) {
    Spec spec = good<Spec>();
    c.spoil(spec);
    try {
      validate(spec);
      ADD_FAILURE() << "accepted: " << c.option;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 2);
      EXPECT_EQ(error.detail().where, c.option) << error.what();
    }
  }
}

// One pair on the command line, with what each metric and experiment could ask for.
PairSource inline_source() {
  return {.prompt = "a", .corrupt = "b", .answer = " c", .wrong = " d"};
}

TEST(ValidatePairs, NamesTheOption) {
  expect_refusals<AblateSpec>({
      {"--model", [](auto& s) { s.model.clear(); }},
      {"--pairs", [](auto& s) { s.pairs.pairs_file.clear(); }},
      {"--pairs", [](auto& s) { s.pairs.prompt = "a"; }},
      {"--pairs", [](auto& s) { s.pairs.ids = {{1}}; }},
      {"--corrupt", [](auto& s) { s.pairs.corrupt = "a"; }},
      {"--answer", [](auto& s) { s.pairs.answer = "a"; }},
      {"--wrong", [](auto& s) { s.pairs.wrong = "a"; }},
      {"--answer-id", [](auto& s) { s.pairs.answer_id = 1; }},
      {"--wrong-id", [](auto& s) { s.pairs.wrong_id = 1; }},
      {"--corrupt-ids", [](auto& s) { s.pairs.corrupt_ids = {{1}}; }},
      {"--limit", [](auto& s) { s.pairs.limit = -1; }},
      {"--limit",
       [](auto& s) {
         s.pairs = inline_source();
         s.pairs.limit = 3;
       }},
      {"--skip-misaligned",
       [](auto& s) {
         s.pairs = inline_source();
         s.pairs.skip_misaligned = true;
       }},
      {"--skip-bad",
       [](auto& s) {
         s.pairs = inline_source();
         s.pairs.skip_bad = true;
       }},
      {"--answer-ids",
       [](auto& s) {
         s.pairs = inline_source();
         s.pairs.answer_ids = true;
       }},
      {"--ids", [](auto& s) { s.pairs = {.ids = std::vector<std::int64_t>{}}; }},
      {"--corrupt", [](auto& s) { s.pairs = {.corrupt = "a", .ids = {{1}}}; }},
      {"--corrupt-ids", [](auto& s) { s.pairs = {.prompt = "a", .corrupt_ids = {{1}}}; }},
      {"--corrupt-ids",
       [](auto& s) {
         s.pairs = {.ids = {{1}}, .corrupt_ids = {{1, 2}}};
       }},
      {"--answer", [](auto& s) { s.pairs = {.answer = "a", .ids = {{1}}}; }},
      {"--answer", [](auto& s) { s.pairs = {.prompt = "a", .answer = "a", .answer_id = 1}; }},
      {"--answer", [](auto& s) { s.pairs = {.prompt = "a"}; }},
      {"--wrong", [](auto& s) { s.pairs = {.prompt = "a", .answer = "a"}; }},
      {"--wrong", [](auto& s) { s.pairs = {.prompt = "a", .wrong = "a"}; }},
      {"--answer-id", [](auto& s) { s.pairs = {.ids = {{1}}}; }},
      {"--wrong-id", [](auto& s) { s.pairs = {.ids = {{1}}, .answer_id = 1}; }},
      {"--wrong-id", [](auto& s) { s.pairs = {.ids = {{1}}, .wrong_id = 1}; }},
      {"--bos",
       [](auto& s) {
         s.pairs = {.ids = {{1}}, .answer_id = 1, .wrong_id = 2};
         s.encoding.bos = BosMode::on;
       }},
      {"--batch", [](auto& s) { s.compute.batch = 4; }},
      {"--metric",
       [](auto& s) {
         s.pairs = inline_source();
         s.metric.metric = MetricChoice::label_logit;
       }},
      {"--prompt",
       [](auto& s) {
         s.pairs = inline_source();
         s.pairs.prompt = "\xFF";
       }},
      {"--answer",
       [](auto& s) {
         s.pairs = inline_source();
         s.pairs.answer = "\xFF";
       }},
      {"--chat",
       [](auto& s) {
         s.pairs = {.ids = {{1}}, .answer_id = 1, .wrong_id = 2};
         s.encoding.chat = ChatChoice::gemma;
       }},
  });
}

TEST(ValidatePairs, AMetricWithoutAnswersNeedsNone) {
  AblateSpec spec = good<AblateSpec>();
  spec.pairs = {.prompt = "a"};
  spec.metric.metric = MetricChoice::kl;
  EXPECT_NO_THROW(validate(spec));
  spec.metric.metric = MetricChoice::log_prob;
  EXPECT_THROW(validate(spec), Error);
  spec.pairs.answer = " b";
  EXPECT_NO_THROW(validate(spec));
}

TEST(ValidateAblate, NamesTheOption) {
  expect_refusals<AblateSpec>({
      {"--method", [](auto& s) { s.methods = "zero,median"; }},
      {"--method", [](auto& s) { s.methods = "zero,zero"; }},
      {"--method", [](auto& s) { s.methods = ""; }},
      {"--method",
       [](auto& s) {
         s.pairs = inline_source();
         s.pairs.corrupt.reset();
         s.methods = "resample";
       }},
      {"--effect", [](auto& s) { s.effects = "indirect"; }},
      {"--vector", [](auto& s) { s.methods = "vector"; }},
      {"--vector", [](auto& s) { s.vector_file = "v.npy"; }},
      {"--reference", [](auto& s) { s.reference = "r.txt"; }},
      {"--heads", [](auto& s) { s.heads = "1.1,,2.1"; }},
      {"--heads", [](auto& s) { s.heads = "1.1,2.1, 1.1"; }},
      {"--heads", [](auto& s) { s.heads = "1.1+1.1"; }},
      {"--heads", [](auto& s) { s.heads = "1.1+2.1,2.1 + 1.1"; }},
      {"--heads",
       [](auto& s) {
         s.heads = "1.1";
         s.unit = UnitChoice::mlp;
       }},
      {"--layers",
       [](auto& s) {
         s.heads = "1.1";
         s.layers = "0";
       }},
      {"--neurons", [](auto& s) { s.unit = UnitChoice::neuron; }},
      {"--neurons", [](auto& s) { s.neurons = "1.1"; }},
      {"--positions", [](auto& s) { s.positions = "last"; }},
      {"--interactions", [](auto& s) { s.interactions = 1; }},
      {"--interactions", [](auto& s) { s.interactions = -1; }},
      {"--at", [](auto& s) { s.metric.at = "1,"; }},
      {"--naive", [](auto& s) { s.sweep.naive = s.sweep.exact = true; }},
      {"--verify", [](auto& s) { s.sweep.verify = -2; }},
      {"--resamples", [](auto& s) { s.sweep.bootstrap = 99; }},
      {"--rerun-f32", [](auto& s) { s.float32_rerun = -1; }},
      {"--rerun-f32", [](auto& s) { s.float32_rerun = 3; }},
      {"--rerun-f32",
       [](auto& s) {
         s.float32_rerun = 3;
         s.compute.dtype = ComputeDType::bf16;
         s.output.out = "part.h5";
         s.shard = {1, 2};
       }},
      {"--interactions",
       [](auto& s) {
         s.interactions = 3;
         s.output.out = "part.h5";
         s.shard = {1, 2};
       }},
      {"--verify",
       [](auto& s) {
         s.sweep.naive = true;
         s.sweep.verify = 3;
       }},
      {"--out", [](auto& s) { s.output.out = "run.txt"; }},
      {"--resume", [](auto& s) { s.output.resume = true; }},
      {"--force", [](auto& s) { s.output.force = true; }},
      {"--shard",
       [](auto& s) {
         s.shard = {1, 2};
       }},
      {"--threads", [](auto& s) { s.compute.threads = 10000; }},
      {"--device", [](auto& s) { s.compute.device = "gpu"; }},
  });
}

TEST(ValidatePatch, NamesTheOption) {
  expect_refusals<PatchSpec>({
      {"--by", [](auto& s) { s.by = "pos,layer"; }},
      {"--site", [](auto& s) { s.sites = "z,,q"; }},
      {"--site", [](auto& s) { s.sites = "z,q,z"; }},
      {"--receivers", [](auto& s) { s.senders = "9.9"; }},
      {"--senders", [](auto& s) { s.receivers = "logits"; }},
      {"--freeze-mlps", [](auto& s) { s.freeze_mlps = true; }},
      {"--edge", [](auto& s) { s.edges = "cut"; }},
      {"--edge",
       [](auto& s) {
         s.edges = "knockout";
         s.senders = "9.9";
         s.receivers = "logits";
       }},
      {"--queries", [](auto& s) { s.edges = "knockout"; }},
      {"--site",
       [](auto& s) {
         s.senders = "9.9";
         s.receivers = "logits";
         s.sites = "z";
       }},
      {"--direction",
       [](auto& s) {
         s.senders = "9.9";
         s.receivers = "logits";
         s.direction = PatchDirection::noise;
       }},
      {"--verify",
       [](auto& s) {
         s.senders = "9.9";
         s.receivers = "logits";
         s.sweep.verify = 5;
       }},
      {"--budget",
       [](auto& s) {
         s.senders = "9.9";
         s.receivers = "logits";
         s.compute.budget = 1 << 20;
       }},
      {"--corrupt-ids", [](auto& s) { s.pairs = {.ids = {{1}}, .answer_id = 1, .wrong_id = 2}; }},
      {"--positions",
       [](auto& s) {
         s.edges = "knockout";
         s.queries = s.keys = "0";
         s.positions = "1";
       }},
      {"--heads",
       [](auto& s) {
         s.edges = "knockout";
         s.queries = s.keys = "0";
         s.heads = "1.1";
       }},
      {"--keys",
       [](auto& s) {
         s.edges = "knockout";
         s.queries = "last";
       }},
      {"--queries", [](auto& s) { s.queries = "last"; }},
      {"--keys", [](auto& s) { s.keys = "0"; }},
      {"--window", [](auto& s) { s.window = 0; }},
      {"--window", [](auto& s) { s.window = 2; }},
      {"--floor", [](auto& s) { s.floor = -0.1; }},
      {"--floor", [](auto& s) { s.floor = std::numeric_limits<double>::quiet_NaN(); }},
      {"--corrupt",
       [](auto& s) {
         s.pairs = inline_source();
         s.pairs.corrupt.reset();
       }},
  });
  PatchSpec edges = good<PatchSpec>();
  edges.pairs = {.prompt = "a", .answer = " b", .wrong = " c"};
  edges.edges = "knockout,value-zero";
  edges.queries = "last";
  edges.keys = "0-1";
  edges.window = 3;
  EXPECT_NO_THROW(validate(edges));
}

TEST(ValidateVerdict, NamesTheOption) {
  expect_refusals<VerdictSpec>({
      {"--pairs", [](auto& s) { s.pairs = inline_source(); }},
      {"--method", [](auto& s) { s.methods = "zero"; }},
      {"--method", [](auto& s) { s.methods = "zero,vector"; }},
      {"--delta", [](auto& s) { s.delta = 0; }},
      {"--delta", [](auto& s) { s.delta = std::numeric_limits<double>::infinity(); }},
      {"--controls", [](auto& s) { s.random_draws = 19; }},
      {"--matched-sets", [](auto& s) { s.matched_sets = -1; }},
      {"--html", [](auto& s) { s.html = "v.html"; }},
  });
}

TEST(ValidateLens, NamesTheOption) {
  expect_refusals<LensSpec>({
      {"--corrupt", [](auto& s) { s.pairs = {.prompt = "a", .corrupt = "b"}; }},
      {"--corrupt-ids", [](auto& s) { s.pairs = {.ids = {{1}}, .corrupt_ids = {{2}}}; }},
      {"--skip-misaligned", [](auto& s) { s.pairs.skip_misaligned = true; }},
      {"--wrong",
       [](auto& s) {
         s.pairs = {.prompt = "a", .answer = " b", .wrong = " c"};
         s.attribution = false;
       }},
      {"--topk", [](auto& s) { s.top_k = 0; }},
      {"--positions", [](auto& s) { s.positions = "1,,2"; }},
      {"--wrong", [](auto& s) { s.pairs = {.prompt = "a", .wrong = " b"}; }},
  });
  LensSpec plain = good<LensSpec>();
  plain.pairs = {.prompt = "a"};
  EXPECT_NO_THROW(validate(plain));
}

TEST(ParseLists, KeepTheOrder) {
  EXPECT_EQ(parse_methods("resample, zero", "--method"),
            (std::vector{AblationMethod::resample, AblationMethod::zero}));
  EXPECT_EQ(parse_effects("total,direct", "--effect"),
            (std::vector{EffectChoice::total, EffectChoice::direct}));
  EXPECT_EQ(parse_edge_cuts("value-zero", "--edge"), std::vector{EdgeCut::value_zero});
}

TEST(InlinePair, HasWhatTheOptionsSay) {
  const Pair pair = inline_pair(inline_source());
  EXPECT_EQ(pair.clean.text, "a");
  EXPECT_EQ(pair.corrupt->text, "b");
  EXPECT_EQ(pair.answers, std::vector<std::string>{" c"});
  const Pair ids = inline_pair({.ids = {{1, 2}}, .answer_id = 3});
  EXPECT_EQ(*ids.clean.ids, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(ids.answer_ids, std::vector<std::int64_t>{3});
  EXPECT_FALSE(ids.corrupt);
}

}  // namespace
}  // namespace attnscope
