// Models of real size against compact references. ATTNSCOPE_MODELS names a folder that holds
// minilm/ and smollm2/ (an encoder of 22.7 M and a decoder of 135 M parameters, in Hugging Face
// form); their references lie in the test material.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "family_comparison.h"
#include "oracle.h"
#include "published.h"
#include "recorder.h"
#include "testing/fixtures.h"

namespace attnscope::testing {
namespace {

class RealModel : public ::testing::Test {
 protected:
  // Skips the test when the model or its reference is not there.
  void open(const std::string& name) {
    const char* models = std::getenv("ATTNSCOPE_MODELS");
    const auto references = material("models/" + name);
    if (models == nullptr || !references) {
      GTEST_SKIP() << "ATTNSCOPE_MODELS or ATTNSCOPE_MATERIAL is not set";
    }
    const std::string folder = std::string(models) + "/" + name;
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " does not exist";
    model_ = load_model(folder, DType::f32).model;
    reference_ = read_reference(*references + "/reference.json");
    oracle_.emplace(*references + "/oracle.npz");
  }

  const Model& model() const { return *model_; }

  // Maps, z and layer outputs of one text.
  void expect_sites(const std::string& text, double map_tolerance, double hidden_tolerance) {
    const OracleCase input = oracle_->input(text);
    std::vector<HookId> hooks;
    for (const std::string& array : oracle_->outputs(text)) {
      const auto hook = parse_hook(array);
      if (hook && array.starts_with("blocks.")) hooks.push_back(*hook);
    }
    ASSERT_GT(hooks.size(), 5U);
    const Outcome run = run_and_record(model(), make_batch(input.rows), hooks);
    for (const HookId hook : hooks) {
      const at::Tensor expected = oracle_->array(text + "/" + hook_name(hook));
      const double scale = std::max(1.0, expected.abs().max().item<double>());
      EXPECT_LE(largest_difference(run.values.at(hook), expected),
                (is_map(hook.site) ? map_tolerance : hidden_tolerance) * scale)
          << text << " " << hook_name(hook);
    }
  }

  // Output at the last position with head h zeroed in batch row h, [h v'].
  at::Tensor ablated(const TokenRow& ids, int layer, const LogitsRequest& logits) const {
    const int n_heads = model().config().n_heads(layer);
    Taps taps;
    for (int h = 0; h < n_heads; ++h) {
      taps.interventions.push_back(
          {.hook = {Site::z, layer}, .operation = Operation::zero, .rows = {h}, .heads = {h}});
    }
    const Batch batch = make_batch(std::vector<TokenRow>(static_cast<std::size_t>(n_heads), ids));
    const RunResult result = model().run(batch, taps, {.logits = logits});
    return (result.logits.defined() ? result.logits : result.hidden).select(1, -1);
  }

  std::optional<Model> model_;
  std::optional<Oracle> oracle_;
  nlohmann::json reference_;
};

TEST_F(RealModel, MiniLm) {
  open("minilm");
  if (!model_) return;
  for (const std::string text : {"seq0", "seq1", "seq2"}) {
    expect_sites(text, 1e-5, 1e-5);
    const Outcome run = run_and_record(model(), make_batch(oracle_->input(text).rows), {});
    EXPECT_LE(largest_difference(run.output, oracle_->array(text + "/last_hidden_state")), 1e-5);
  }
  const at::Tensor expected = oracle_->array("seq1/ablate_zero.attn.hook_z");
  for (int l = 0; l < model().config().n_layers; ++l) {
    const at::Tensor got = ablated(oracle_->input("seq1").rows[0], l, {});
    EXPECT_LE(largest_difference(got, expected[l]), 1e-5) << "layer " << l;
  }
}

// Mean of the last hidden state over the tokens, normalised.
TEST_F(RealModel, MiniLmEmbeddings) {
  open("minilm");
  if (!model_) return;
  std::vector<TokenRow> rows;
  for (const auto& ids : reference_["ids"]) {
    rows.push_back({.ids = ids.get<std::vector<std::int64_t>>()});
  }
  const Batch batch = make_batch(rows);
  const Outcome run = run_and_record(model(), batch, {}, {}, {});
  std::vector<at::Tensor> embeddings;
  for (int r = 0; r < batch.size(); ++r) {
    const at::Tensor mean = unpadded(run.output, batch, r).to(at::kDouble).mean(0);
    embeddings.push_back(mean / mean.norm());
  }
  const at::Tensor all = at::stack(embeddings);
  EXPECT_LE(largest_difference(all.slice(1, 0, 8), to_tensor(reference_["embedding_first8"])),
            1e-5);
  EXPECT_LE(largest_difference(all.mm(all.t()), to_tensor(reference_["cosine"])), 1e-5);
}

TEST_F(RealModel, SmolLm2) {
  open("smollm2");
  if (!model_) return;
  const std::vector<std::int64_t> columns = [&] {
    const at::Tensor ids = oracle_->array("logit_ids").to(at::kLong);
    return std::vector<std::int64_t>(ids.data_ptr<std::int64_t>(),
                                     ids.data_ptr<std::int64_t>() + ids.numel());
  }();
  for (const std::string text : {"seq0", "seq1", "seq2"}) {
    expect_sites(text, 2e-5, 2e-5);
    const Outcome run = run_and_record(model(), make_batch(oracle_->input(text).rows), {}, {}, {});
    const at::Tensor logits = run.output;
    EXPECT_LE(largest_difference(logits.index_select(2, at::tensor(columns)),
                                 oracle_->array(text + "/logits")),
              1e-3);
    EXPECT_LE(largest_difference(logits.logsumexp(-1), oracle_->array(text + "/logits_lse")), 1e-3);
    EXPECT_TRUE(
        at::equal(logits.argmax(-1).to(at::kDouble), oracle_->array(text + "/logits_argmax")));
  }
  const at::Tensor expected = oracle_->array("seq1/ablate_zero.attn.hook_z");
  const LogitsRequest request{.at = LogitsAt::last, .columns = columns};
  for (int l = 0; l < model().config().n_layers; ++l) {
    EXPECT_LE(largest_difference(ablated(oracle_->input("seq1").rows[0], l, request), expected[l]),
              1e-3)
        << "layer " << l;
  }
}

TEST_F(RealModel, SmolLm2WritesTheTextOfItsReference) {
  open("smollm2");
  if (!model_) return;
  for (const auto& example : reference_["greedy"]) {
    auto ids = example["prompt_ids"].get<std::vector<std::int64_t>>();
    for (const auto& expected : example["new_ids"]) {
      const RunOptions options{.logits = {.at = LogitsAt::last}};
      const at::Tensor logits = model().run(make_batch({{.ids = ids}}), Taps{}, options).logits;
      ids.push_back(logits.flatten().argmax().item<std::int64_t>());
      ASSERT_EQ(ids.back(), expected.get<std::int64_t>());
    }
  }
}

}  // namespace
}  // namespace attnscope::testing
