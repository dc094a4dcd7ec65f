// File: site.h
// The places of a forward pass that can be observed and intervened on.
//
// Inside the program a site is an enum value. Its name is the TransformerLens HookedTransformer
// name; it appears in files, on the command line and in specs only.
//
// Dims: b batch, q query position, k key position, h query head, g key-value head, d head dim,
// m model dim, f MLP dim, v vocabulary, 1 a single value.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

// In the order of the forward pass.
enum class Site : std::uint8_t {
  embed,                  // hook_embed                [b q m]
  pos_embed,              // hook_pos_embed            [b q m]
  resid_pre,              // hook_resid_pre            [b q m]
  ln1_scale,              // ln1.hook_scale            [b q 1]
  ln1_normalized,         // ln1.hook_normalized       [b q m]  before the gain
  q,                      // attn.hook_q               [b q h d]  before qk-norm and rotation
  k,                      // attn.hook_k               [b k g d]
  v,                      // attn.hook_v               [b k g d]
  rot_q,                  // attn.hook_rot_q           [b q h d]
  rot_k,                  // attn.hook_rot_k           [b k g d]
  attn_scores,            // attn.hook_attn_scores     [b h q k]  scale, soft-cap, bias, mask −inf
  pattern,                // attn.hook_pattern         [b h q k]
  z,                      // attn.hook_z               [b q h d]
  result,                 // attn.hook_result          [b q h m]  z·W_O per head, without b_O
  attn_out,               // hook_attn_out             [b q m]
  resid_mid,              // hook_resid_mid            [b q m]
  normalized_resid_mid,   // hook_normalized_resid_mid [b q m]  post-norm models
  ln2_scale,              // ln2.hook_scale            [b q 1]
  ln2_normalized,         // ln2.hook_normalized       [b q m]
  mlp_pre,                // mlp.hook_pre              [b q f]
  mlp_pre_linear,         // mlp.hook_pre_linear       [b q f]  gated MLPs
  mlp_post,               // mlp.hook_post             [b q f]
  mlp_out,                // hook_mlp_out              [b q m]
  resid_post,             // hook_resid_post           [b q m]
  normalized_resid_post,  // hook_normalized_resid_post [b q m]  post-norm models
  ln_final_scale,         // ln_final.hook_scale       [b q 1]
  ln_final_normalized,    // ln_final.hook_normalized  [b q m]
  logits,                 // unembed.hook_out          [b q v]
};
inline constexpr int kSiteCount = static_cast<int>(Site::logits) + 1;

// Which stack of layers a site belongs to. Decoder-only and encoder-only models have `self`.
enum class Stack : std::uint8_t { self, encoder, decoder, cross };

// One site of one layer; layer is −1 for the sites outside the layers.
struct HookId {
  Site site{};
  int layer = -1;
  Stack stack = Stack::self;
  auto operator<=>(const HookId&) const = default;
};

struct SiteInfo {
  Site site{};
  const char* name;        // after "blocks.{l}." for the sites of a layer
  const char* dims;        // "b q h d"
  bool in_layer;           // false: embed, pos_embed, ln_final, logits
  bool patchable;          // interventions may change it
  const char* short_name;  // "z", "resid_pre", "pattern"; accepted on the command line
};

const SiteInfo& site_info(Site site);
std::span<const SiteInfo> all_sites();

// "blocks.5.attn.hook_pattern", "hook_embed", "decoder.2.cross_attn.hook_z".
std::string hook_name(HookId hook);
// The exact inverse of hook_name, with the TransformerBridge names and short forms accepted
// ("5.pattern", "blocks.5.attn.hook_attn_pattern", "blocks.3.hook_in"). Nothing if unknown.
std::optional<HookId> parse_hook(std::string_view name);

// What exists in one model: decides what names and globs can match.
struct SiteInventory {
  int n_layers = 0;
  std::vector<HookId> hooks;  // in the order of the forward pass
  bool contains(HookId hook) const;
};

// Resolves a comma-separated list of names, short names and globs
// ("pattern,z,blocks.*.hook_mlp_out", "5.pattern", "resid_post", which selects both forms in
// post-norm models) against what the model has, in forward order, without duplicates. A part that
// matches nothing is an error that lists the nearest names; `option` is named in the message
// ("--hooks").
std::vector<HookId> select_hooks(std::string_view list, const SiteInventory& inventory,
                                 std::string_view option);

}  // namespace attnscope
