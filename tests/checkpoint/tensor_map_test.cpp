#include "attnscope/checkpoint/tensor_map.h"

#include <gtest/gtest.h>

#include <cstring>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/checkpoint/memory_source.h"
#include "attnscope/support/error.h"

namespace attnscope {
namespace {

using Shape = std::vector<std::int64_t>;

ModelConfig small_model() {
  ModelConfig config;
  config.d_vocab = 11;
  config.d_vocab_out = 11;
  config.d_model = 6;
  config.d_embed = 6;
  config.n_layers = 2;
  config.n_distinct_layers = 2;
  config.n_context = 8;
  config.position_offset = 2;
  AttentionSpec spec;
  spec.n_heads = 4;
  spec.n_kv_heads = 2;
  spec.d_head = 3;
  config.layers.assign(2, {.attention = spec, .d_mlp = 7});
  return config;
}

// Every role from the first to the last of the enum.
std::vector<Role> all_roles() {
  std::vector<Role> roles;
  for (int i = 0; i <= static_cast<int>(Role::head_bias); ++i)
    roles.push_back(static_cast<Role>(i));
  return roles;
}

TEST(RoleNames, AreReadBack) {
  for (const Role role : all_roles()) EXPECT_EQ(role_from_name(role_name(role)), role);
  EXPECT_STREQ(role_name(Role::q_weight), "q_weight");
  EXPECT_EQ(role_from_name("q"), std::nullopt);
}

TEST(LayoutNames, AreReadBack) {
  for (const std::string& name : layout_names()) {
    ASSERT_TRUE(layout_from_name(name).has_value());
    EXPECT_EQ(layout_name(*layout_from_name(name)), name);
  }
  EXPECT_EQ(layout_names().size(), static_cast<std::size_t>(Layout::transposed_table) + 1);
}

TEST(Shapes, FollowTheConfiguration) {
  const ModelConfig config = small_model();
  EXPECT_EQ(canonical_shape(config, Role::q_weight, 0), (Shape{12, 6}));
  EXPECT_EQ(canonical_shape(config, Role::k_weight, 0), (Shape{6, 6}));
  EXPECT_EQ(canonical_shape(config, Role::o_weight, 0), (Shape{6, 12}));
  EXPECT_EQ(canonical_shape(config, Role::position_embedding, -1), (Shape{10, 6}));
  EXPECT_EQ(file_shape(config, Role::qkv_weight, 0, Layout::qkv_concatenated), (Shape{24, 6}));
  EXPECT_EQ(file_shape(config, Role::qkv_weight, 0, Layout::qkv_concatenated_in_out),
            (Shape{6, 24}));
  EXPECT_EQ(file_shape(config, Role::k_weight, 0, Layout::head_in_out), (Shape{2, 6, 3}));
  EXPECT_EQ(file_shape(config, Role::k_weight, 0, Layout::head_out_in), (Shape{2, 3, 6}));
  EXPECT_EQ(file_shape(config, Role::o_weight, 0, Layout::head_d_out), (Shape{4, 3, 6}));
  EXPECT_EQ(file_shape(config, Role::q_bias, 0, Layout::head_d), (Shape{4, 3}));
  EXPECT_EQ(file_shape(config, Role::mlp_in_weight, 0, Layout::in_out), (Shape{6, 7}));
  EXPECT_EQ(file_shape(config, Role::token_embedding, -1, Layout::transposed_table),
            (Shape{6, 11}));
}

TEST(Shapes, RefuseLayoutsThatDoNotFit) {
  const ModelConfig config = small_model();
  const std::vector<std::pair<Role, Layout>> bad = {
      {Role::q_bias, Layout::in_out},
      {Role::q_weight, Layout::head_d},
      {Role::o_weight, Layout::head_in_out},
      {Role::q_weight, Layout::head_d_out},
      {Role::q_weight, Layout::qkv_per_head},
      {Role::qkv_weight, Layout::canonical},
      {Role::qkv_bias, Layout::qkv_concatenated_in_out}};
  for (const auto& [role, layout] : bad) {
    EXPECT_THROW(file_shape(config, role, 0, layout), Error) << role_name(role);
  }
}

TEST(MemoryTensorSource, GivesBackWhatWasAdded) {
  MemoryTensorSource source;
  source.add("a", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  source.add("b", {1}, std::vector<double>{0.5});
  ASSERT_EQ(source.tensors().size(), 2U);
  EXPECT_EQ(source.find("a")->bytes, 24U);
  EXPECT_EQ(source.find("b")->dtype, DType::f64);
  EXPECT_EQ(source.find("c"), nullptr);
  std::vector<float> back(6);
  source.read(*source.find("a"), back.data(), 24);
  EXPECT_EQ(back, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_THROW(source.add("a", {1}, std::vector<float>{1}), Error);
  EXPECT_THROW(source.add("d", {2}, std::vector<float>{1}), Error);
  EXPECT_THROW(source.read(*source.find("a"), back.data(), 8), Error);
}

TEST(BindByName, NamesEachLayer) {
  const ModelConfig config = small_model();
  const TensorMap map =
      bind_by_name(config, {{Role::token_embedding, "embed"}, {Role::q_weight, "h.{l}.q.{l}"}});
  ASSERT_EQ(map.bindings.size(), 3U);
  EXPECT_EQ(map.bindings[0].name, "embed");
  EXPECT_EQ(map.bindings[0].layer, -1);
  EXPECT_EQ(map.bindings[2].name, "h.1.q.1");
  EXPECT_EQ(map.bindings[2].layer, 1);
  EXPECT_EQ(map.bindings[2].shape, (Shape{12, 6}));
  EXPECT_EQ(parameter_count(map), 11 * 6 + 2 * 12 * 6);
}

TEST(SupportedFamilies, ListsThem) {
  EXPECT_EQ(supported_families(),
            "gpt2, gpt_neox, llama, mistral, qwen2, qwen3, gemma2, bert, roberta, distilbert, "
            "albert, custom");
}

}  // namespace
}  // namespace attnscope
