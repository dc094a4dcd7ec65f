// What must not depend on who else is in the batch, nor on what comes later.
#include "checks.h"

namespace attnscope {
namespace {

bool is_causal(const ModelConfig& config) {
  for (const LayerConfig& layer : config.layers) {
    if (layer.attention.mask != MaskKind::causal) return false;
  }
  return true;
}

// The output has one row a position, unlike that of a classifier.
bool has_positions(const at::Tensor& output, const Batch& batch) {
  return output.dim() == 3 && output.size(1) == batch.padded_length();
}

DoctorCheck padding(const Patient& patient, PadSide side) {
  Worst worst(side == PadSide::left ? "left padding changes nothing"
                                    : "right padding changes nothing");
  TokenRow shorter = patient.prompt;
  shorter.ids.resize(std::max<std::size_t>(1, shorter.ids.size() / 2));
  const auto output = [&](const Batch& batch) {
    return output_of(patient.model.run(batch, Taps{}, {.engine = Engine::reference}));
  };
  const Batch alone = make_batch({shorter});
  const Batch padded = make_batch({patient.prompt, shorter}, side);
  const at::Tensor expected = output(alone);
  const at::Tensor both = output(padded);
  const at::Tensor got = has_positions(both, padded) ? unpadded(both, padded, 1) : both[1];
  worst.compare(got, expected[0], tolerance_of(patient.model).logits, -1);
  return worst.finish("");
}

// Another last token leaves every earlier position as it was, bit for bit.
DoctorCheck looks_back_only(const Patient& patient) {
  Worst worst("earlier positions do not see later tokens, bit for bit");
  if (!is_causal(patient.model.config())) return worst.finish("the model looks both ways");
  TokenRow changed = patient.prompt;
  changed.ids.back() = (changed.ids.back() + 1) % patient.model.config().d_vocab;
  const Batch batch = make_batch({patient.prompt});
  const RunOptions options{.engine = Engine::reference};
  const at::Tensor before = output_of(patient.model.run(batch, Taps{}, options));
  const at::Tensor after = output_of(patient.model.run(make_batch({changed}), Taps{}, options));
  if (!has_positions(before, batch)) return worst.finish("the output has one row a prompt");
  const std::int64_t last = before.size(1) - 1;
  worst.compare(after.slice(1, 0, last), before.slice(1, 0, last), 0, -1);
  return worst.finish("");
}

}  // namespace

std::vector<DoctorCheck> check_batches(const Patient& patient) {
  return {padding(patient, PadSide::left), padding(patient, PadSide::right),
          looks_back_only(patient)};
}

}  // namespace attnscope
