#include "attnscope/checkpoint/tensor_map.h"

#include <algorithm>
#include <array>
#include <set>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

using Shape = std::vector<std::int64_t>;

struct RoleEntry {
  Role role;
  const char* name;
};
constexpr RoleEntry kRoles[] = {
    {Role::token_embedding, "token_embedding"},
    {Role::position_embedding, "position_embedding"},
    {Role::token_type_embedding, "token_type_embedding"},
    {Role::embed_norm_weight, "embed_norm_weight"},
    {Role::embed_norm_bias, "embed_norm_bias"},
    {Role::embed_projection, "embed_projection"},
    {Role::embed_projection_bias, "embed_projection_bias"},
    {Role::ln1_weight, "ln1_weight"},
    {Role::ln1_bias, "ln1_bias"},
    {Role::ln1_post_weight, "ln1_post_weight"},
    {Role::ln1_post_bias, "ln1_post_bias"},
    {Role::q_weight, "q_weight"},
    {Role::k_weight, "k_weight"},
    {Role::v_weight, "v_weight"},
    {Role::q_bias, "q_bias"},
    {Role::k_bias, "k_bias"},
    {Role::v_bias, "v_bias"},
    {Role::qkv_weight, "qkv_weight"},
    {Role::qkv_bias, "qkv_bias"},
    {Role::q_norm_weight, "q_norm_weight"},
    {Role::k_norm_weight, "k_norm_weight"},
    {Role::o_weight, "o_weight"},
    {Role::o_bias, "o_bias"},
    {Role::sink, "sink"},
    {Role::ln2_weight, "ln2_weight"},
    {Role::ln2_bias, "ln2_bias"},
    {Role::ln2_post_weight, "ln2_post_weight"},
    {Role::ln2_post_bias, "ln2_post_bias"},
    {Role::mlp_in_weight, "mlp_in_weight"},
    {Role::mlp_in_bias, "mlp_in_bias"},
    {Role::mlp_gate_weight, "mlp_gate_weight"},
    {Role::mlp_gate_bias, "mlp_gate_bias"},
    {Role::mlp_out_weight, "mlp_out_weight"},
    {Role::mlp_out_bias, "mlp_out_bias"},
    {Role::final_norm_weight, "final_norm_weight"},
    {Role::final_norm_bias, "final_norm_bias"},
    {Role::head_dense_weight, "head_dense_weight"},
    {Role::head_dense_bias, "head_dense_bias"},
    {Role::head_norm_weight, "head_norm_weight"},
    {Role::head_norm_bias, "head_norm_bias"},
    {Role::head_weight, "head_weight"},
    {Role::head_bias, "head_bias"},
};

struct LayoutEntry {
  Layout layout;
  const char* name;
};
constexpr LayoutEntry kLayouts[] = {
    {Layout::canonical, "canonical"},
    {Layout::in_out, "in_out"},
    {Layout::qkv_concatenated, "qkv_concatenated"},
    {Layout::qkv_concatenated_in_out, "qkv_concatenated_in_out"},
    {Layout::qkv_per_head, "qkv_per_head"},
    {Layout::head_out_in, "head_out_in"},
    {Layout::head_in_out, "head_in_out"},
    {Layout::head_d_out, "head_d_out"},
    {Layout::head_d, "head_d"},
    {Layout::transposed_table, "transposed_table"},
};

// Sizes of one layer's attention and MLP; of the first layer for the roles outside the layers.
struct Sizes {
  std::int64_t m, e, v, labels, f, d, h, g;
};

Sizes sizes_of(const ModelConfig& config, int layer) {
  const LayerConfig& l = config.layers.at(static_cast<std::size_t>(std::max(layer, 0)));
  return {.m = config.d_model,
          .e = config.d_embed,
          .v = config.d_vocab,
          .labels = config.d_vocab_out,
          .f = l.d_mlp,
          .d = l.attention.d_head,
          .h = l.attention.n_heads,
          .g = l.attention.n_kv_heads};
}

[[noreturn]] void bad_layout(Role role, Layout layout) {
  throw Error(ErrorKind::input, "TM10",
              {.where = role_name(role),
               .what = std::string("layout ") + layout_name(layout) + " does not fit this role"});
}

// Heads of the projection that a role belongs to; 0 for roles without heads.
std::int64_t heads_of(Role role, const Sizes& s) {
  switch (role) {
    case Role::q_weight:
    case Role::q_bias:
    case Role::o_weight:
      return s.h;
    case Role::k_weight:
    case Role::k_bias:
    case Role::v_weight:
    case Role::v_bias:
      return s.g;
    default:
      return 0;
  }
}

bool is_qkv_weight(Role role) {
  return role == Role::q_weight || role == Role::k_weight || role == Role::v_weight;
}
bool is_qkv_bias(Role role) {
  return role == Role::q_bias || role == Role::k_bias || role == Role::v_bias;
}
bool is_fused(Role role) {
  return role == Role::qkv_weight || role == Role::qkv_bias;
}

}  // namespace

const char* role_name(Role role) {
  for (const RoleEntry& entry : kRoles) {
    if (entry.role == role) return entry.name;
  }
  return "unknown";
}

