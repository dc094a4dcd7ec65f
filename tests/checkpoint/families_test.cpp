// Every family's committed fixture, against what its configuration and original code say.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/checkpoint/safetensors.h"
#include "checkpoint_files.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

Checkpoint open_quietly(const std::string& model) {
  Warnings warnings;
  Checkpoint checkpoint = open_checkpoint(model, {.strictness = Strictness::strict}, warnings);
  for (const std::string& line : warnings.lines()) ADD_FAILURE() << line;
  return checkpoint;
}

Checkpoint family(const std::string& name) {
  return open_quietly(fixture("families/" + name));
}

const AttentionSpec& attention(const Checkpoint& checkpoint, std::size_t layer = 0) {
  return checkpoint.config.layers.at(layer).attention;
}

const TensorBinding* find(const Checkpoint& checkpoint, Role role, int layer = -1) {
  for (const TensorBinding& binding : checkpoint.map.bindings) {
    if (binding.role == role && binding.layer == layer) return &binding;
  }
  return nullptr;
}

std::string name_of(const Checkpoint& checkpoint, Role role, int layer = -1) {
  const TensorBinding* binding = find(checkpoint, role, layer);
  return binding == nullptr ? "" : binding->name;
}

// Sizes as material tables give them: d_model, d_head, kv heads, vocabulary; 6 heads everywhere.
struct Sizes {
  int d_model, d_head, n_kv_heads, d_vocab, n_layers;
};

class EveryFamily : public ::testing::TestWithParam<std::pair<const char*, Sizes>> {};

TEST_P(EveryFamily, HasTheSizesOfItsTableAndReadsEveryTensor) {
  const auto& [name, sizes] = GetParam();
  const Checkpoint checkpoint = family(name);
  const ModelConfig& config = checkpoint.config;
  EXPECT_EQ(config.family, name);
  EXPECT_EQ(config.d_model, sizes.d_model);
  EXPECT_EQ(config.d_vocab, sizes.d_vocab);
  EXPECT_EQ(config.d_vocab_out, sizes.d_vocab);
  EXPECT_EQ(config.n_layers, sizes.n_layers);
  ASSERT_EQ(config.layers.size(), static_cast<std::size_t>(sizes.n_layers));
  for (const LayerConfig& layer : config.layers) {
    EXPECT_EQ(layer.attention.n_heads, 6);
    EXPECT_EQ(layer.attention.n_kv_heads, sizes.n_kv_heads);
    EXPECT_EQ(layer.attention.d_head, sizes.d_head);
  }
  EXPECT_EQ(config.n_context, 64);

  // Every tensor of the file is read once, with the file's shape.
  std::map<std::string, int> read;
  for (const TensorBinding& binding : checkpoint.map.bindings) {
    ++read[binding.name];
    const TensorInfo* info = checkpoint.tensors->find(binding.name);
    ASSERT_NE(info, nullptr) << binding.name;
    EXPECT_EQ(info->shape, binding.shape) << binding.name;
  }
  for (const TensorInfo& info : checkpoint.tensors->tensors()) {
    EXPECT_EQ(read[info.name], 1) << info.name;
  }
  std::int64_t numbers = 0;
  for (const TensorInfo& info : checkpoint.tensors->tensors()) {
    numbers += static_cast<std::int64_t>(info.bytes / 4);
  }
  EXPECT_EQ(parameter_count(checkpoint.map), numbers);
}

INSTANTIATE_TEST_SUITE_P(Families, EveryFamily,
                         ::testing::Values(std::pair{"gpt2", Sizes{42, 7, 6, 277, 2}},
                                           std::pair{"llama", Sizes{48, 8, 2, 271, 2}},
                                           std::pair{"mistral", Sizes{40, 10, 3, 269, 2}},
                                           std::pair{"qwen2", Sizes{48, 8, 2, 283, 2}},
                                           std::pair{"qwen3", Sizes{40, 10, 3, 281, 2}},
                                           std::pair{"gemma2", Sizes{40, 10, 3, 263, 2}},
                                           std::pair{"gpt_neox", Sizes{48, 8, 6, 281, 2}},
                                           std::pair{"bert", Sizes{42, 7, 6, 271, 2}},
                                           std::pair{"roberta", Sizes{42, 7, 6, 269, 2}},
                                           std::pair{"albert", Sizes{42, 7, 6, 263, 3}},
                                           std::pair{"distilbert", Sizes{42, 7, 6, 277, 2}}),
                         [](const auto& test) { return std::string(test.param.first); });

