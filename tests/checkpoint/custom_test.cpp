// Custom models: the research models of the fixtures, and what their FILE.json may and may not say.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "checkpoint_files.h"
#include "testing/custom_models.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

using nlohmann::json;

Checkpoint open_strictly(const std::string& model) {
  Warnings warnings;
  Checkpoint checkpoint = open_checkpoint(model, {.strictness = Strictness::strict}, warnings);
  EXPECT_TRUE(warnings.lines().empty());
  return checkpoint;
}

const TensorBinding& find(const Checkpoint& checkpoint, Role role, int layer = -1) {
  for (const TensorBinding& b : checkpoint.map.bindings) {
    if (b.role == role && b.layer == layer) return b;
  }
  throw std::runtime_error(std::string("no ") + role_name(role));
}

using Shape = std::vector<std::int64_t>;

TEST(Pizza, ModelsMixTheirPatternWithAConstant) {
  const TempFolder folder;
  // The constants stand in the authors' config_*.json as attn_coeff.
  for (const auto& [id, layers, mix] : std::vector<std::tuple<const char*, int, double>>{
           {"l8k1hzciux", 1, 1.0},
           {"p99zdpze5l", 1, 0.0},
           {"4asyr7ht1p", 2, 0.0074246143147905785}}) {
    const json authors =
        json::parse(read_bytes(fixture("models/pizza/config_" + std::string(id) + ".json")));
    EXPECT_DOUBLE_EQ(authors["attn_coeff"].get<double>(), mix);
    const Checkpoint checkpoint = open_strictly(*custom_model("pizza_" + std::string(id), folder));
    const ModelConfig& config = checkpoint.config;
    EXPECT_EQ(config.family, "custom");
    EXPECT_EQ(config.n_layers, layers);
    EXPECT_EQ(config.n_layers, authors["n_layers"].get<int>());
    EXPECT_EQ(config.placement, NormPlacement::none);
    EXPECT_EQ(config.layers[0].attention.softmax_mix, mix);
    EXPECT_EQ(config.layers[0].attention.mask, MaskKind::bidirectional);
    EXPECT_DOUBLE_EQ(config.layers[0].attention.scale, 1 / std::sqrt(32.0));
    EXPECT_EQ(find(checkpoint, Role::token_embedding).layout, Layout::transposed_table);
    EXPECT_EQ(find(checkpoint, Role::q_weight, 0).layout, Layout::head_out_in);
    EXPECT_EQ(find(checkpoint, Role::q_weight, 0).shape, (Shape{4, 32, 128}));
    EXPECT_EQ(find(checkpoint, Role::head_weight).shape, (Shape{128, 59}));
    // Nothing of the file is left over.
    EXPECT_EQ(checkpoint.map.bindings.size(), checkpoint.tensors->tensors().size());
  }
}

TEST(Induction, IsAttentionOnly) {
  const TempFolder folder;
  const auto model = custom_model("induction", folder);
  if (!model) GTEST_SKIP() << "ATTNSCOPE_MATERIAL is not set";
  const Checkpoint checkpoint = open_strictly(*model);
  EXPECT_EQ(checkpoint.config.mlp, MlpKind::none);
  EXPECT_EQ(checkpoint.config.layers[1].attention.mask, MaskKind::causal);
  EXPECT_EQ(checkpoint.config.n_context, 85);
  EXPECT_EQ(checkpoint.map.bindings.size(), checkpoint.tensors->tensors().size());
}

TEST(Brackets, ClassifiesAtTheFirstTokenAndMasksPads) {
  const TempFolder folder;
  const auto model = custom_model("brackets", folder);
  if (!model) GTEST_SKIP() << "ATTNSCOPE_MATERIAL is not set";
  const Checkpoint checkpoint = open_strictly(*model);
  const ModelConfig& config = checkpoint.config;
  EXPECT_EQ(config.head, HeadKind::classifier);
  EXPECT_EQ(config.classifier, ClassifierKind::first_token);
  EXPECT_EQ(config.labels, (std::vector<std::string>{"unbalanced", "balanced"}));
  EXPECT_TRUE(config.mask_pad_keys);
  EXPECT_EQ(config.pad_id, 1);
  EXPECT_EQ(config.placement, NormPlacement::pre);
  EXPECT_TRUE(config.final_norm);
  EXPECT_EQ(find(checkpoint, Role::o_weight, 2).layout, Layout::head_d_out);
  EXPECT_EQ(find(checkpoint, Role::q_bias, 0).shape, (Shape{2, 28}));
  EXPECT_EQ(find(checkpoint, Role::head_bias).shape, (Shape{2}));
  EXPECT_EQ(checkpoint.map.bindings.size(), checkpoint.tensors->tensors().size());
}

