// File: attribution.h
// What each part of a model adds to the logits at a position, with the norms held at what they are
// in the clean run: direct logit attribution (methods: Elhage et al. 2021; nostalgebraist 2020),
// and the direct effect of a change, which is the same sum for a difference (Wang et al. 2022).
//
// A norm whose scale is held is linear, so the way from the residual stream to a logit is one
// vector a position, `direction`: centre(gain · W_U[c]) / scale, times the multiplier of the
// logits.
//
// Axes: r reads (places where the residual stream is read), n changes of a read, c logits asked,
// h heads, d head dim, f neurons, m model dim, k source tokens, p positions, L layers.
//
// Example (the direct effect of silencing every head of layer 3 on two logits):
//   ReadRecorder recorder(model, {{.row = 0, .position = -1}});
//   model.run(batch, {.observers = {&recorder}}, {});
//   const DirectPath path(model, recorder.take(), {answer, wrong});
//   const at::Tensor changes = path.attn_out_change(3, -z);  // z [r 1 h d] → [r 1 h m]
//   path.outputs_after(3, ResidualPart::attn_out, changes.select(1, 0));  // [r h c]
//   path.outputs();                                                       // [r c], to compare
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/core/taps.h"
#include "attnscope/model/model.h"

namespace attnscope {

// A position of a batch row whose residual stream is read, counted in the unpadded row; −1 = last.
struct ReadPoint {
  int row = 0;
  int position = -1;
};

// What a clean run leaves at its reads, in float32 or better. Scales are those of the norms that a
// change of the stream passes: none in pre-norm models but the final one, which is computed here.
struct FrozenReads {
  at::Tensor residual;                 // [r m] before the final norm, or what the head reads
  std::vector<at::Tensor> ln1_scale;   // [r 1] by layer: post-norm models
  std::vector<at::Tensor> ln2_scale;   // [r 1]
  std::vector<at::Tensor> attn_scale;  // [r 1] sandwich models: norm of the attention's output
  std::vector<at::Tensor> mlp_scale;   // [r 1] and of the MLP's
};

// Collects them. Observes without changing a bit of the run.
class ReadRecorder final : public Observer {
 public:
  ReadRecorder(const Model& model, std::vector<ReadPoint> reads);

  Want want(HookId hook) const override;
  void on_value(HookId hook, const at::Tensor& value, const Batch& batch) override;

  // After the run.
  FrozenReads take();

 private:
  const Model& model_;
  std::vector<ReadPoint> points_;
  FrozenReads reads_;
};

// What is added to the residual stream.
enum class ResidualPart { attn_out, mlp_out };

// The way from the residual stream at the reads to the model's outputs, with every later part of
// the model and every norm on the way frozen at the clean run. The head itself is not frozen: the
// final soft-cap, and the transform of masked-language heads and pooled classifiers, are computed
// anew.
class DirectPath {
 public:
  // `columns`: ids of the logits, the same for all reads; empty = all. Without a head (HeadKind
  // none) outputs are the last hidden state and columns must be empty. The model must outlive the
  // path. Throws Error (exit 2) for a column that does not exist.
  DirectPath(const Model& model, FrozenReads reads, std::vector<std::int64_t> columns);

  // Of the clean run [r c]. A change of zeros gives exactly these, with one compute thread.
  const at::Tensor& outputs() const { return clean_; }

  // Outputs when what layer `layer` adds to the stream changes by `change` [r n m] → [r n c]. In
  // post-norm models the change passes the frozen norms of all layers from this one on.
  at::Tensor outputs_after(int layer, ResidualPart part, const at::Tensor& change) const;

  // How much attn_out changes when z of each head changes alone: [r n h d] → [r n h m]. Add over
  // heads for a set. The norm behind attention of sandwich models is frozen too.
  at::Tensor attn_out_change(int layer, const at::Tensor& z_change) const;
  // The same of mlp_out when the neurons change together: [r n f] → [r n m].
  at::Tensor mlp_out_change(int layer, const at::Tensor& post_change) const;

  // True where outputs before the soft-cap are a linear function of the stream.
  bool is_linear() const { return linear_; }
  // That function's vectors [r c m]; throws Error AT02 (exit 2) where there is none, and for
  // post-norm models, whose stream is scaled anew after every part.
  at::Tensor directions() const;
  // Outputs before the soft-cap [r c], and the part of them that no change touches [r c]: final
  // norm's and head's biases.
  const at::Tensor& raw_outputs() const { return raw_; }
  at::Tensor constant() const;

 private:
  at::Tensor at_the_end(int layer, ResidualPart part, at::Tensor change) const;
  at::Tensor through_head(const at::Tensor& residual) const;
  at::Tensor capped(const at::Tensor& raw) const;

  const Model& model_;
  FrozenReads reads_;
  std::vector<std::int64_t> columns_;
  bool linear_ = false;
  at::Tensor final_scale_;  // [r 1]; undefined without a final norm
  at::Tensor unembed_;      // [c m] linear heads: gain and centring of the final norm included
  at::Tensor constant_;     // [c]
  at::Tensor raw_, clean_;  // [r c]
};

// A weighted sum of logits.
struct LogitDirection {
  std::vector<std::int64_t> columns;
  std::vector<double> weights;
};

enum class SourceSplit { off, on };

struct AttributionRequest {
  TokenRow row;
  std::vector<int> positions;              // of `row`; −1 = last
  std::vector<LogitDirection> directions;  // one for all positions, or one a position
  SourceSplit sources = SourceSplit::on;
};

// What a direction's logits are made of at each position, before the final soft-cap. The parts add
// up: total = embedding + position + Σ heads + Σ attention_bias + Σ mlp + constant.
struct Attribution {
  at::Tensor total;           // [p] of the run itself
  at::Tensor embedding;       // [p] token embedding, with types; everything where it is normalised
  at::Tensor position;        // [p] learned positions; 0 where there are none
  at::Tensor heads;           // [L h p]; NaN beyond a layer's heads
  at::Tensor sources;         // [L h p k] the same by source token, adds up to heads over k
  at::Tensor attention_bias;  // [L p] output bias, and the bias of a norm behind attention
  at::Tensor mlp;             // [L p] with its biases; 0 without an MLP
  at::Tensor constant;        // [p] biases of the final norm and the head
};

// Why the logits of this model are no sum over its parts; empty when they are.
std::string attribution_obstacle(const ModelConfig& config);

// One forward pass and one product a layer. Everything in float32 or better. Throws Error AT02
// (exit 2) for models with an obstacle.
Attribution attribute_logits(const Model& model, const AttributionRequest& request);

}  // namespace attnscope
