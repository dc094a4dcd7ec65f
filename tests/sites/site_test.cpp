#include "attnscope/sites/site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

SiteInventory inventory_of(const std::vector<Site>& sites, int layers) {
  SiteInventory inventory{.n_layers = layers};
  inventory.hooks.push_back({Site::embed});
  for (int l = 0; l < layers; ++l) {
    for (const Site site : sites) inventory.hooks.push_back({site, l});
  }
  inventory.hooks.push_back({Site::logits});
  return inventory;
}

SiteInventory pre_norm() {
  return inventory_of(
      {Site::resid_pre, Site::ln1_scale, Site::ln1_normalized, Site::q, Site::k, Site::v,
       Site::attn_scores, Site::pattern, Site::z, Site::attn_out, Site::resid_mid, Site::mlp_pre,
       Site::mlp_post, Site::mlp_out, Site::resid_post},
      12);
}

SiteInventory post_norm() {
  return inventory_of(
      {Site::pattern, Site::z, Site::attn_out, Site::resid_mid, Site::normalized_resid_mid,
       Site::mlp_out, Site::resid_post, Site::normalized_resid_post},
      3);
}

std::vector<std::string> names(const std::vector<HookId>& hooks) {
  std::vector<std::string> out;
  for (const HookId hook : hooks) out.push_back(hook_name(hook));
  return out;
}

std::vector<std::string> select(const std::string& list, const SiteInventory& inventory) {
  return names(select_hooks(list, inventory, "--hooks"));
}

std::string error_text(const std::string& list, const SiteInventory& inventory) {
  try {
    select_hooks(list, inventory, "--hooks");
  } catch (const Error& e) {
    EXPECT_EQ(e.exit_code(), 2);
    return e.what();
  }
  return "no error";
}

// Names and dims as the table of the file format gives them.
TEST(HookName, IsTheHookedTransformerName) {
  const std::vector<std::tuple<Site, const char*, const char*>> table = {
      {Site::embed, "hook_embed", "b q m"},
      {Site::pos_embed, "hook_pos_embed", "b q m"},
      {Site::resid_pre, "blocks.7.hook_resid_pre", "b q m"},
      {Site::resid_mid, "blocks.7.hook_resid_mid", "b q m"},
      {Site::resid_post, "blocks.7.hook_resid_post", "b q m"},
      {Site::attn_out, "blocks.7.hook_attn_out", "b q m"},
      {Site::mlp_out, "blocks.7.hook_mlp_out", "b q m"},
      {Site::normalized_resid_mid, "blocks.7.hook_normalized_resid_mid", "b q m"},
      {Site::normalized_resid_post, "blocks.7.hook_normalized_resid_post", "b q m"},
      {Site::ln1_normalized, "blocks.7.ln1.hook_normalized", "b q m"},
      {Site::ln2_normalized, "blocks.7.ln2.hook_normalized", "b q m"},
      {Site::ln1_scale, "blocks.7.ln1.hook_scale", "b q 1"},
      {Site::ln2_scale, "blocks.7.ln2.hook_scale", "b q 1"},
      {Site::ln_final_scale, "ln_final.hook_scale", "b q 1"},
      {Site::ln_final_normalized, "ln_final.hook_normalized", "b q m"},
      {Site::q, "blocks.7.attn.hook_q", "b q h d"},
      {Site::k, "blocks.7.attn.hook_k", "b k g d"},
      {Site::v, "blocks.7.attn.hook_v", "b k g d"},
      {Site::rot_q, "blocks.7.attn.hook_rot_q", "b q h d"},
      {Site::rot_k, "blocks.7.attn.hook_rot_k", "b k g d"},
      {Site::attn_scores, "blocks.7.attn.hook_attn_scores", "b h q k"},
      {Site::pattern, "blocks.7.attn.hook_pattern", "b h q k"},
      {Site::z, "blocks.7.attn.hook_z", "b q h d"},
      {Site::result, "blocks.7.attn.hook_result", "b q h m"},
      {Site::mlp_pre, "blocks.7.mlp.hook_pre", "b q f"},
      {Site::mlp_pre_linear, "blocks.7.mlp.hook_pre_linear", "b q f"},
      {Site::mlp_post, "blocks.7.mlp.hook_post", "b q f"},
      {Site::logits, "unembed.hook_out", "b q v"},
  };
  EXPECT_EQ(table.size(), static_cast<std::size_t>(kSiteCount));
  for (const auto& [site, name, dims] : table) {
    const int layer = site_info(site).in_layer ? 7 : -1;
    EXPECT_EQ(hook_name({site, layer}), name);
    EXPECT_STREQ(site_info(site).dims, dims) << name;
    const bool scale = std::string(name).ends_with("hook_scale");
    EXPECT_EQ(site_info(site).patchable, !scale) << name;
  }
}

