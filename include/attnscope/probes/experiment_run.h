// File: experiment_run.h
// What all experiments begin and end with: the model and the pairs they are given, and the file and
// its OUT.json that they leave.
//
// Example (in run_ablation()):
//   Warnings warnings;
//   const ExperimentInputs inputs = open_inputs({.model = spec.model, .pairs = spec.pairs, …},
//                                               warnings);
//   const Model model = load_model(inputs.checkpoint, spec.compute, strictness, warnings);
//   announce_plan(plan, context, result);
//   ExperimentOutput output(description_of(FileKind::ablate, resolved, inputs), context, shards,
//                           warnings);
//   if (output.ends_at_plan(result) || output.restore(result)) return result;
//   … output.sweep() holds the shards; null without -o …
//   output.finish({record}, result);
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/capture/provenance.h"
#include "attnscope/capture/run_choices.h"
#include "attnscope/data/pairs.h"
#include "attnscope/model/model.h"
#include "attnscope/probes/experiment.h"
#include "attnscope/spec/pair_source.h"
#include "attnscope/spec/spec_json.h"
#include "attnscope/storage/sweep_output.h"
#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope {

struct InputRequest {
  std::string model;
  PairSource pairs;
  EncodingOptions encoding;
  PairNeeds needs;  // its vocabulary is filled in
  Strictness strictness = Strictness::lenient;
  std::string out;  // must be none of the files that are read; may be empty
  std::optional<MetricOptions> metric = std::nullopt;  // what is measured, if anything is
  // What the user of a model without a head can do, where another metric is asked for.
  std::string without_head = "use --metric embedding-shift";
};

// The request of an experiment that measures a metric.
template <typename Spec>
InputRequest measured_inputs(const Spec& spec, CorruptUse corrupt) {
  return {.model = spec.model,
          .pairs = spec.pairs,
          .encoding = spec.encoding,
          .needs = {.corrupt = corrupt, .answers = answer_use(spec.metric.metric)},
          .strictness = strictness_of(spec.strict),
          .out = spec.output.out,
          .metric = spec.metric};
}

struct ExperimentInputs {
  PairSource source;
  Checkpoint checkpoint;
  std::optional<Tokenizer> tokenizer;
  PairSet pairs;
};

// Opens and checks all that costs little: no weight is read. Throws Error (exit 2) for a metric
// that the model cannot give (ME10) and for a pair that it cannot take.
ExperimentInputs open_inputs(const InputRequest& request, Warnings& warnings);

// Positions of `list` on the clean prompt; an error names the prompt.
std::vector<int> positions_on(const ExperimentInputs& inputs, const EncodedPair& pair,
                              std::string_view list, std::string_view option);

// Reads the weights, in the type and on the device that are asked for.
Model load_model(const Checkpoint& checkpoint, const ComputeOptions& compute, Strictness strictness,
                 Warnings& warnings);

// A spec's compute options with every "auto" replaced by what it became. `engine`: what
// `automatic` became.
ComputeOptions resolved_compute(const ComputeOptions& compute, EngineChoice engine);

// Fills device, dtype, engine, threads and model of a result. `resolved`: of resolved_compute().
void describe_run(const ComputeOptions& resolved, const std::string& model,
                  ExperimentResult& result);

// What a result says before anything is computed: its prompts, the model, where it runs.
ExperimentResult begin_result(const ExperimentInputs& inputs, const ComputeOptions& compute);

// Gives the plan to the result and to whoever watches.
void announce_plan(const std::string& plan, const ExperimentContext& context,
                   ExperimentResult& result);

// What a result says of the run that made it.
struct RunDescription {
  FileKind kind = FileKind::ablate;
  std::string options_json;  // resolved_options_json() of the resolved spec
  std::string run_id;        // config_hash() of it
  ComputeOptions compute;    // resolved
  ShardChoice shard;
  ShardUse shard_use = ShardUse::collected;
  DeliveryOptions delivery;
  std::string model;       // as given
  std::string pairs_file;  // as given; may be empty
  ModelInfo model_info;
  InputHashes hashes;
  std::vector<PromptRecord> prompts;  // the clean ones
};

// Hashes the model's files. `resolved`: AblateSpec, PatchSpec, VerdictSpec or LensSpec with what
// "auto" became.
template <typename Spec>
RunDescription description_of(FileKind kind, const Spec& resolved, const ExperimentInputs& inputs) {
  RunDescription run;
  run.kind = kind;
  // A dry run needs them only to know what it would resume.
  if (!resolved.output.dry_run || resolved.output.resume) {
    run.hashes = hash_inputs(inputs.checkpoint, inputs.pairs.sha256);
  }
  run.options_json = resolved_options_json(resolved);
  run.run_id = config_hash(resolved, run.hashes.all());
  run.compute = resolved.compute;
  if constexpr (requires { resolved.shard; }) run.shard = resolved.shard;
  run.delivery = resolved.output;
  run.model = resolved.model;
  run.pairs_file = resolved.pairs.pairs_file;
  run.model_info = model_info(inputs.checkpoint, run.hashes);
  for (const EncodedPair& pair : inputs.pairs.pairs) {
    PromptRecord& prompt = run.prompts.emplace_back(prompt_record(pair.clean));
    prompt.group = pair.group;
    // Readers of a patching map want to see where the prompts differ.
    if (pair.corrupt && !pair.corrupt->text.empty()) {
      prompt.columns.emplace_back("corrupt", pair.corrupt->text);
    }
  }
  return run;
}

// Where a result goes: OUT.h5, its shards meanwhile, and OUT.json; nowhere without -o.
class ExperimentOutput {
 public:
  // `shards`: of the plan; none where the result is computed in one go. Under --dry-run it is only
  // checked that OUT.h5 could be written.
  ExperimentOutput(RunDescription run, const ExperimentContext& context,
                   std::vector<ShardRange> shards, Warnings& warnings);

  // Under --dry-run: completes the result, which is the plan, and says true.
  bool ends_at_plan(ExperimentResult& result) const;

  // Null without -o.
  SweepOutput* sweep() { return sweep_ ? &*sweep_ : nullptr; }

  // Under --resume of a finished run: the records of OUT.h5, so that nothing needs to be computed.
  std::optional<std::vector<ExperimentRecord>> finished() const;

  // Under --resume of a finished run: fills the result from OUT.h5 and says true. The first record
  // is the result's, the others are its further ones.
  bool restore(ExperimentResult& result);

  // Writes everything and fills path, sha256, seconds, warnings, device, dtype, engine, model and
  // threads of the result. Under --resume of a finished run the file stays as it is.
  void finish(const std::vector<ExperimentRecord>& records, ExperimentResult& result);

 private:
  RunDescription run_;
  const ExperimentContext& context_;
  Warnings& warnings_;
  std::chrono::steady_clock::time_point start_;
  RunTimes times_;
  std::optional<SweepOutput> sweep_;
};

// Throws ErrorKind::interrupted when the run is to stop.
void check_stop(const ExperimentContext& context);

}  // namespace attnscope
