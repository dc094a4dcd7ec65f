// Every metric of a sweep against its definition, worked out from the logits of two plain runs; and
// what becomes of finished shards, of cells that do not exist, and of numbers that are not finite.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "attnscope/probes/sweep.h"
#include "attnscope/support/error.h"
#include "testing/error_code.h"
#include "tiny_model.h"

namespace attnscope::testing {
namespace {

using Values = std::vector<double>;

Values log_softmax(const Values& logits) {
  double largest = -INFINITY;
  for (const double v : logits) largest = std::max(largest, v);
  double sum = 0;
  for (const double v : logits) sum += std::exp(v - largest);
  Values out;
  for (const double v : logits) out.push_back(v - largest - std::log(sum));
  return out;
}

// Logits of all positions of one row, with interventions.
std::vector<Values> logits_of(const Model& model, const TokenRow& row,
                              const std::vector<Intervention>& changes) {
  Taps taps;
  taps.interventions = changes;
  const at::Tensor logits =
      model.run(make_batch({row}), taps, {.engine = Engine::reference}).logits[0].contiguous();
  std::vector<Values> rows;
  for (std::int64_t q = 0; q < logits.size(0); ++q) {
    const double* values = logits.const_data_ptr<double>() + q * logits.size(1);
    rows.emplace_back(values, values + logits.size(1));
  }
  return rows;
}

double mean_at(const Values& values, const std::vector<std::int64_t>& ids) {
  double sum = 0;
  for (const std::int64_t id : ids) sum += values[static_cast<std::size_t>(id)];
  return sum / static_cast<double>(ids.size());
}

// The metric of one position, from its definition.
double metric_at(MetricChoice metric, const Values& logits, const Values& clean,
                 const MetricTarget& target) {
  const Values log_p = log_softmax(logits);
  const Values log_c = log_softmax(clean);
  double sum = 0;
  switch (metric) {
    case MetricChoice::logit_diff:
      return mean_at(logits, target.answers) - mean_at(logits, target.wrongs);
    case MetricChoice::log_prob:
      return mean_at(log_p, target.answers);
    case MetricChoice::prob:
      for (const std::int64_t id : target.answers) {
        sum += std::exp(log_p[static_cast<std::size_t>(id)]);
      }
      return sum / static_cast<double>(target.answers.size());
    case MetricChoice::rank: {
      double best = -INFINITY;
      for (const std::int64_t id : target.answers) {
        best = std::max(best, logits[static_cast<std::size_t>(id)]);
      }
      return static_cast<double>(
          std::count_if(logits.begin(), logits.end(), [&](double v) { return v > best; }));
    }
    case MetricChoice::kl:
      for (std::size_t i = 0; i < log_p.size(); ++i) {
        sum += std::exp(log_c[i]) * (log_c[i] - log_p[i]);
      }
      return sum;
    case MetricChoice::total_variation:
      for (std::size_t i = 0; i < log_p.size(); ++i) {
        sum += 0.5 * std::abs(std::exp(log_c[i]) - std::exp(log_p[i]));
      }
      return sum;
    case MetricChoice::top1_change:
      return std::max_element(logits.begin(), logits.end()) - logits.begin() !=
                     std::max_element(clean.begin(), clean.end()) - clean.begin()
                 ? 1
                 : 0;
    default:
      return NAN;
  }
}

double metric_of_run(MetricChoice metric, const std::vector<Values>& logits,
                     const std::vector<Values>& clean, const SweepPrompt& prompt) {
  const auto n = static_cast<int>(logits.size());
  std::vector<int> at = prompt.target.at;
  if (metric == MetricChoice::loss) {
    if (at.empty()) {
      for (int p = 0; p + 1 < n; ++p) at.push_back(p);
    }
    double sum = 0;
    for (int p : at) {
      p = p < 0 ? n + p : p;
      const auto next = static_cast<std::size_t>(prompt.row.ids[static_cast<std::size_t>(p) + 1]);
      sum -= log_softmax(logits[static_cast<std::size_t>(p)])[next];
    }
    return sum / static_cast<double>(at.size());
  }
  if (at.empty()) at = {-1};
  double sum = 0;
  for (int p : at) {
    const auto q = static_cast<std::size_t>(p < 0 ? n + p : p);
    sum += metric_at(metric, logits[q], clean[q], prompt.target);
  }
  return sum / static_cast<double>(at.size());
}

Edit scaled(Site site, int layer, double factor, std::vector<int> heads, std::vector<int> at) {
  return {.hook = {site, layer},
          .operation = Operation::scale,
          .heads = std::move(heads),
          .q_positions = std::move(at),
          .factor = factor};
}

const std::vector<Cell>& cells() {
  static const std::vector<Cell> list = {
      {"z", {scaled(Site::z, 0, -1, {1}, {})}},
      {"resid at 2", {scaled(Site::resid_pre, 1, 3, {}, {2})}},
      {"resid at 5", {scaled(Site::resid_pre, 0, -2, {}, {5})}},
      {"mlp at 4", {scaled(Site::mlp_out, 0, 4, {}, {4})}},
      {"attention", {scaled(Site::attn_out, 1, -3, {}, {})}},
  };
  return list;
}

class Metrics : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Families, Metrics,
                         ::testing::Values("gpt2", "llama", "gemma2", "bert", "roberta"));

TEST_P(Metrics, FollowTheirDefinitions) {
  const Model model = fixture_model(GetParam());
  const bool causal = model.config().layers[0].attention.mask == MaskKind::causal;
  // The last one, chosen ones of each prompt, and counted from the end.
  const std::vector<std::vector<std::vector<int>>> reads = {
      {{}, {}, {}}, {{2, 4}, {6}, {0, 3, 5}}, {{-2}, {4, -3}, {1}}};
  std::vector<MetricChoice> metrics = {MetricChoice::logit_diff, MetricChoice::log_prob,
                                       MetricChoice::prob,       MetricChoice::rank,
                                       MetricChoice::kl,         MetricChoice::total_variation,
                                       MetricChoice::top1_change};
  if (causal) metrics.push_back(MetricChoice::loss);
  for (const auto& at : reads) {
    std::vector<SweepPrompt> prompts;
    for (int p = 0; p < 3; ++p) {
      prompts.push_back(
          {.row = sample_row(p == 1 ? 11 : 8, p + 1),
           .target = {
               .at = at[static_cast<std::size_t>(p)], .answers = {5, 90}, .wrongs = {7, 8, 120}}});
    }
    for (const MetricChoice metric : metrics) {
      for (const SweepMode mode : {SweepMode::fast, SweepMode::naive}) {
        const SweepResult result =
            run_sweep(model, cells(), prompts, {.metric = metric, .mode = mode, .verify = 0});
        for (std::size_t p = 0; p < prompts.size(); ++p) {
          const auto clean = logits_of(model, prompts[p].row, {});
          const double before = metric_of_run(metric, clean, clean, prompts[p]);
          EXPECT_NEAR(result.baseline[p], before, 1e-11);
          for (std::size_t c = 0; c < cells().size(); ++c) {
            const Edit& edit = cells()[c].edits[0];
            const auto changed = logits_of(model, prompts[p].row,
                                           {{.hook = edit.hook,
                                             .operation = edit.operation,
                                             .heads = edit.heads,
                                             .q_positions = edit.q_positions,
                                             .factor = edit.factor}});
            EXPECT_NEAR(result.effects[c * prompts.size() + p],
                        metric_of_run(metric, changed, clean, prompts[p]) - before, 1e-11)
                << choice_name(metric) << " of " << cells()[c].name << ", prompt " << p;
          }
        }
      }
    }
  }
}

TEST(Metrics, PlaceboIsASecondDifference) {
  const Model model = fixture_model("llama");
  std::vector<SweepPrompt> prompts = {
      {.row = sample_row(9),
       .target = {
           .answers = {5}, .wrongs = {7}, .placebo_answers = {30, 31}, .placebo_wrongs = {40}}}};
  const SweepResult both = run_sweep(model, cells(), prompts, {.verify = 0});
  prompts[0].target = {.answers = {30, 31}, .wrongs = {40}};
  const SweepResult alone = run_sweep(model, cells(), prompts, {.verify = 0});
  EXPECT_TRUE(alone.placebo_effects.empty());
  for (std::size_t c = 0; c < cells().size(); ++c) {
    EXPECT_NEAR(both.placebo_effects[c], alone.effects[c], 1e-13);
    EXPECT_NE(both.effects[c], both.placebo_effects[c]);
  }
}

// 1 − cosine of the mean hidden states of an encoder without a head.
TEST(Metrics, EmbeddingShift) {
  const ModelConfig config = tiny_config({.n_layers = 2,
                                          .n_heads = 2,
                                          .n_kv_heads = 2,
                                          .d_model = 16,
                                          .d_head = 8,
                                          .d_vocab = 210,
                                          .mask = MaskKind::bidirectional});
  const Model model = tiny_model(config, random_values);
  const TokenRow row = sample_row(7);
  const auto embedding = [&](const std::vector<Intervention>& changes, const std::vector<int>& at) {
    Taps taps;
    taps.interventions = changes;
    const at::Tensor hidden = model.run(make_batch({row}), taps, {}).hidden[0];
    if (at.empty()) return hidden.mean(0);
    return (hidden[at[0]] + hidden[at[1]]) / 2;
  };
  for (const std::vector<int>& at : {std::vector<int>{}, std::vector<int>{0, 4}}) {
    const std::vector<Cell> heads = {{"z", {{.hook = {Site::z, 0}, .heads = {1}}}},
                                     {"z at", {scaled(Site::z, 1, 5, {0}, {4})}}};
    const SweepResult result = run_sweep(model, heads, {{.row = row, .target = {.at = at}}},
                                         {.metric = MetricChoice::embedding_shift, .verify = 0});
    EXPECT_NEAR(result.baseline[0], 0, 1e-14);
    for (std::size_t c = 0; c < heads.size(); ++c) {
      const Edit& edit = heads[c].edits[0];
      const at::Tensor a = embedding({}, at);
      const at::Tensor b = embedding({{.hook = edit.hook,
                                       .operation = edit.operation,
                                       .heads = edit.heads,
                                       .q_positions = edit.q_positions,
                                       .factor = edit.factor}},
                                     at);
      const double cosine = (a.dot(b) / a.norm() / b.norm()).item<double>();
      EXPECT_NEAR(result.effects[c], 1 - cosine, 1e-13);
      EXPECT_GT(result.effects[c], 1e-6);
    }
  }
}

TEST(Metrics, ThoseThatAModelCannotGiveAreErrors) {
  const Model decoder = fixture_model("llama");
  const Model encoder = fixture_model("bert");
  const std::vector<SweepPrompt> prompts = {
      {.row = sample_row(6), .target = {.answers = {5}, .wrongs = {7}}}};
  const auto run = [&](const Model& model, MetricChoice metric, std::vector<int> at = {}) {
    std::vector<SweepPrompt> list = prompts;
    list[0].target.at = std::move(at);
    return code_of([&] { run_sweep(model, {cells()[0]}, list, {.metric = metric}); });
  };
  EXPECT_EQ(run(decoder, MetricChoice::embedding_shift), "ME10");
  EXPECT_EQ(run(decoder, MetricChoice::label_logit), "ME10");
  EXPECT_EQ(run(encoder, MetricChoice::loss), "ME10");
  EXPECT_EQ(run(decoder, MetricChoice::loss, {5}), "ME10") << "the last token predicts nothing";
  EXPECT_EQ(run(decoder, MetricChoice::loss, {4}), "");
}

// Cells that no prompt has are errors; those that some have are missing on the others.
TEST(SweepCells, PositionsThatDoNotExist) {
  const Model model = fixture_model("llama");
  const std::vector<SweepPrompt> prompts = {{.row = sample_row(6), .target = {.answers = {5}}},
                                            {.row = sample_row(9), .target = {.answers = {5}}}};
  const Cell behind = {"resid at 7", {scaled(Site::resid_pre, 0, 2, {}, {7})}};
  const Cell nowhere = {"resid at 9", {scaled(Site::resid_pre, 0, 2, {}, {9})}};
  for (const SweepMode mode : {SweepMode::fast, SweepMode::exact, SweepMode::naive}) {
    const SweepResult result = run_sweep(model, {behind}, prompts, {.mode = mode});
    EXPECT_TRUE(std::isnan(result.effect(0, 0)));
    EXPECT_NE(result.effect(0, 1), 0);
    EXPECT_EQ(result.non_finite, 0);
    EXPECT_EQ(code_of([&] {
                run_sweep(model, {behind, nowhere}, prompts, {.mode = mode});
              }),
              "SW05");
  }
}

// Values that overflow are counted and left out, and hide no other cell.
TEST(SweepCells, OverflowIsCounted) {
  const Model model = fixture_model("llama", DType::f32);
  const std::vector<SweepPrompt> prompts = {{.row = sample_row(8), .target = {.answers = {5}}}};
  const std::vector<Cell> list = {cells()[0],
                                  {"huge", {scaled(Site::resid_pre, 0, 1e30, {}, {})}},
                                  {"huge at", {scaled(Site::mlp_out, 1, 1e39, {}, {7})}}};
  const SweepResult result = run_sweep(model, list, prompts, {.verify = 3});
  EXPECT_TRUE(std::isfinite(result.effects[0]));
  EXPECT_FALSE(std::isinf(result.effects[1]) || std::isinf(result.effects[2]));
  EXPECT_EQ(result.non_finite, std::count_if(result.effects.begin(), result.effects.end(),
                                             [](double v) { return std::isnan(v); }));
  EXPECT_GE(result.non_finite, 1);
}

// A metric that compares or counts would say 0 of numbers that are none.
TEST(SweepCells, NoMetricIsANumberWhereLogitsAreNone) {
  const Model model = fixture_model("llama", DType::f32);
  const std::vector<SweepPrompt> prompts = {
      {.row = sample_row(8), .target = {.answers = {5}, .wrongs = {7}}}};
  const std::vector<Cell> list = {cells()[0], {"huge", {scaled(Site::mlp_out, 1, 1e39, {}, {7})}}};
  for (const MetricChoice metric :
       {MetricChoice::logit_diff, MetricChoice::log_prob, MetricChoice::prob, MetricChoice::rank,
        MetricChoice::kl, MetricChoice::total_variation, MetricChoice::top1_change}) {
    for (const SweepMode mode : {SweepMode::fast, SweepMode::naive}) {
      const SweepResult result =
          run_sweep(model, list, prompts, {.metric = metric, .mode = mode, .verify = 0});
      EXPECT_TRUE(std::isfinite(result.effects[0]));
      EXPECT_TRUE(std::isnan(result.effects[1])) << static_cast<int>(metric);
      EXPECT_EQ(result.non_finite, 1);
    }
  }
}

// Keeps shards in memory; stops the sweep after some.
class MemoryStore final : public SweepStore {
 public:
  std::optional<std::vector<SweepRow>> load(int shard) override {
    const auto found = shards.find(shard);
    if (found == shards.end()) return std::nullopt;
    return found->second;
  }
  void save(int shard, const std::vector<SweepRow>& rows) override {
    shards[shard] = rows;
    ++saved;
  }
  std::map<int, std::vector<SweepRow>> shards;
  int saved = 0;
};

TEST(SweepStores, FinishedShardsAreTakenAsTheyAre) {
  const Model model = fixture_model("llama");
  const std::vector<SweepPrompt> prompts = {
      {.row = sample_row(8), .target = {.answers = {5}, .wrongs = {7}}},
      {.row = sample_row(11, 2), .target = {.answers = {5}, .wrongs = {7}}}};
  MemoryStore store;
  SweepSettings settings = {.verify = 0, .store = &store};
  const SweepResult first = run_sweep(model, cells(), prompts, settings);
  EXPECT_EQ(store.saved, first.plan.shards);
  const SweepResult again = run_sweep(model, cells(), prompts, settings);
  EXPECT_EQ(store.saved, first.plan.shards) << "nothing is computed twice";
  EXPECT_EQ(first.effects, again.effects);
  EXPECT_EQ(first.baseline, again.baseline);
  EXPECT_EQ(first.batch_difference, again.batch_difference);
}

TEST(SweepStores, AStopIsAnInterruption) {
  const Model model = fixture_model("llama");
  const std::vector<SweepPrompt> prompts = {{.row = sample_row(8), .target = {.answers = {5}}}};
  const std::atomic<bool> stop = true;
  for (const int workers : {1, 2}) {
    try {
      run_sweep(model, cells(), prompts, {.workers = workers, .stop = &stop});
      ADD_FAILURE() << "not stopped";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::interrupted);
    }
  }
}

TEST(SweepStores, OverTheBudget) {
  const Model model = fixture_model("llama");
  const std::vector<SweepPrompt> prompts = {{.row = sample_row(8), .target = {.answers = {5}}}};
  EXPECT_EQ(code_of([&] { run_sweep(model, cells(), prompts, {.budget = 100}); }), "SW10");
  // A dry run must not promise what the run refuses.
  EXPECT_EQ(code_of([&] { plan_sweep(model, cells(), prompts, {.budget = 100}); }), "SW10");
}

}  // namespace
}  // namespace attnscope::testing