std::optional<Role> role_from_name(std::string_view name) {
  for (const RoleEntry& entry : kRoles) {
    if (name == entry.name) return entry.role;
  }
  return std::nullopt;
}

const char* layout_name(Layout layout) {
  for (const LayoutEntry& entry : kLayouts) {
    if (entry.layout == layout) return entry.name;
  }
  return "unknown";
}

std::optional<Layout> layout_from_name(std::string_view name) {
  for (const LayoutEntry& entry : kLayouts) {
    if (name == entry.name) return entry.layout;
  }
  return std::nullopt;
}

std::vector<std::string> layout_names() {
  std::vector<std::string> names;
  for (const LayoutEntry& entry : kLayouts) names.emplace_back(entry.name);
  return names;
}

std::vector<std::int64_t> canonical_shape(const ModelConfig& config, Role role, int layer) {
  const Sizes s = sizes_of(config, layer);
  const bool masked_lm = config.head == HeadKind::masked_lm;
  switch (role) {
    case Role::token_embedding:
      return {s.v, s.e};
    case Role::position_embedding:
      return {std::int64_t{config.n_context} + config.position_offset, s.e};
    case Role::token_type_embedding:
      return {config.token_types, s.e};
    case Role::embed_norm_weight:
    case Role::embed_norm_bias:
      return {s.e};
    case Role::embed_projection:
      return {s.m, s.e};
    case Role::q_weight:
      return {s.h * s.d, s.m};
    case Role::k_weight:
    case Role::v_weight:
      return {s.g * s.d, s.m};
    case Role::q_bias:
      return {s.h * s.d};
    case Role::k_bias:
    case Role::v_bias:
      return {s.g * s.d};
    case Role::qkv_weight:
      return {(s.h + 2 * s.g) * s.d, s.m};
    case Role::qkv_bias:
      return {(s.h + 2 * s.g) * s.d};
    case Role::q_norm_weight:
    case Role::k_norm_weight:
      return {s.d};
    case Role::o_weight:
      return {s.m, s.h * s.d};
    case Role::sink:
      return {s.h};
    case Role::mlp_in_weight:
    case Role::mlp_gate_weight:
      return {s.f, s.m};
    case Role::mlp_in_bias:
    case Role::mlp_gate_bias:
      return {s.f};
    case Role::mlp_out_weight:
      return {s.m, s.f};
    case Role::head_dense_weight:
      return {masked_lm ? s.e : s.m, s.m};
    case Role::head_dense_bias:
      return {masked_lm ? s.e : s.m};
    case Role::head_norm_weight:
    case Role::head_norm_bias:
      return {s.e};
    case Role::head_weight:
      return {s.labels, masked_lm ? s.e : s.m};
    case Role::head_bias:
      return {s.labels};
    case Role::embed_projection_bias:
    case Role::ln1_weight:
    case Role::ln1_bias:
    case Role::ln1_post_weight:
    case Role::ln1_post_bias:
    case Role::o_bias:
    case Role::ln2_weight:
    case Role::ln2_bias:
    case Role::ln2_post_weight:
    case Role::ln2_post_bias:
    case Role::mlp_out_bias:
    case Role::final_norm_weight:
    case Role::final_norm_bias:
      return {s.m};
  }
  return {};
}

std::vector<std::int64_t> file_shape(const ModelConfig& config, Role role, int layer,
                                     Layout layout) {
  const Sizes s = sizes_of(config, layer);
  Shape shape = canonical_shape(config, role, layer);
  const std::int64_t heads = heads_of(role, s);
  switch (layout) {
    case Layout::canonical:
      if (is_fused(role)) bad_layout(role, layout);
      return shape;
    case Layout::in_out:
    case Layout::transposed_table:
      if (shape.size() != 2 || is_fused(role)) bad_layout(role, layout);
      std::reverse(shape.begin(), shape.end());
      return shape;
    case Layout::qkv_concatenated:
    case Layout::qkv_per_head:
      if (!is_fused(role)) bad_layout(role, layout);
      return shape;
    case Layout::qkv_concatenated_in_out:
      if (role != Role::qkv_weight) bad_layout(role, layout);
      std::reverse(shape.begin(), shape.end());
      return shape;
    case Layout::head_out_in:
      if (!is_qkv_weight(role)) bad_layout(role, layout);
      return {heads, s.d, s.m};
    case Layout::head_in_out:
      if (!is_qkv_weight(role)) bad_layout(role, layout);
      return {heads, s.m, s.d};
    case Layout::head_d_out:
      if (role != Role::o_weight) bad_layout(role, layout);
      return {heads, s.d, s.m};
    case Layout::head_d:
      if (!is_qkv_bias(role)) bad_layout(role, layout);
      return {heads, s.d};
  }
  return shape;
}

std::int64_t parameter_count(const TensorMap& map) {
  std::set<std::string> counted;
  std::int64_t total = 0;
  for (const TensorBinding& binding : map.bindings) {
    if (!counted.insert(binding.name).second) continue;
    std::int64_t n = 1;
    for (const std::int64_t size : binding.shape) n *= size;
    total += n;
  }
  return total;
}

}  // namespace attnscope