TEST(Gpt2, ReadsFusedInOutWeightsAndATiedHead) {
  const Checkpoint checkpoint = family("gpt2");
  const ModelConfig& config = checkpoint.config;
  EXPECT_EQ(config.architecture, "GPT2LMHeadModel");
  EXPECT_EQ(config.stack, StackKind::decoder_only);
  EXPECT_EQ(config.placement, NormPlacement::pre);
  EXPECT_EQ(config.norm, NormKind::layer_norm);
  EXPECT_EQ(config.activation, Activation::gelu_tanh);
  EXPECT_EQ(config.position, PositionKind::learned);
  EXPECT_EQ(config.layers[0].d_mlp, 4 * 42);
  EXPECT_TRUE(config.tied_head);
  EXPECT_EQ(find(checkpoint, Role::head_weight), nullptr);
  EXPECT_EQ(attention(checkpoint).mask, MaskKind::causal);
  EXPECT_DOUBLE_EQ(attention(checkpoint).scale, 1 / std::sqrt(7.0));
  const TensorBinding* qkv = find(checkpoint, Role::qkv_weight, 1);
  ASSERT_NE(qkv, nullptr);
  EXPECT_EQ(qkv->name, "transformer.h.1.attn.c_attn.weight");
  EXPECT_EQ(qkv->layout, Layout::qkv_concatenated_in_out);
  EXPECT_EQ(qkv->shape, (std::vector<std::int64_t>{42, 126}));
  const TensorBinding* out = find(checkpoint, Role::mlp_out_weight, 0);
  EXPECT_EQ(out->layout, Layout::in_out);
  EXPECT_EQ(out->shape, (std::vector<std::int64_t>{168, 42}));
}

TEST(GptNeox, HasAParallelBlockWithTwoNormsAndHalfRotaryHeads) {
  const Checkpoint checkpoint = family("gpt_neox");
  const ModelConfig& config = checkpoint.config;
  EXPECT_TRUE(config.parallel_block);
  EXPECT_FALSE(config.parallel_single_norm);
  EXPECT_EQ(config.activation, Activation::gelu);
  EXPECT_FALSE(config.tied_head);
  EXPECT_EQ(attention(checkpoint).rope.rotary_dims, 4);
  EXPECT_EQ(attention(checkpoint).rope.layout, RopeLayout::half);
  EXPECT_EQ(find(checkpoint, Role::qkv_weight, 0)->layout, Layout::qkv_per_head);
  EXPECT_EQ(find(checkpoint, Role::qkv_bias, 0)->layout, Layout::qkv_per_head);
  EXPECT_EQ(name_of(checkpoint, Role::head_weight), "embed_out.weight");
}

TEST(Llama, IsGroupedGatedAndUntied) {
  const Checkpoint checkpoint = family("llama");
  const ModelConfig& config = checkpoint.config;
  EXPECT_EQ(config.norm, NormKind::rms_norm);
  EXPECT_DOUBLE_EQ(config.norm_eps, 1e-5);
  EXPECT_EQ(config.mlp, MlpKind::gated);
  EXPECT_EQ(config.activation, Activation::silu);
  EXPECT_EQ(config.layers[0].d_mlp, 70);
  EXPECT_EQ(attention(checkpoint).rope.theta, 10000);
  EXPECT_EQ(attention(checkpoint).rope.rotary_dims, 8);
  EXPECT_EQ(attention(checkpoint).window, 0);
  EXPECT_EQ(name_of(checkpoint, Role::mlp_in_weight, 0), "model.layers.0.mlp.up_proj.weight");
  EXPECT_EQ(name_of(checkpoint, Role::mlp_gate_weight, 0), "model.layers.0.mlp.gate_proj.weight");
  EXPECT_EQ(name_of(checkpoint, Role::ln2_weight, 0),
            "model.layers.0.post_attention_layernorm.weight");
  EXPECT_EQ(name_of(checkpoint, Role::head_weight), "lm_head.weight");
  EXPECT_EQ(find(checkpoint, Role::q_bias, 0), nullptr);
  EXPECT_EQ(config.bos_id, 1);
  EXPECT_EQ(config.eos_id, 2);
  EXPECT_EQ(config.pad_id, -1);
}

TEST(Mistral, SlidesInEveryLayer) {
  const Checkpoint checkpoint = family("mistral");
  EXPECT_EQ(attention(checkpoint, 0).window, 6);
  EXPECT_EQ(attention(checkpoint, 1).window, 6);
}

TEST(Qwen2, HasBiasesOnQueriesKeysAndValuesOnly) {
  const Checkpoint checkpoint = family("qwen2");
  EXPECT_NE(find(checkpoint, Role::q_bias, 0), nullptr);
  EXPECT_NE(find(checkpoint, Role::v_bias, 1), nullptr);
  EXPECT_EQ(find(checkpoint, Role::o_bias, 0), nullptr);
  EXPECT_EQ(attention(checkpoint).rope.theta, 1e6);
  EXPECT_TRUE(checkpoint.config.tied_head);
  EXPECT_EQ(attention(checkpoint).window, 0);
}

TEST(Qwen3, NormalisesQueriesAndKeys) {
  const Checkpoint checkpoint = family("qwen3");
  EXPECT_TRUE(attention(checkpoint).qk_norm);
  EXPECT_EQ(find(checkpoint, Role::k_norm_weight, 0)->shape, (std::vector<std::int64_t>{10}));
}