// A model of two layers whose every tensor is named by its role.
class Custom : public ::testing::Test {
 protected:
  Custom() {
    file_ = {{"family", "custom"},
             {"weights", "w.safetensors"},
             {"config",
              {{"n_layers", 2},
               {"n_heads", {2, 3}},
               {"n_kv_heads", {1, 3}},
               {"d_head", 4},
               {"d_model", 6},
               {"d_mlp", {0, 5}},
               {"d_vocab", 7},
               {"n_context", 9},
               {"norm", "pre"},
               {"norm_kind", "rms_norm"},
               {"eps", 1e-6},
               {"mask", "causal"},
               {"window", {0, 3}},
               {"positions", "rotary"},
               {"rotary", {{"theta", 500}, {"layout", "interleaved"}}},
               {"mlp", "gated"},
               {"activation", "silu"},
               {"softcap", 20},
               {"scale", 0.25},
               {"tied_head", true}}},
             {"map",
              {{"token_embedding", "embed"},
               {"final_norm_weight", "norm"},
               {"ln1_weight", "{l}.n1"},
               {"ln2_weight", "{l}.n2"},
               {"k_weight", "{l}.k"},
               {"q_weight", {{"name", "{l}.q"}, {"layout", "in_out"}}},
               {"v_weight", {{"name", "{l}.v"}, {"layout", "head_in_out"}}},
               {"o_weight", "{l}.o"},
               {"mlp_in_weight", "{l}.up"},
               {"mlp_gate_weight", "{l}.gate"},
               {"mlp_out_weight", "{l}.down"},
               {"o_bias", {{"name", "{l}.ob"}, {"optional", true}}}}}};
    tensors_ = {{"embed", {7, 6}}, {"norm", {6}},      {"0.n1", {6}},      {"1.n1", {6}},
                {"1.n2", {6}},     {"0.q", {6, 8}},    {"1.q", {6, 12}},   {"0.k", {4, 6}},
                {"1.k", {12, 6}},  {"0.v", {1, 6, 4}}, {"1.v", {3, 6, 4}}, {"0.o", {6, 8}},
                {"1.o", {6, 12}},  {"1.up", {5, 6}},   {"1.gate", {5, 6}}, {"1.down", {6, 5}},
                {"1.ob", {6}}};
  }

  std::string write() {
    write_bytes(folder_.file("w.safetensors"), safetensors_file(tensors_));
    write_bytes(folder_.file("m.json"), file_.dump());
    return folder_.file("m.json");
  }
  Error error_with(const json& change) {
    const json before = file_;
    file_.merge_patch(change);
    const Error error = open_error(write());
    file_ = before;
    return error;
  }

  TempFolder folder_;
  json file_;
  std::vector<FileTensor> tensors_;
};

TEST_F(Custom, ReadsListsPerLayerAndLayouts) {
  const Checkpoint checkpoint = open_strictly(write());
  const ModelConfig& config = checkpoint.config;
  EXPECT_EQ(config.name, "m");
  EXPECT_EQ(config.layers[0].attention.n_heads, 2);
  EXPECT_EQ(config.layers[1].attention.n_heads, 3);
  EXPECT_EQ(config.layers[0].attention.n_kv_heads, 1);
  EXPECT_EQ(config.layers[0].d_mlp, 0);
  EXPECT_EQ(config.layers[1].d_mlp, 5);
  EXPECT_EQ(config.layers[0].attention.window, 0);
  EXPECT_EQ(config.layers[1].attention.window, 3);
  EXPECT_EQ(config.layers[0].attention.scale, 0.25);
  EXPECT_EQ(config.layers[0].attention.softcap, 20);
  EXPECT_EQ(config.layers[0].attention.rope.theta, 500);
  EXPECT_EQ(config.layers[0].attention.rope.rotary_dims, 4);
  EXPECT_EQ(config.layers[0].attention.rope.layout, RopeLayout::interleaved);
  EXPECT_EQ(config.norm, NormKind::rms_norm);
  EXPECT_EQ(config.mlp, MlpKind::gated);
  EXPECT_TRUE(config.tied_head);
  EXPECT_EQ(config.d_vocab_out, 7);
  EXPECT_FALSE(config.mask_pad_keys);
  EXPECT_EQ(checkpoint.map.bindings.size(), tensors_.size());  // the bias of layer 0 is absent
}

TEST_F(Custom, OpensWithItsWeightsInAnotherFolder) {
  std::filesystem::create_directory(folder_.file("weights"));
  file_["weights"] = "weights/../weights/w.safetensors";
  write();
  std::filesystem::rename(folder_.file("w.safetensors"), folder_.file("weights/w.safetensors"));
  EXPECT_NO_THROW(open_strictly(folder_.file("m.json")));
}

