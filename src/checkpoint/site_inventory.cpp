#include "attnscope/checkpoint/site_inventory.h"

#include <vector>

namespace attnscope {
namespace {

// Sites of one layer, in the order in which the block reaches them.
std::vector<Site> layer_sites(const ModelConfig& config, const LayerConfig& layer) {
  const bool norms = config.norm != NormKind::none && config.placement != NormPlacement::none;
  const bool post = norms && config.placement == NormPlacement::post;
  const bool mlp = config.mlp != MlpKind::none;
  std::vector<Site> sites = {Site::resid_pre};
  const auto add = [&sites](std::initializer_list<Site> more) { sites.insert(sites.end(), more); };
  if (norms && !post) add({Site::ln1_scale, Site::ln1_normalized});
  add({Site::q, Site::k, Site::v});
  if (layer.attention.rotary) add({Site::rot_q, Site::rot_k});
  add({Site::attn_scores, Site::pattern, Site::z, Site::result, Site::attn_out});
  if (post || (mlp && !config.parallel_block)) add({Site::resid_mid});
  if (post) add({Site::ln1_scale, Site::ln1_normalized, Site::normalized_resid_mid});
  if (mlp) {
    const bool own_norm = !(config.parallel_block && config.parallel_single_norm);
    if (norms && !post && own_norm) add({Site::ln2_scale, Site::ln2_normalized});
    add({Site::mlp_pre});
    if (config.mlp == MlpKind::gated) add({Site::mlp_pre_linear});
    add({Site::mlp_post, Site::mlp_out});
  }
  if (mlp || !post) add({Site::resid_post});
  if (mlp && post) add({Site::ln2_scale, Site::ln2_normalized, Site::normalized_resid_post});
  return sites;
}

}  // namespace

SiteInventory site_inventory(const ModelConfig& config) {
  SiteInventory inventory;
  inventory.n_layers = config.n_layers;
  std::vector<HookId>& hooks = inventory.hooks;
  hooks.push_back({Site::embed});
  if (config.position == PositionKind::learned) hooks.push_back({Site::pos_embed});
  for (int layer = 0; layer < config.n_layers; ++layer) {
    for (const Site site : layer_sites(config, config.layers[static_cast<std::size_t>(layer)])) {
      hooks.push_back({site, layer});
    }
  }
  if (config.final_norm && config.norm != NormKind::none) {
    hooks.push_back({Site::ln_final_scale});
    hooks.push_back({Site::ln_final_normalized});
  }
  if (config.head != HeadKind::none) hooks.push_back({Site::logits});
  return inventory;
}

}  // namespace attnscope
