// File: tensor_map.h
// Which tensor of a checkpoint plays which role, and how its axes are laid out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/model_config.h"

namespace attnscope {

// Roles of weights. The canonical shape is what the runtime computes with; a Layout says how the
// file's axes become it.
enum class Role : std::uint8_t {
  token_embedding,        // [v e]
  position_embedding,     // [n_context(+offset) e]
  token_type_embedding,   // [types e]
  embed_norm_weight,      // [e]
  embed_norm_bias,        // [e]
  embed_projection,       // [m e]  factorised embeddings
  embed_projection_bias,  // [m]
  ln1_weight,
  ln1_bias,  // [m]  pre: before attention; post: after the first residual sum
  ln1_post_weight,
  ln1_post_bias,  // [m]  sandwich: after attention
  q_weight,
  k_weight,
  v_weight,  // [h·d m], [g·d m], [g·d m]
  q_bias,
  k_bias,
  v_bias,  // [h·d], [g·d], [g·d]
  qkv_weight,
  qkv_bias,  // fused; see Layout
  q_norm_weight,
  k_norm_weight,  // [d]
  o_weight,       // [m h·d]
  o_bias,         // [m]
  sink,           // [h]
  ln2_weight,
  ln2_bias,  // [m]
  ln2_post_weight,
  ln2_post_bias,  // [m]
  mlp_in_weight,
  mlp_in_bias,  // [f m], [f]   the up branch of a gated MLP
  mlp_gate_weight,
  mlp_gate_bias,  // [f m], [f]
  mlp_out_weight,
  mlp_out_bias,  // [m f], [m]
  final_norm_weight,
  final_norm_bias,  // [m]
  head_dense_weight,
  head_dense_bias,  // masked LM: [e m], [e]; classifier: [m m], [m]
  head_norm_weight,
  head_norm_bias,  // [e]
  head_weight,
  head_bias,  // [v e] or [labels m]; [v] or [labels]
};
const char* role_name(Role role);  // "q_weight"
std::optional<Role> role_from_name(std::string_view name);

// How the axes in the file map to the canonical shape.
enum class Layout : std::uint8_t {
  canonical,                // as listed at the role: an nn.Linear's [out in]
  in_out,                   // [in out]: Conv1D, TransformerLens W_in, W_out, W_U
  qkv_concatenated,         // fused, in the order q, k, v along `out`, as nn.Linear [3·h·d m]
  qkv_concatenated_in_out,  // the same, stored [m 3·h·d]
  qkv_per_head,             // fused, [h, (q k v), d, m]: each head's q, k, v together
  head_out_in,              // [h d m]: grokking models' W_Q, W_K, W_V
  head_in_out,              // [h m d]: TransformerLens W_Q, W_K, W_V
  head_d_out,               // W_O as [h d m]: TransformerLens
  head_d,                   // biases as [h d]: TransformerLens b_Q
  transposed_table,         // an embedding stored [m v]
};

const char* layout_name(Layout layout);  // "head_in_out"
std::optional<Layout> layout_from_name(std::string_view name);
std::vector<std::string> layout_names();

struct TensorBinding {
  Role role{};
  int layer = -1;                   // −1 outside the layers
  std::string name;                 // in the checkpoint
  std::vector<std::int64_t> shape;  // expected in the file
  Layout layout = Layout::canonical;
  bool optional = false;  // the model works without it (a bias that may be absent)
};

// Tensors that are allowed in the checkpoint and not used.
struct KnownUnused {
  std::string glob;    // "*.attn.bias"
  std::string reason;  // "causal mask buffer", for `inspect`
};

// A tensor stored twice under a tie; the loader checks that both hold the same values.
struct TiedTwin {
  std::string name;     // in the file
  std::string same_as;  // name of the tensor it repeats
};

struct TensorMap {
  std::vector<TensorBinding> bindings;
  std::vector<KnownUnused> unused;
  std::vector<TiedTwin> twins;
};

// The shape in which the runtime computes with a role; `layer` is −1 outside the layers.
std::vector<std::int64_t> canonical_shape(const ModelConfig& config, Role role, int layer);
// The shape that the file must hold. Throws (exit 2) for a layout that does not fit the role.
std::vector<std::int64_t> file_shape(const ModelConfig& config, Role role, int layer,
                                     Layout layout);

// Number of weights that the map reads; a tensor that several layers share counts once.
std::int64_t parameter_count(const TensorMap& map);

}  // namespace attnscope