TEST_F(Custom, RefusesWhatItDoesNotKnow) {
  const std::vector<std::tuple<json, const char*, const char*>> table = {
      {{{"family", "costum"}}, "CF04", "\"custom\""},
      {{{"family", nullptr}, {"model_type", "llama"}}, "CF04", "give the folder"},
      {{{"extra", 1}}, "CF07", "extra"},
      {{{"config", {{"n_layer", 2}}}}, "CF07", "did you mean \"n_layers\"?"},
      {{{"config", {{"n_layers", 3}}}}, "CF07", "3 entries, one a layer"},
      {{{"config", {{"n_heads", {2, 0}}}}}, "CF07", "n_heads"},
      {{{"config", {{"n_kv_heads", {1, 2}}}}}, "CF07", "does not divide n_heads"},
      {{{"config", {{"d_model", nullptr}}}}, "CF07", "d_model\" is missing"},
      {{{"config", {{"d_mlp", nullptr}}}}, "CF07", "d_mlp\" is missing"},
      {{{"config", {{"norm", "both"}}}}, "CF10", "none, pre, post"},
      {{{"config", {{"norm", "none"}, {"final_norm", true}}}}, "CF07", "needs a norm"},
      {{{"config", {{"mask", "prefix"}}}}, "CF10", "causal, bidirectional"},
      {{{"config", {{"positions", "alibi"}}}}, "CF10", "learned, none, rotary"},
      {{{"config", {{"rotary", {{"dims", 3}}}}}}, "CF07", "even"},
      {{{"config", {{"head", "classifier"}, {"classifier", "mean"}}}}, "CF10", "first_token"},
      {{{"config", {{"labels", {"a", "b"}}, {"d_vocab_out", 3}}}}, "CF07", "labels"},
      {{{"config", {{"eps", 0}}}}, "CF07", "eps"},
      {{{"map", "keras"}}, "CF10", "transformer_lens"},
      {{{"map", "grokking"}}, "CF07", "has no norms"},
      {{{"map", {{"q_wait", "x"}}}}, "CF07", "q_wait"},
      {{{"map", {{"k_weight", {{"name", "{l}.k"}, {"layout", "flat"}}}}}}, "CF10", "canonical"},
      {{{"map", {{"k_weight", {{"name", "{l}.k"}, {"layout", "head_d"}}}}}}, "TM10", "k_weight"},
      {{{"map", {{"k_weight", nullptr}}}}, "CF07", "k_weight"},
      {{{"map", {{"o_weight", 7}}}}, "CF07", "an object"},
      {{{"weights", "/etc/passwd"}}, "IX02", "relative"},
      {{{"weights", "w.bin"}}, "IX02", ".safetensors"},
      {{{"weights", ""}}, "IX02", "relative"},
      {{{"weights", "absent.safetensors"}}, "ST22", "absent.safetensors"},
  };
  for (const auto& [change, code, says] : table) {
    const Error error = error_with(change);
    EXPECT_EQ(error.code(), code) << change << ": " << error.what();
    EXPECT_EQ(error.exit_code(), 2) << change;
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

TEST_F(Custom, NamesTheRoleThatTheMapLacks) {
  file_["map"].erase("mlp_gate_weight");
  const Error error = open_error(write());
  EXPECT_EQ(error.code(), "CF07");
  EXPECT_NE(std::string(error.what()).find("mlp_gate_weight"), std::string::npos);
}

TEST_F(Custom, TreatsListedTensorsAsUnused) {
  tensors_.push_back({"optimizer.step", {1}});
  EXPECT_EQ(open_error(write(), Strictness::strict).code(), "TM04");
  file_["unused"] = {"optimizer.*"};
  EXPECT_NO_THROW(open_strictly(write()));
}

TEST(TransformerLensPreset, TakesRmsNormsGatesAndBuffers) {
  const TempFolder folder;
  const json file = {{"family", "custom"},
                     {"weights", "w.safetensors"},
                     {"map", "transformer_lens"},
                     {"config",
                      {{"n_layers", 1},
                       {"n_heads", 2},
                       {"d_model", 6},
                       {"d_mlp", 5},
                       {"d_vocab", 7},
                       {"n_context", 4},
                       {"norm", "pre"},
                       {"norm_kind", "rms_norm"},
                       {"mlp", "gated"},
                       {"activation", "silu"}}}};
  write_bytes(folder.file("m.json"), file.dump());
  write_bytes(folder.file("w.safetensors"),
              safetensors_file({{"embed.W_E", {7, 6}},
                                {"pos_embed.W_pos", {4, 6}},
                                {"blocks.0.ln1.w", {6}},
                                {"blocks.0.ln2.w", {6}},
                                {"blocks.0.attn.W_Q", {2, 6, 3}},
                                {"blocks.0.attn.W_K", {2, 6, 3}},
                                {"blocks.0.attn.W_V", {2, 6, 3}},
                                {"blocks.0.attn.W_O", {2, 3, 6}},
                                {"blocks.0.mlp.W_in", {6, 5}},
                                {"blocks.0.mlp.W_gate", {6, 5}},
                                {"blocks.0.mlp.W_out", {5, 6}},
                                {"ln_final.w", {6}},
                                {"unembed.W_U", {6, 7}},
                                {"blocks.0.attn.mask", {4, 4}, "BOOL"},
                                {"blocks.0.attn.IGNORE", {}}}));
  const Checkpoint checkpoint = open_strictly(folder.file("m.json"));
  EXPECT_EQ(checkpoint.map.bindings.size(), 13U);
  EXPECT_EQ(find(checkpoint, Role::mlp_out_weight, 0).layout, Layout::in_out);
}

}  // namespace
}  // namespace attnscope::testing
