#include "custom_map.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "config_keys.h"
#include "layer_names.h"

namespace attnscope {
namespace {

enum class Presence { required, optional };

struct Entry {
  Role role;
  std::string name;
  Layout layout = Layout::canonical;
  Presence presence = Presence::required;
};

bool is_mlp_role(Role role) {
  switch (role) {
    case Role::mlp_in_weight:
    case Role::mlp_in_bias:
    case Role::mlp_gate_weight:
    case Role::mlp_gate_bias:
    case Role::mlp_out_weight:
    case Role::mlp_out_bias:
    case Role::ln2_weight:
    case Role::ln2_bias:
      return true;
    default:
      return false;
  }
}

void add_entry(const ModelConfig& config, const Entry& entry, TensorMap& map) {
  for (const LayerName& place : expand_layers(entry.name, config.n_distinct_layers)) {
    const bool in_layer = place.layer >= 0;
    if (in_layer && is_mlp_role(entry.role) &&
        config.layers[static_cast<std::size_t>(place.layer)].d_mlp == 0) {
      continue;
    }
    map.bindings.push_back({.role = entry.role,
                            .layer = place.layer,
                            .name = place.name,
                            .shape = file_shape(config, entry.role, place.layer, entry.layout),
                            .layout = entry.layout,
                            .optional = entry.presence == Presence::optional});
  }
}

void add_norm(const ModelConfig& config, Role weight, Role bias, const std::string& stem,
              std::vector<Entry>& out) {
  out.push_back({weight, stem + ".w"});
  if (config.norm == NormKind::layer_norm) out.push_back({bias, stem + ".b"});
}

// Names and layouts of TransformerLens's HookedTransformer.
std::vector<Entry> transformer_lens_entries(const ModelConfig& config) {
  constexpr Presence kOptional = Presence::optional;
  const std::string block = "blocks.{l}.";
  const bool norms = config.placement != NormPlacement::none;
  std::vector<Entry> out = {
      {Role::token_embedding, "embed.W_E"},
      {Role::q_weight, block + "attn.W_Q", Layout::head_in_out},
      {Role::k_weight, block + "attn.W_K", Layout::head_in_out},
      {Role::v_weight, block + "attn.W_V", Layout::head_in_out},
      {Role::q_bias, block + "attn.b_Q", Layout::head_d, kOptional},
      {Role::k_bias, block + "attn.b_K", Layout::head_d, kOptional},
      {Role::v_bias, block + "attn.b_V", Layout::head_d, kOptional},
      {Role::o_weight, block + "attn.W_O", Layout::head_d_out},
      {Role::o_bias, block + "attn.b_O", Layout::canonical, kOptional},
  };
  if (config.position == PositionKind::learned) {
    out.push_back({Role::position_embedding, "pos_embed.W_pos"});
  }
  if (norms) add_norm(config, Role::ln1_weight, Role::ln1_bias, block + "ln1", out);
  if (config.mlp != MlpKind::none) {
    if (norms) add_norm(config, Role::ln2_weight, Role::ln2_bias, block + "ln2", out);
    out.push_back({Role::mlp_in_weight, block + "mlp.W_in", Layout::in_out});
    out.push_back({Role::mlp_in_bias, block + "mlp.b_in", Layout::canonical, kOptional});
    out.push_back({Role::mlp_out_weight, block + "mlp.W_out", Layout::in_out});
    out.push_back({Role::mlp_out_bias, block + "mlp.b_out", Layout::canonical, kOptional});
  }
  if (config.mlp == MlpKind::gated) {
    out.push_back({Role::mlp_gate_weight, block + "mlp.W_gate", Layout::in_out});
  }
  if (config.embed_norm) {
    add_norm(config, Role::embed_norm_weight, Role::embed_norm_bias, "embed.ln", out);
  }
  if (config.final_norm) {
    add_norm(config, Role::final_norm_weight, Role::final_norm_bias, "ln_final", out);
  }
  if (config.head != HeadKind::none) {
    if (!config.tied_head) out.push_back({Role::head_weight, "unembed.W_U", Layout::in_out});
    out.push_back({Role::head_bias, "unembed.b_U", Layout::canonical, kOptional});
  }
  return out;
}

// Names and layouts of the models of Nanda et al. 2023 ("Progress measures for grokking"); `block`
// is "blocks.{l}." or, for attention-only models, "attn_blocks.{l}.".
std::vector<Entry> grokking_entries(const ModelConfig& config, const std::string& block) {
  std::vector<Entry> out = {
      {Role::token_embedding, "embed.W_E", Layout::transposed_table},
      {Role::q_weight, block + "attn.W_Q", Layout::head_out_in},
      {Role::k_weight, block + "attn.W_K", Layout::head_out_in},
      {Role::v_weight, block + "attn.W_V", Layout::head_out_in},
      {Role::o_weight, block + "attn.W_O"},
      {Role::head_weight, "unembed.W_U", Layout::in_out},
  };
  if (config.position == PositionKind::learned) {
    out.push_back({Role::position_embedding, "pos_embed.W_pos"});
  }
  if (config.mlp != MlpKind::none) {
    out.push_back({Role::mlp_in_weight, block + "mlp.W_in"});
    out.push_back({Role::mlp_in_bias, block + "mlp.b_in"});
    out.push_back({Role::mlp_out_weight, block + "mlp.W_out"});
    out.push_back({Role::mlp_out_bias, block + "mlp.b_out"});
  }
  return out;
}

std::vector<Entry> preset_entries(const ModelConfig& config, const JsonObject& json,
                                  const std::string& name) {
  if (name == "transformer_lens") return transformer_lens_entries(config);
  const bool attention_only = name == "grokking_attention_only";
  if (name != "grokking" && !attention_only) {
    not_supported(json, "map", "the preset " + quote(name, 60),
                  {"transformer_lens", "grokking", "grokking_attention_only", "an object"});
  }
  if (config.placement != NormPlacement::none) {
    json.fail("map", "preset " + quote(name) + " has no norms", "norm none", "");
  }
  return grokking_entries(config, attention_only ? "attn_blocks.{l}." : "blocks.{l}.");
}

Entry read_entry(const JsonObject& map, const std::string& key) {
  const auto role = role_from_name(key);
  if (!role) map.fail(key, "is not a role", "a role such as token_embedding or q_weight", "");
  const nlohmann::json& value = map.require(key);
  if (value.is_string()) return {*role, value.get<std::string>()};
  const JsonObject object = map.object(key);
  object.forbid_unknown_keys({"name", "layout", "optional"});
  Entry entry{*role, object.string("name")};
  const std::string layout = object.string_or("layout", "canonical");
  const auto known = layout_from_name(layout);
  if (!known) not_supported(object, "layout", quote(layout, 60), layout_names());
  entry.layout = *known;
  if (object.boolean_or("optional", false)) entry.presence = Presence::optional;
  return entry;
}

// What the architecture cannot do without; q, k and v may also be fused.
std::vector<Role> required_roles(const ModelConfig& config, bool fused) {
  std::vector<Role> roles = {Role::token_embedding, Role::o_weight};
  if (fused) {
    roles.push_back(Role::qkv_weight);
  } else {
    roles.insert(roles.end(), {Role::q_weight, Role::k_weight, Role::v_weight});
  }
  if (config.position == PositionKind::learned) roles.push_back(Role::position_embedding);
  if (config.placement != NormPlacement::none) roles.push_back(Role::ln1_weight);
  if (config.mlp != MlpKind::none) {
    roles.insert(roles.end(), {Role::mlp_in_weight, Role::mlp_out_weight});
    if (config.placement != NormPlacement::none) roles.push_back(Role::ln2_weight);
  }
  if (config.mlp == MlpKind::gated) roles.push_back(Role::mlp_gate_weight);
  if (config.embed_norm) roles.push_back(Role::embed_norm_weight);
  if (config.final_norm) roles.push_back(Role::final_norm_weight);
  if (config.head != HeadKind::none && !config.tied_head) roles.push_back(Role::head_weight);
  return roles;
}

std::vector<Entry> object_entries(const ModelConfig& config, const JsonObject& json) {
  const JsonObject map = json.object("map");
  std::vector<Entry> entries;
  std::set<Role> there;
  for (const auto& [key, value] : map.value().items()) {
    entries.push_back(read_entry(map, key));
    there.insert(entries.back().role);
  }
  for (const Role role : required_roles(config, there.contains(Role::qkv_weight))) {
    if (!there.contains(role)) {
      json.fail("map", "lacks a role that this architecture needs", role_name(role), "");
    }
  }
  return entries;
}

}  // namespace

bool has_mlp(const ModelConfig& config) {
  return std::any_of(config.layers.begin(), config.layers.end(),
                     [](const LayerConfig& layer) { return layer.d_mlp > 0; });
}

TensorMap custom_map(const ModelConfig& config, const JsonObject& json) {
  const nlohmann::json& value = json.require("map");
  const std::vector<Entry> entries = value.is_string()
                                         ? preset_entries(config, json, value.get<std::string>())
                                         : object_entries(config, json);
  TensorMap map;
  for (const Entry& entry : entries) add_entry(config, entry, map);
  for (const char* buffer : {"*.mask", "*.IGNORE", "*.rotary_sin", "*.rotary_cos"}) {
    map.unused.push_back({buffer, "buffer"});
  }
  for (const std::string& glob : json.strings_or_empty("unused")) {
    map.unused.push_back({glob, "named as unused"});
  }
  return map;
}

}  // namespace attnscope
