// The forward pass: embed, every layer, head.
#include <c10/core/AutogradState.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <string>

#include "attnscope/core/boundary.h"
#include "attnscope/core/row_frame.h"
#include "attnscope/model/model.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "forward.h"
#include "layers.h"

namespace attnscope {
namespace {

void check_length(const ModelWeights& model, const Batch& batch, ContextLimit limit) {
  const auto& rows = batch.rows;
  const int longest = std::max_element(rows.begin(), rows.end(), [](RowSpan a, RowSpan b) {
                        return a.length < b.length;
                      })->length;
  if (longest <= model.config.n_context || limit == ContextLimit::exceed) return;
  throw Error(ErrorKind::input, "MO11",
              {.where = model.config.name,
               .what = "a prompt of " + count_of(longest, "token") + " is longer than the context",
               .expected = "at most " + std::to_string(model.config.n_context)});
}

void check_options(const ModelWeights& model, const RunOptions& options) {
  if (options.stop_after_layer >= model.config.n_layers) {
    throw Error(ErrorKind::input, "MO12",
                {.where = "stop after layer",
                 .what = "layer " + std::to_string(options.stop_after_layer) + " does not exist",
                 .expected = "0 to " + std::to_string(model.config.n_layers - 1)});
  }
  const bool recordable =
      options.engine == Engine::automatic || options.engine == Engine::reference;
  if (options.gradients == Gradients::on && !recordable) {
    throw Error(ErrorKind::input, "MO13",
                {.where = std::string("--engine ") + engine_name(options.engine),
                 .what = "gradients need the reference engine"});
  }
}

// Non-finite values of a tensor. A sum is finite only when all its terms are, and costs a tenth of
// looking at each.
std::int64_t count_non_finite(const at::Tensor& x) {
  if (!x.defined()) return 0;
  const c10::NoGradGuard no_grad;
  const double sum = x.sum().item<double>();
  if (std::isfinite(sum)) return 0;
  return at::isfinite(x).logical_not().sum().item<std::int64_t>();
}

}  // namespace

RunGuard::RunGuard(Gradients gradients)
    : inference_(gradients == Gradients::off), gradient_(gradients == Gradients::on) {}

void check_run(const ModelWeights& model, const Batch& batch, const RunOptions& options) {
  check_length(model, batch, options.context);
  check_options(model, options);
}

RunResult run_layers(Run& run, int first_layer, BlockEntry entry) {
  const int n_layers = run.config.n_layers;
  const int stop = run.options.stop_after_layer;
  const int end = stop < 0 ? n_layers : stop + 1;
  at::Tensor residual = entry.residual;
  for (int layer = first_layer; layer < end; ++layer) {
    if (layer == n_layers - 1 && stop < 0) narrow_to_reads(run);
    residual = at_boundary("layer " + std::to_string(layer) + " of the forward pass",
                           [&] { return block(run, layer, entry); });
    entry = {.point = LayerPoint::resid_pre, .residual = residual};
  }
  if (end == n_layers && stop < 0) {
    finish(run, residual);
  } else {
    run.result.hidden = residual;
  }
  run.deliveries.flush();
  run.result.interventions = run.taps.finish();
  run.result.non_finite_outputs =
      count_non_finite(run.result.logits) + count_non_finite(run.result.hidden);
  run.result.base = run.recording;
  return std::move(run.result);
}

Model::Model(std::shared_ptr<const ModelWeights> weights) : weights_(std::move(weights)) {}

Model Model::load(const Checkpoint& checkpoint, const LoadOptions& options, Warnings& warnings) {
  return at_boundary("loading weights", [&] {
    // Weights made inside inference mode could not be read by a run with gradients.
    const c10::InferenceMode outside(false);
    return Model(load_weights(checkpoint, options, warnings));
  });
}

const ModelConfig& Model::config() const {
  return weights_->config;
}
DType Model::dtype() const {
  return weights_->dtype;
}
c10::Device Model::device() const {
  return weights_->device;
}
std::uint64_t Model::weight_bytes() const {
  return weights_->bytes;
}
const SiteInventory& Model::sites() const {
  return weights_->sites;
}

RunResult Model::run(const Batch& batch, const Taps& taps, const RunOptions& options) const {
  return at_boundary("forward pass", [&] {
    const RunGuard guard(options.gradients);
    check_run(*weights_, batch, options);
    Run run(*weights_, batch, row_frames(batch), taps, options);
    if (options.record_base == BaseRecording::on) {
      run.recording = std::make_shared<RunBase>();
      run.recording->batch = batch;
    }
    const at::Tensor residual = embed(run);
    return run_layers(run, 0, {.point = LayerPoint::resid_pre, .residual = residual});
  });
}

const char* engine_name(Engine engine) {
  switch (engine) {
    case Engine::automatic:
      return "auto";
    case Engine::reference:
      return "reference";
    case Engine::aten:
      return "aten";
    case Engine::cpu_tiled:
      return "cpu_tiled";
    case Engine::cuda:
      return "cuda";
  }
  return "unknown";
}

}  // namespace attnscope