TEST(HookName, OfEncoderDecoderModelsHasAPrefixAndCrossForms) {
  EXPECT_EQ(hook_name({Site::pattern, 2, Stack::encoder}), "encoder.2.attn.hook_pattern");
  EXPECT_EQ(hook_name({Site::pattern, 2, Stack::decoder}), "decoder.2.attn.hook_pattern");
  EXPECT_EQ(hook_name({Site::pattern, 2, Stack::cross}), "decoder.2.cross_attn.hook_pattern");
  EXPECT_EQ(hook_name({Site::attn_out, 2, Stack::cross}), "decoder.2.hook_cross_attn_out");
  EXPECT_EQ(hook_name({Site::resid_mid, 2, Stack::cross}), "decoder.2.hook_resid_mid_cross");
  EXPECT_EQ(hook_name({Site::ln1_scale, 2, Stack::cross}), "decoder.2.ln2.hook_scale");
  EXPECT_EQ(hook_name({Site::ln2_scale, 2, Stack::decoder}), "decoder.2.ln3.hook_scale");
}

TEST(ParseHook, InvertsEveryName) {
  for (const SiteInfo& info : all_sites()) {
    for (const Stack stack : {Stack::self, Stack::encoder, Stack::decoder}) {
      if (info.site == Site::logits && stack != Stack::self) continue;
      const HookId hook{info.site, info.in_layer ? 11 : -1, stack};
      EXPECT_EQ(parse_hook(hook_name(hook)), hook) << hook_name(hook);
    }
  }
  for (const Site site : {Site::q, Site::k, Site::v, Site::attn_scores, Site::pattern, Site::z,
                          Site::result, Site::attn_out, Site::resid_mid, Site::ln1_normalized}) {
    const HookId hook{site, 0, Stack::cross};
    EXPECT_EQ(parse_hook(hook_name(hook)), hook) << hook_name(hook);
  }
}

TEST(ParseHook, AcceptsOtherToolsNamesAndShortForms) {
  const std::vector<std::pair<const char*, HookId>> table = {
      {"5.pattern", {Site::pattern, 5}},
      {"5.z", {Site::z, 5}},
      {"5.resid_post", {Site::resid_post, 5}},
      {"blocks.5.attn.hook_attn_pattern", {Site::pattern, 5}},
      {"blocks.3.hook_in", {Site::resid_pre, 3}},
      {"blocks.3.hook_out", {Site::resid_post, 3}},
      {"blocks.3.attn.hook_out", {Site::attn_out, 3}},
      {"blocks.3.attn.q.hook_out", {Site::q, 3}},
      {"blocks.3.attn.o.hook_in", {Site::z, 3}},
      {"blocks.3.ln2.hook_in", {Site::resid_mid, 3}},
      {"blocks.3.mlp.hook_out", {Site::mlp_out, 3}},
      {"embed.hook_out", {Site::embed}},
      {"pos_embed.hook_out", {Site::pos_embed}},
      {"logits", {Site::logits}},
      {"5.attn_logits", {Site::attn_scores, 5}},
      {"5.scores", {Site::attn_scores, 5}},
      {"5.query", {Site::q, 5}},
      {"5.pre", {Site::mlp_pre, 5}},
      {"decoder_blocks.1.self_attn.hook_pattern", {Site::pattern, 1, Stack::decoder}},
      {"decoder_blocks.1.cross_attn.hook_pattern", {Site::pattern, 1, Stack::cross}},
      {"encoder_blocks.1.attn.hook_pattern", {Site::pattern, 1, Stack::encoder}},
      {"decoder_blocks.1.hook_resid_mid2", {Site::resid_mid, 1, Stack::cross}},
      {"cross:1.pattern", {Site::pattern, 1, Stack::cross}},
      {"enc:1.z", {Site::z, 1, Stack::encoder}},
      {"decoder_final_ln.hook_scale", {Site::ln_final_scale, -1, Stack::decoder}},
  };
  for (const auto& [name, hook] : table) EXPECT_EQ(parse_hook(name), hook) << name;
}

