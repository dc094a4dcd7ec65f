// File: plain_runs.h
// The inputs of an experiment in plain runs of the model, one prompt at a time and without the
// experiment: what its records are compared with.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "attnscope/probes/experiment_run.h"
#include "parity/recorder.h"

namespace attnscope::testing {

inline const std::string kDemo = std::string(ATTNSCOPE_SOURCE_DIR) + "/probes/demo/";

// The demo model on the first `limit` of its pairs, in float64.
template <typename Spec>
Spec demo_spec_of(const std::string& pairs, int limit) {
  Spec spec;
  spec.model = kDemo + "tiny-english";
  spec.pairs.pairs_file = pairs;
  spec.pairs.limit = limit;
  spec.compute.device = "cpu";
  spec.compute.dtype = ComputeDType::f64;
  spec.sweep.per_prompt = true;
  spec.sweep.bootstrap = 200;
  return spec;
}

class PlainRuns {
 public:
  template <typename Spec>
  explicit PlainRuns(const Spec& spec)
      : inputs_(open_inputs({.model = spec.model, .pairs = spec.pairs, .encoding = spec.encoding},
                            warnings_)),
        model_(load_model(inputs_.checkpoint, spec.compute, Strictness::lenient, warnings_)) {}

  const Model& model() const { return model_; }
  const std::vector<EncodedPair>& pairs() const { return inputs_.pairs.pairs; }
  Batch batch(std::size_t p, bool corrupt = false) const {
    return make_batch({{.ids = corrupt ? pairs()[p].corrupt->ids : pairs()[p].clean.ids}});
  }
  at::Tensor value(HookId hook, std::size_t p, bool corrupt) const {
    return run_and_record(model_, batch(p, corrupt), {hook}).values.at(hook);
  }
  at::Tensor z(int layer, std::size_t p, bool corrupt) const {
    return value({Site::z, layer}, p, corrupt)[0];
  }
  // The logit difference of the pair's first answers at the last position.
  double metric(std::size_t p, const std::vector<Intervention>& changes = {},
                bool corrupt = false) const {
    Taps taps;
    taps.interventions = changes;
    const at::Tensor last = run_and_record(model_, batch(p, corrupt), {}, taps).output[0][-1];
    return (last[pairs()[p].answers[0]] - last[pairs()[p].wrongs[0]]).item<double>();
  }

 private:
  Warnings warnings_;
  ExperimentInputs inputs_;
  Model model_;
};

}  // namespace attnscope::testing
