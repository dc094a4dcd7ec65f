// Configurations that must be refused, and defaults of keys that are absent.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "checkpoint_files.h"
#include "testing/fixtures.h"
#include "testing/temp_folder.h"

namespace attnscope::testing {
namespace {

using nlohmann::json;

// The family's fixture with another configuration.
class Changed {
 public:
  explicit Changed(const std::string& family)
      : config(config_of(fixture("families/" + family))),
        tensors(tensors_of(fixture("families/" + family))) {}

  Checkpoint open() {
    write_model(folder_.file("model"), config, tensors);
    return open_checkpoint(folder_.file("model"), {}, warnings);
  }
  Error error() {
    return error_of([&] { open(); });
  }
  Error error_with(const json& change) {
    const json before = config;
    config.merge_patch(change);
    const Error result = error();
    config = before;
    return result;
  }

  json config;
  std::vector<FileTensor> tensors;
  Warnings warnings;

 private:
  TempFolder folder_;
};

struct BadConfig {
  const char* family;
  json change;
  const char* code;
  const char* says;
};

TEST(BadConfigs, EachNamesTheKeyAndTheRange) {
  const std::int64_t huge = std::int64_t{1} << 40;
  const std::vector<BadConfig> table = {
      {"gpt2", {{"n_layer", 0}}, "CF07", "1 to 1000"},
      {"gpt2", {{"n_layer", -1}}, "CF07", "n_layer"},
      {"gpt2", {{"n_layer", std::int64_t{1} << 31}}, "CF07", "got 2147483648"},
      {"gpt2", {{"n_layer", 18446744073709551615ULL}}, "CF07", "18446744073709551615"},
      {"gpt2", {{"n_layer", 2.7}}, "CF07", "an integer"},
      {"gpt2", {{"n_layer", "12"}}, "CF07", "a string"},
      {"gpt2", {{"n_layer", true}}, "CF07", "true or false"},
      {"gpt2", {{"n_head", 5}}, "CF07", "does not divide n_embd"},
      {"gpt2", {{"vocab_size", 0}}, "CF07", "vocab_size"},
      {"gpt2", {{"vocab_size", huge}}, "CF07", "1 to 16777216"},
      {"gpt2", {{"n_positions", huge}}, "CF07", "1 to 134217728"},
      {"gpt2", {{"n_embd", huge}}, "CF07", "1 to 1048576"},
      {"gpt2", {{"n_inner", huge}}, "CF07", "n_inner"},
      {"gpt2", {{"layer_norm_epsilon", 0}}, "CF07", "layer_norm_epsilon"},
      {"gpt2", {{"layer_norm_epsilon", -1e-5}}, "CF07", "layer_norm_epsilon"},
      {"gpt2", {{"activation_function", "mish"}}, "CF10", "\"mish\"; supported: gelu"},
      {"gpt2", {{"add_cross_attention", true}}, "CF10", "add_cross_attention"},
      {"gpt2", {{"model_type", "rwkv"}}, "CF02", "\"rwkv\"; supported: gpt2"},
      {"gpt2", {{"model_type", 7}}, "CF07", "model_type"},
      {"gpt2",
       {{"model_type", nullptr}, {"architectures", {"MambaForCausalLM"}}},
       "CF02",
       "MambaForCausalLM"},
      {"gpt2", {{"architectures", {"GPT2ForDancing"}}}, "CF03", "supported: GPT2LMHeadModel"},
      {"gpt2", {{"model_type", nullptr}, {"architectures", nullptr}}, "CF01", "model_type"},
      {"gpt2", {{"tie_word_embeddings", "yes"}}, "CF07", "tie_word_embeddings"},
      {"llama", {{"num_key_value_heads", 4}}, "CF07", "does not divide num_attention_heads"},
      {"llama", {{"num_key_value_heads", 0}}, "CF07", "num_key_value_heads"},
      {"llama", {{"head_dim", 7}}, "CF07", "an even number"},
      {"llama", {{"head_dim", 0}}, "CF07", "head_dim"},
      {"llama", {{"rope_theta", 0}}, "CF07", "rope_theta"},
      {"llama", {{"rope_theta", -10000}}, "CF07", "rope_theta"},
      {"llama", {{"rms_norm_eps", 0}}, "CF07", "rms_norm_eps"},
      {"llama", {{"hidden_act", "quick_gelu"}}, "CF10", "supported:"},
      {"llama", {{"partial_rotary_factor", 0.5}}, "CF10", "partial_rotary_factor"},
      {"llama",
       {{"rope_scaling", {{"rope_type", "su"}}}},
       "CF10",
       "\"su\"; supported: default, linear, dynamic, yarn, llama3"},
      {"llama", {{"rope_scaling", {{"type", "linear"}}}}, "CF07", "rope_scaling.factor"},
      {"llama", {{"rope_scaling", {{"type", "linear"}, {"factor", 0}}}}, "CF07", "factor"},
      {"llama", {{"rope_scaling", "linear"}}, "CF07", "an object"},
      {"llama", {{"hidden_size", 50}, {"head_dim", nullptr}}, "CF07", "does not divide"},
      {"qwen2", {{"layer_types", {"full_attention"}}}, "CF07", "2 entries"},
      {"qwen2",
       {{"layer_types", {"full_attention", "chunked_attention"}}},
       "CF10",
       "chunked_attention"},
      {"qwen2",
       {{"layer_types", {"full_attention", "sliding_attention"}}},
       "CF07",
       "sliding_window"},
      {"gemma2", {{"query_pre_attn_scalar", 0}}, "CF07", "query_pre_attn_scalar"},
      {"gemma2", {{"attn_logit_softcapping", -1}}, "CF07", "attn_logit_softcapping"},
      {"gpt_neox", {{"rotary_pct", 0.4}}, "CF07", "even number"},
      {"gpt_neox", {{"rotary_pct", 2}}, "CF07", "rotary_pct"},
      {"bert", {{"position_embedding_type", "relative_key"}}, "CF10", "absolute"},
      {"bert", {{"type_vocab_size", 0}}, "CF07", "type_vocab_size"},
      {"roberta", {{"max_position_embeddings", 2}}, "CF07", "max_position_embeddings"},
      {"roberta", {{"pad_token_id", -1}}, "CF07", "pad_token_id"},
      {"albert", {{"num_hidden_groups", 5}}, "CF07", "num_hidden_groups"},
      {"albert", {{"inner_group_num", 900}}, "CF07", "at most 1000 layers"},
      {"distilbert", {{"n_heads", 4}}, "CF07", "does not divide dim"},
  };
  for (const BadConfig& bad : table) {
    Changed model(bad.family);
    const Error error = model.error_with(bad.change);
    EXPECT_EQ(error.code(), bad.code) << bad.change << ": " << error.what();
    EXPECT_EQ(error.exit_code(), 2) << bad.change;
    EXPECT_NE(std::string(error.what()).find(bad.says), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("config.json"), std::string::npos) << error.what();
  }
}

TEST(BadConfigs, ThatAreNoJsonObjectAreRefused) {
  const TempFolder folder;
  write_model(folder.file("m"), json::object(), {});
  const std::vector<std::pair<std::string, const char*>> table = {
      {"", "CF06"},
      {"{", "CF06"},
      {"not json", "CF06"},
      {"[]", "CF07"},
      {"3", "CF07"},
      {"{\"vocab_size\":1,\"vocab_size\":2}", "CF06"},
      {"{\"vocab_size\":1e400}", "CF06"},
      {"{\"layer_norm_epsilon\":NaN}", "CF06"},
      {"{\"a\":\"\xFF\"}", "CF06"},
      {std::string(100'000, '['), "CF06"},
  };
  for (const auto& [text, code] : table) {
    write_bytes(folder.file("m/config.json"), text);
    const Error error = open_error(folder.file("m"));
    EXPECT_EQ(error.code(), code) << text.substr(0, 40);
    EXPECT_EQ(error.exit_code(), 2);
  }
  std::filesystem::remove(folder.file("m/config.json"));
  EXPECT_EQ(open_error(folder.file("m")).code(), "CF05");
}

TEST(BadConfigs, AreRefusedBeforeMemoryIsTaken) {
  Changed model("llama");
  const Error error = model.error_with({{"hidden_size", 1 << 20},
                                        {"num_hidden_layers", 1000},
                                        {"vocab_size", 1 << 24},
                                        {"intermediate_size", 1 << 20}});
  EXPECT_EQ(error.code(), "TM02");  // the file is small
}

TEST(Tensors, MissingOnesAreCountedAndTheFirstFiveListed) {
  Changed model("llama");
  model.config["num_hidden_layers"] = 4;
  const std::string text = model.error().what();
  EXPECT_NE(text.find("[TM01]"), std::string::npos);
  EXPECT_NE(text.find("18 tensors are missing"), std::string::npos) << text;  // 2 layers of 9
  EXPECT_NE(text.find("(18 in all)"), std::string::npos) << text;
}

TEST(Tensors, ShapesAreShownWithAHint) {
  Changed model("gpt2");
  model.config["vocab_size"] = 300;
  const std::string vocabulary = model.error().what();
  EXPECT_NE(vocabulary.find("[TM02]"), std::string::npos) << vocabulary;
  EXPECT_NE(vocabulary.find("[300,42]"), std::string::npos);
  EXPECT_NE(vocabulary.find("[277,42]"), std::string::npos);
  EXPECT_EQ(vocabulary.find("transposed?"), std::string::npos);

  Changed turned("gpt2");
  for (FileTensor& t : turned.tensors) {
    if (t.name == "transformer.h.0.mlp.c_fc.weight") std::swap(t.shape[0], t.shape[1]);
  }
  EXPECT_NE(std::string(turned.error().what()).find("transposed?"), std::string::npos);
}

TEST(Tensors, UnexpectedOnesWarnAndAreAnErrorUnderStrict) {
  const TempFolder folder;
  Changed model("gpt2");
  model.tensors.push_back({"lora_A", {3}});
  model.tensors.push_back({"transformer.h.0.attn.bias", {1, 1, 64, 64}, "U8"});
  model.open();
  ASSERT_EQ(model.warnings.lines().size(), 1U);
  EXPECT_NE(model.warnings.lines()[0].find("1 unexpected tensor: \"lora_A\""), std::string::npos);
  write_model(folder.file("m"), model.config, model.tensors);
  const Error error = open_error(folder.file("m"), Strictness::strict);
  EXPECT_EQ(error.code(), "TM04");
  EXPECT_EQ(error.exit_code(), 2);
}

TEST(Tensors, OfIntegersAreNoWeights) {
  Changed model("gpt2");
  for (FileTensor& t : model.tensors) {
    if (t.name == "transformer.wte.weight") t.dtype = "I8";
  }
  EXPECT_EQ(model.error().code(), "TM03");
}

TEST(Tensors, AreFoundWithoutTheBasePrefix) {
  for (const char* family : {"gpt2", "bert", "albert", "llama", "gpt_neox", "distilbert"}) {
    Changed model(family);
    const std::string first = model.tensors.front().name;
    for (FileTensor& t : model.tensors) {
      const std::string base = std::string(family) == "gpt2"    ? "transformer."
                               : std::string(family) == "llama" ? "model."
                                                                : std::string(family) + ".";
      if (t.name.starts_with(base)) t.name = t.name.substr(base.size());
    }
    EXPECT_NO_THROW(model.open()) << family;
    EXPECT_TRUE(model.warnings.lines().empty()) << family;
  }
}

TEST(Tensors, OfNormsMayBeCalledGammaAndBeta) {
  Changed model("bert");
  int renamed = 0;
  for (FileTensor& t : model.tensors) {
    const std::size_t at = t.name.find("LayerNorm.");
    if (at == std::string::npos) continue;
    t.name =
        t.name.substr(0, at) + (t.name.ends_with("weight") ? "LayerNorm.gamma" : "LayerNorm.beta");
    ++renamed;
  }
  EXPECT_EQ(renamed, 12);
  EXPECT_NO_THROW(model.open());
  EXPECT_TRUE(model.warnings.lines().empty());
}

TEST(Tensors, TiedOnesMayBeStoredUnderEitherName) {
  Changed model("qwen2");
  for (FileTensor& t : model.tensors) {
    if (t.name == "model.embed_tokens.weight") t.name = "lm_head.weight";
  }
  EXPECT_EQ(model.open().map.bindings.front().name, "lm_head.weight");

  Changed twice("qwen2");
  twice.tensors.push_back({"lm_head.weight", {283, 48}});
  const Checkpoint checkpoint = twice.open();
  ASSERT_EQ(checkpoint.map.twins.size(), 1U);
  EXPECT_EQ(checkpoint.map.twins[0].name, "lm_head.weight");
  EXPECT_EQ(checkpoint.map.twins[0].same_as, "model.embed_tokens.weight");
}

TEST(StoredTypes, AreReportedWhenTheyDifferFromTheConfiguration) {
  Changed same("gpt2");
  EXPECT_EQ(same.open().config.stored_dtype, DType::f32);
  EXPECT_TRUE(same.warnings.lines().empty());

  Changed named("gpt2");
  named.config.erase("dtype");
  named.config["torch_dtype"] = "bfloat16";
  EXPECT_EQ(named.open().config.stored_dtype, DType::bf16);
  ASSERT_EQ(named.warnings.lines().size(), 1U);
  EXPECT_NE(named.warnings.lines()[0].find("config.json names bfloat16"), std::string::npos);

  Changed mixed("gpt2");
  mixed.tensors.front().dtype = "F16";
  mixed.open();
  ASSERT_EQ(mixed.warnings.lines().size(), 1U);
  EXPECT_NE(mixed.warnings.lines()[0].find("1 float16, 27 float32"), std::string::npos)
      << mixed.warnings.lines()[0];
}

TEST(AutoMap, IsIgnoredWithANote) {
  Changed model("gpt2");
  model.config["auto_map"] = {{"AutoModel", "modeling_evil.Evil"}};
  model.open();
  ASSERT_EQ(model.warnings.lines().size(), 1U);
  EXPECT_NE(model.warnings.lines()[0].find("auto_map"), std::string::npos);
}

// Defaults of the original configuration classes (transformers 4.57.6), seen through the shapes
// they ask for: the fixture lacks the tensor of the default size.
TEST(AbsentKeys, TakeTheClassDefault) {
  const std::vector<std::tuple<const char*, const char*, const char*>> table = {
      {"gpt2", "n_embd", "[277,768]"},
      {"gpt2", "vocab_size", "[50257,42]"},
      {"gpt2", "n_positions", "[1024,42]"},
      {"gpt_neox", "vocab_size", "[50432,48]"},
      {"gpt_neox", "intermediate_size", "[24576,48]"},
      {"llama", "vocab_size", "[32000,48]"},
      {"llama", "intermediate_size", "[11008,48]"},
      {"llama", "num_key_value_heads", "[48,48]"},  // as many as query heads
      {"mistral", "intermediate_size", "[14336,40]"},
      {"qwen2", "vocab_size", "[151936,48]"},
      {"qwen2", "intermediate_size", "[22016,48]"},
      {"qwen3", "head_dim", "[768,40]"},  // 6 heads of 128
      {"gemma2", "vocab_size", "[256000,40]"},
      {"gemma2", "head_dim", "[1536,40]"},
      {"bert", "vocab_size", "[30522,42]"},
      {"bert", "max_position_embeddings", "[512,42]"},
      {"bert", "intermediate_size", "[3072,42]"},
      {"roberta", "vocab_size", "[50265,42]"},
      {"roberta", "type_vocab_size", "[2,42]"},
      {"distilbert", "vocab_size", "[30522,42]"},
      {"distilbert", "hidden_dim", "[3072,42]"},
      {"albert", "embedding_size", "[263,128]"},
      {"albert", "vocab_size", "[30000,20]"},
      {"albert", "intermediate_size", "[16384,42]"},
  };
  for (const auto& [family, key, shape] : table) {
    Changed model(family);
    ASSERT_EQ(model.config.erase(key), 1U) << family << " " << key;
    const Error error = model.error();
    EXPECT_EQ(error.code(), "TM02") << family << " " << key << ": " << error.what();
    EXPECT_NE(std::string(error.what()).find(shape), std::string::npos)
        << family << " " << key << ": " << error.what();
  }
}

TEST(AbsentKeys, OfNormsHeadsAndWindows) {
  Changed llama("llama");
  llama.config.erase("rms_norm_eps");
  llama.config.erase("bos_token_id");
  llama.config.erase("hidden_act");
  const ModelConfig config = llama.open().config;
  EXPECT_EQ(config.norm_eps, 1e-6);
  EXPECT_EQ(config.bos_id, 1);
  EXPECT_EQ(config.activation, Activation::silu);

  Changed mistral("mistral");
  mistral.config.erase("sliding_window");
  EXPECT_EQ(mistral.open().config.layers[0].attention.window, 4096);
  mistral.config["sliding_window"] = nullptr;
  EXPECT_EQ(mistral.open().config.layers[0].attention.window, 0);

  Changed gemma("gemma2");
  gemma.config.erase("layer_types");
  EXPECT_EQ(gemma.open().config.layers[0].attention.window, 6);
  EXPECT_EQ(gemma.open().config.layers[1].attention.window, 0);
  gemma.config.erase("attn_logit_softcapping");
  EXPECT_EQ(gemma.open().config.layers[0].attention.softcap, 50);
  gemma.config["attn_logit_softcapping"] = nullptr;
  EXPECT_EQ(gemma.open().config.layers[0].attention.softcap, 0);

  Changed neox("gpt_neox");
  neox.config.erase("rotary_pct");
  EXPECT_EQ(neox.open().config.layers[0].attention.rope.rotary_dims, 2);  // a quarter of 8
}

// What transformers 4.57 does with a null, tried for each key: a size, a number or an activation
// without a value stops it with a TypeError or KeyError; a flag counts as false.
TEST(NullInConfig, IsNoDefaultWhereAValueIsNeeded) {
  const std::vector<std::pair<const char*, std::vector<const char*>>> needed = {
      {"gpt2",
       {"n_embd", "n_layer", "n_head", "vocab_size", "n_positions", "layer_norm_epsilon",
        "activation_function"}},
      {"llama",
       {"hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size",
        "intermediate_size", "rms_norm_eps", "rope_theta", "hidden_act"}},
      {"mistral", {"num_hidden_layers", "hidden_size"}},
      {"qwen2", {"num_hidden_layers", "intermediate_size"}},
      {"qwen3", {"num_hidden_layers", "vocab_size"}},
      {"gemma2", {"num_hidden_layers", "query_pre_attn_scalar"}},
      {"gpt_neox", {"num_hidden_layers", "rotary_pct", "layer_norm_eps"}},
      {"bert",
       {"num_hidden_layers", "type_vocab_size", "layer_norm_eps", "hidden_act",
        "max_position_embeddings"}},
      {"roberta", {"num_hidden_layers", "type_vocab_size"}},
      {"albert", {"num_hidden_layers", "embedding_size", "num_hidden_groups", "inner_group_num"}},
      {"distilbert", {"dim", "n_layers", "n_heads", "hidden_dim", "activation"}},
  };
  for (const auto& [family, keys] : needed) {
    for (const char* key : keys) {
      Changed model(family);
      model.config[key] = nullptr;
      const Error error = model.error();
      EXPECT_EQ(error.code(), "CF07") << error.what();
      const std::string named = "key \"" + std::string(key) + "\"; expected";
      EXPECT_NE(std::string(error.what()).find(named), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("got null"), std::string::npos) << error.what();
    }
  }
}

TEST(NullInConfig, KeepsItsOwnMeaningElsewhere) {
  Changed gpt2("gpt2");
  gpt2.config["n_inner"] = nullptr;
  const ModelConfig config = gpt2.open().config;
  EXPECT_EQ(config.layers[0].d_mlp, 4 * config.d_model);
  gpt2.config["scale_attn_weights"] = nullptr;
  EXPECT_EQ(gpt2.open().config.layers[0].attention.scale, 1);
  EXPECT_EQ(Changed("gpt2").open().config.tied_head, true);
  gpt2.config["tie_word_embeddings"] = nullptr;
  gpt2.tensors.push_back({"lm_head.weight", {config.d_vocab, config.d_model}});
  EXPECT_EQ(gpt2.open().config.tied_head, false);
  Changed llama("llama");
  llama.config["num_key_value_heads"] = nullptr;
  llama.config["head_dim"] = nullptr;
  llama.config["rope_scaling"] = nullptr;
  // As many as query heads, whose tensors the file does not have.
  EXPECT_NE(std::string(llama.error().what()).find("k_proj"), std::string::npos);
}

TEST(Qwen2Windows, StartAtMaxWindowLayersWhenSwitchedOn) {
  Changed model("qwen2");
  model.config.erase("layer_types");
  model.config["sliding_window"] = 5;
  model.config["max_window_layers"] = 1;
  EXPECT_EQ(model.open().config.layers[1].attention.window, 0);  // use_sliding_window is false
  model.config["use_sliding_window"] = true;
  const ModelConfig config = model.open().config;
  EXPECT_EQ(config.layers[0].attention.window, 0);
  EXPECT_EQ(config.layers[1].attention.window, 5);
}

TEST(Gpt2Scale, FollowsItsTwoSwitches) {
  Changed model("gpt2");
  model.config["scale_attn_by_inverse_layer_idx"] = true;
  const ModelConfig by_layer = model.open().config;
  EXPECT_DOUBLE_EQ(by_layer.layers[0].attention.scale, 1 / std::sqrt(7.0));
  EXPECT_DOUBLE_EQ(by_layer.layers[1].attention.scale, 1 / std::sqrt(7.0) / 2);
  model.config["scale_attn_weights"] = false;
  EXPECT_DOUBLE_EQ(model.open().config.layers[1].attention.scale, 0.5);
}

TEST(GptNeoxBlock, CanBeSequentialAndWithoutAttentionBias) {
  Changed model("gpt_neox");
  model.config["use_parallel_residual"] = false;
  EXPECT_FALSE(model.open().config.parallel_block);
  model.config["attention_bias"] = false;
  model.warnings = {};
  model.open();
  // The four biases are there but not wanted.
  ASSERT_EQ(model.warnings.lines().size(), 1U);
  EXPECT_NE(model.warnings.lines()[0].find("4 unexpected"), std::string::npos);
}

TEST(Biases, OfAttentionAndMlpAreReadWhereTheConfigurationSaysSo) {
  Changed model("llama");
  model.config["attention_bias"] = true;
  model.config["mlp_bias"] = true;
  EXPECT_NE(std::string(model.error().what()).find("14 tensors are missing"), std::string::npos)
      << model.error().what();
}

TEST(AlbertGroups, MapEachPassToItsGroup) {
  Changed model("albert");
  model.config["num_hidden_layers"] = 4;
  model.config["num_hidden_groups"] = 2;
  std::vector<FileTensor> more;
  for (const FileTensor& t : model.tensors) {
    const std::size_t at = t.name.find("layer_groups.0.");
    if (at == std::string::npos) continue;
    FileTensor copy = t;
    copy.name.replace(at, 15, "layer_groups.1.");
    more.push_back(copy);
  }
  model.tensors.insert(model.tensors.end(), more.begin(), more.end());
  const Checkpoint checkpoint = model.open();
  EXPECT_EQ(checkpoint.config.n_layers, 4);
  std::string groups;
  for (const TensorBinding& b : checkpoint.map.bindings) {
    if (b.role == Role::q_weight) groups += b.name[b.name.find("groups.") + 7];
  }
  EXPECT_EQ(groups, "0011");
  // Shared weights count once.
  std::int64_t numbers = 0;
  for (const TensorInfo& t : checkpoint.tensors->tensors()) {
    numbers += static_cast<std::int64_t>(t.bytes / 4);
  }
  EXPECT_EQ(parameter_count(checkpoint.map), numbers);
  EXPECT_TRUE(model.warnings.lines().empty());
}

TEST(AlbertInnerLayers, TakeTurns) {
  Changed model("albert");
  model.config["inner_group_num"] = 2;
  std::vector<FileTensor> more;
  for (const FileTensor& t : model.tensors) {
    const std::size_t at = t.name.find("albert_layers.0.");
    if (at == std::string::npos) continue;
    FileTensor copy = t;
    copy.name.replace(at, 16, "albert_layers.1.");
    more.push_back(copy);
  }
  model.tensors.insert(model.tensors.end(), more.begin(), more.end());
  const ModelConfig config = model.open().config;
  EXPECT_EQ(config.n_layers, 6);
  EXPECT_EQ(config.n_distinct_layers, 2);
}

TEST(TokenIds, MayBeListsOrNull) {
  Changed model("llama");
  model.config["eos_token_id"] = {7, 8};
  model.config["bos_token_id"] = nullptr;
  const ModelConfig config = model.open().config;
  EXPECT_EQ(config.eos_id, 7);
  EXPECT_EQ(config.bos_id, -1);
}

TEST(Architectures, TellTheFamilyWhereModelTypeIsAbsent) {
  Changed model("bert");
  model.config.erase("model_type");
  EXPECT_EQ(model.open().config.family, "bert");
}

}  // namespace
}  // namespace attnscope::testing