TEST(ParseHook, KnowsNothingElse) {
  for (const char* name : {"", "pattern", "blocks.x.hook_z", "blocks.5", "blocks.5.attn.hook_",
                           "5.patterns", "blocks.-1.attn.hook_z", "blocks.99999999.attn.hook_z",
                           "blocks.5.mlp.in.hook_out", "hook_embed.0", "5"}) {
    EXPECT_EQ(parse_hook(name), std::nullopt) << name;
  }
}

TEST(SelectHooks, TakesShortNamesOfEveryLayerInForwardOrder) {
  EXPECT_EQ(select("z,pattern", inventory_of({Site::pattern, Site::z}, 2)),
            (std::vector<std::string>{"blocks.0.attn.hook_pattern", "blocks.0.attn.hook_z",
                                      "blocks.1.attn.hook_pattern", "blocks.1.attn.hook_z"}));
}

TEST(SelectHooks, TakesOneLayerNamesGlobsAndTheWholeModel) {
  const SiteInventory model = pre_norm();
  EXPECT_EQ(select("5.pattern", model), (std::vector<std::string>{"blocks.5.attn.hook_pattern"}));
  EXPECT_EQ(select("blocks.1.hook_resid_*", model),
            (std::vector<std::string>{"blocks.1.hook_resid_pre", "blocks.1.hook_resid_mid",
                                      "blocks.1.hook_resid_post"}));
  EXPECT_EQ(select("attn.hook_z", model).size(), 12U);
  EXPECT_EQ(select("ln*.hook_scale", model).size(), 12U);
  EXPECT_EQ(select("*", model).size(), model.hooks.size());
  EXPECT_EQ(select("all", model).size(), model.hooks.size());
  EXPECT_EQ(select("1?.z", model),
            (std::vector<std::string>{"blocks.10.attn.hook_z", "blocks.11.attn.hook_z"}));
  EXPECT_EQ(select("z, 3.z ,z", model).size(), 12U);
}

TEST(SelectHooks, GlobsReachOwnNamesOnlyWhereTheyMatchAny) {
  const SiteInventory model = pre_norm();
  const std::vector<std::string> in_attention = select("blocks.0.attn.hook_*", model);
  // "attn.hook_out" is another tool's name of hook_attn_out.
  EXPECT_EQ(std::count(in_attention.begin(), in_attention.end(), "blocks.0.hook_attn_out"), 0);
  EXPECT_EQ(in_attention.size(), 6U);
  EXPECT_EQ(select("blocks.?.hook_in", model).size(), 10U);
}

TEST(SelectHooks, ResidPostAsksForBothFormsInPostNormModels) {
  const SiteInventory model = post_norm();
  EXPECT_EQ(select("2.resid_post", model),
            (std::vector<std::string>{"blocks.2.hook_resid_post",
                                      "blocks.2.hook_normalized_resid_post"}));
  EXPECT_EQ(select("resid_post", model).size(), 6U);
  EXPECT_EQ(select("blocks.2.hook_resid_post", model),
            (std::vector<std::string>{"blocks.2.hook_resid_post"}));
  EXPECT_EQ(select("resid_post", pre_norm()).size(), 12U);
}

TEST(SelectHooks, NamesTheNearestWhenNothingMatches) {
  const std::string typo = error_text("patern", pre_norm());
  EXPECT_NE(typo.find("[SE10]"), std::string::npos) << typo;
  EXPECT_NE(typo.find("--hooks"), std::string::npos);
  EXPECT_NE(typo.find("nearest: pattern"), std::string::npos) << typo;
  const std::string layer = error_text("12.pattern", pre_norm());
  EXPECT_NE(layer.find("layers are 0 to 11"), std::string::npos) << layer;
  const std::string absent = error_text("z,mlp_pre_linear", pre_norm());
  EXPECT_NE(absent.find("\"mlp_pre_linear\" matches no site of this model"), std::string::npos);
  EXPECT_NE(error_text("nothing*here", pre_norm()).find("[SE10]"), std::string::npos);
  EXPECT_NE(error_text("", pre_norm()).find("[SE11]"), std::string::npos);
  EXPECT_NE(error_text("z,,q", pre_norm()).find("[SE11]"), std::string::npos);
}

TEST(SelectHooks, EscapesWhatItQuotes) {
  const std::string text = error_text("\x1b[31mred\n", pre_norm());
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace attnscope
