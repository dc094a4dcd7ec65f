// One transformer layer, in the four arrangements that published models use.
#include "layers.h"

namespace attnscope {
namespace {

bool has_norms(const Run& run) {
  return run.config.norm != NormKind::none && run.config.placement != NormPlacement::none;
}

at::Tensor first_norm(Run& run, int layer, const at::Tensor& x) {
  if (!has_norms(run)) return x;
  return normalize(run, run.model.layer(layer).ln1, x,
                   NormSites{Site::ln1_scale, Site::ln1_normalized, layer});
}

at::Tensor second_norm(Run& run, int layer, const at::Tensor& x) {
  if (!has_norms(run)) return x;
  return normalize(run, run.model.layer(layer).ln2, x,
                   NormSites{Site::ln2_scale, Site::ln2_normalized, layer});
}

// What a part adds to the residual: sandwich models normalise it first.
at::Tensor branch(Run& run, const Norm& post_norm, at::Tensor out) {
  if (post_norm.defined()) out = normalize(run, post_norm, out, std::nullopt);
  return run.config.residual_multiplier == 1 ? out : out * run.config.residual_multiplier;
}

// attn_out [b q m] from what attention reads, or from given z.
at::Tensor attention_part(Run& run, int layer, const at::Tensor& x, const BlockEntry& entry) {
  at::Tensor z =
      entry.point == LayerPoint::z ? run.read_rows(entry.z) : attention_heads(run, layer, x);
  z = run.tap(Site::z, layer, z);
  const at::Tensor out =
      branch(run, run.model.layer(layer).ln1_post, attention_output(run, layer, z));
  return run.tap(Site::attn_out, layer, out);
}

at::Tensor mlp_part(Run& run, int layer, const at::Tensor& x) {
  const at::Tensor out = branch(run, run.model.layer(layer).ln2_post, mlp(run, layer, x));
  return run.tap(Site::mlp_out, layer, out);
}

at::Tensor start_of_layer(Run& run, int layer, const BlockEntry& entry) {
  return entry.point == LayerPoint::resid_pre ? run.tap(Site::resid_pre, layer, entry.residual)
                                              : entry.residual;
}

// resid_mid = resid_pre + attention(norm(resid_pre)); resid_post = resid_mid +
// MLP(norm(resid_mid)).
at::Tensor pre_norm_block(Run& run, int layer, const BlockEntry& entry) {
  at::Tensor resid_mid = run.read_rows(entry.residual);
  if (entry.point <= LayerPoint::z) {
    const at::Tensor resid_pre = start_of_layer(run, layer, entry);
    const bool reads_residual = entry.point == LayerPoint::resid_pre;
    const at::Tensor x = reads_residual ? first_norm(run, layer, resid_pre) : resid_pre;
    resid_mid = run.read_rows(resid_pre) + attention_part(run, layer, x, entry);
    if (run.config.mlp == MlpKind::none) return run.tap(Site::resid_post, layer, resid_mid);
  }
  resid_mid = run.tap(Site::resid_mid, layer, resid_mid);
  const at::Tensor mlp_out = mlp_part(run, layer, second_norm(run, layer, resid_mid));
  return run.tap(Site::resid_post, layer, resid_mid + mlp_out);
}

// resid_post = resid_pre + attention(norm1(resid_pre)) + MLP(norm2(resid_pre)).
at::Tensor parallel_block(Run& run, int layer, const BlockEntry& entry) {
  const at::Tensor resid_pre = start_of_layer(run, layer, entry);
  const bool shared_norm = run.config.parallel_single_norm;
  at::Tensor x;
  if (shared_norm || entry.point == LayerPoint::resid_pre) x = first_norm(run, layer, resid_pre);
  const at::Tensor attn_out = attention_part(run, layer, x, entry);
  const at::Tensor read = run.read_rows(resid_pre);
  const at::Tensor mlp_out =
      mlp_part(run, layer, shared_norm ? run.read_rows(x) : second_norm(run, layer, read));
  return run.tap(Site::resid_post, layer, read + attn_out + mlp_out);
}

// h = norm1(resid_pre + attention(resid_pre)); out = norm2(h + MLP(h)).
at::Tensor post_norm_block(Run& run, int layer, const BlockEntry& entry) {
  at::Tensor normalized_mid = run.read_rows(entry.residual);
  if (entry.point < LayerPoint::normalized_resid_mid) {
    at::Tensor resid_mid = normalized_mid;
    if (entry.point <= LayerPoint::z) {
      const at::Tensor resid_pre = start_of_layer(run, layer, entry);
      resid_mid = run.read_rows(resid_pre) + attention_part(run, layer, resid_pre, entry);
    }
    resid_mid = run.tap(Site::resid_mid, layer, resid_mid);
    normalized_mid = first_norm(run, layer, resid_mid);
  }
  normalized_mid = run.tap(Site::normalized_resid_mid, layer, normalized_mid);
  if (run.config.mlp == MlpKind::none) return normalized_mid;
  const at::Tensor mlp_out = mlp_part(run, layer, normalized_mid);
  const at::Tensor resid_post = run.tap(Site::resid_post, layer, normalized_mid + mlp_out);
  return run.tap(Site::normalized_resid_post, layer, second_norm(run, layer, resid_post));
}

// A run that starts with the finished sum of a layer.
at::Tensor end_of_layer(Run& run, int layer, const at::Tensor& residual) {
  const at::Tensor resid_post = run.tap(Site::resid_post, layer, run.read_rows(residual));
  if (run.config.placement != NormPlacement::post || !has_norms(run)) return resid_post;
  return run.tap(Site::normalized_resid_post, layer, second_norm(run, layer, resid_post));
}

}  // namespace

at::Tensor block(Run& run, int layer, const BlockEntry& entry) {
  if (entry.point == LayerPoint::resid_post) return end_of_layer(run, layer, entry.residual);
  if (run.config.placement == NormPlacement::post && has_norms(run)) {
    return post_norm_block(run, layer, entry);
  }
  if (run.config.parallel_block && run.config.mlp != MlpKind::none) {
    return parallel_block(run, layer, entry);
  }
  return pre_norm_block(run, layer, entry);
}

}  // namespace attnscope