TEST(Gemma2, HasSandwichNormsSoftCapsAndAlternatingWindows) {
  const Checkpoint checkpoint = family("gemma2");
  const ModelConfig& config = checkpoint.config;
  EXPECT_EQ(config.placement, NormPlacement::sandwich);
  EXPECT_EQ(config.norm_weight_offset, 1);
  EXPECT_DOUBLE_EQ(config.embed_multiplier, std::sqrt(40.0));
  EXPECT_EQ(config.final_softcap, 2);
  EXPECT_EQ(attention(checkpoint).softcap, 3);
  EXPECT_DOUBLE_EQ(attention(checkpoint).scale, 0.25);
  EXPECT_EQ(attention(checkpoint, 0).window, 6);
  EXPECT_EQ(attention(checkpoint, 1).window, 0);
  EXPECT_EQ(config.activation, Activation::gelu_tanh);
  EXPECT_TRUE(config.tied_head);
  EXPECT_EQ(name_of(checkpoint, Role::ln1_post_weight, 0),
            "model.layers.0.post_attention_layernorm.weight");
  EXPECT_EQ(name_of(checkpoint, Role::ln2_weight, 0),
            "model.layers.0.pre_feedforward_layernorm.weight");
}

TEST(Bert, IsAPostNormEncoderWithAMaskedLmHead) {
  const Checkpoint checkpoint = family("bert");
  const ModelConfig& config = checkpoint.config;
  EXPECT_EQ(config.stack, StackKind::encoder_only);
  EXPECT_EQ(config.placement, NormPlacement::post);
  EXPECT_TRUE(config.embed_norm);
  EXPECT_FALSE(config.final_norm);
  EXPECT_EQ(config.token_types, 2);
  EXPECT_EQ(config.head, HeadKind::masked_lm);
  EXPECT_EQ(config.head_activation, Activation::gelu);
  EXPECT_EQ(attention(checkpoint).mask, MaskKind::bidirectional);
  EXPECT_EQ(config.position_offset, 0);
  EXPECT_EQ(name_of(checkpoint, Role::head_bias), "cls.predictions.bias");
}

TEST(Roberta, CountsPositionsFromThePadId) {
  const Checkpoint checkpoint = family("roberta");
  EXPECT_EQ(checkpoint.config.position_offset, 2);
  EXPECT_EQ(checkpoint.config.pad_id, 1);
  EXPECT_EQ(checkpoint.config.token_types, 1);
  EXPECT_EQ(find(checkpoint, Role::position_embedding)->shape, (std::vector<std::int64_t>{66, 42}));
}

TEST(Albert, SharesOneLayerAndFactorisesTheEmbedding) {
  const Checkpoint checkpoint = family("albert");
  EXPECT_EQ(checkpoint.config.d_embed, 20);
  EXPECT_EQ(checkpoint.config.n_distinct_layers, 1);
  EXPECT_EQ(find(checkpoint, Role::q_weight, 1), nullptr);
  EXPECT_EQ(find(checkpoint, Role::embed_projection)->shape, (std::vector<std::int64_t>{42, 20}));
  EXPECT_EQ(find(checkpoint, Role::head_dense_weight)->shape, (std::vector<std::int64_t>{20, 42}));
}

TEST(Distilbert, HasNoTokenTypes) {
  const Checkpoint checkpoint = family("distilbert");
  EXPECT_EQ(checkpoint.config.token_types, 0);
  EXPECT_EQ(find(checkpoint, Role::token_type_embedding), nullptr);
  EXPECT_EQ(checkpoint.config.norm_eps, 1e-12);
}

TEST(RealModels, Stories260kIsALlamaWithATiedHead) {
  const Checkpoint checkpoint = open_quietly(fixture("models/stories260k/hf"));
  EXPECT_EQ(checkpoint.config.n_layers, 5);
  EXPECT_EQ(attention(checkpoint).n_heads, 8);
  EXPECT_EQ(attention(checkpoint).n_kv_heads, 4);
  // "260K" is the published number of parameters.
  EXPECT_EQ(parameter_count(checkpoint.map), 260'032);
}

TEST(RealModels, RxnmapperStoresItsTiedHeadTwice) {
  const Checkpoint checkpoint = open_quietly(fixture("models/rxnmapper"));
  EXPECT_EQ(checkpoint.config.n_layers, 12);
  EXPECT_EQ(checkpoint.config.n_distinct_layers, 1);
  EXPECT_EQ(checkpoint.config.head, HeadKind::masked_lm);
  std::set<std::pair<std::string, std::string>> twins;
  for (const TiedTwin& twin : checkpoint.map.twins) twins.insert({twin.name, twin.same_as});
  const std::set<std::pair<std::string, std::string>> expected = {
      {"predictions.decoder.weight", "albert.embeddings.word_embeddings.weight"},
      {"predictions.decoder.bias", "predictions.bias"}};
  EXPECT_EQ(twins, expected);
}

TEST(RealModels, TinyRandomGpt2KeepsItsTokenizer) {
  const Checkpoint checkpoint = open_quietly(fixture("models/tiny-random-gpt2"));
  EXPECT_EQ(checkpoint.config.n_layers, 5);
  EXPECT_TRUE(checkpoint.tokenizer_json.ends_with("tokenizer.json"));
  EXPECT_EQ(checkpoint.weight_files.size(), 1U);
}

}  // namespace
}  // namespace attnscope::testing
