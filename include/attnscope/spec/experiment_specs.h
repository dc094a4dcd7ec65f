// File: experiment_specs.h
// Every option of the causal experiments: ablate, patch, verdict, lens.
//
// Selectors (units, positions, paths) are text as typed: they can only be resolved against a model
// and a prompt. An empty selector means all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/spec/capture_spec.h"
#include "attnscope/spec/choices.h"

namespace attnscope {

// Where pairs come from: exactly one of `pairs_file` and `prompt` (or `ids`).
struct PairSource {
  std::string pairs_file;                                // --pairs: .jsonl, .csv, .tsv, .json
  std::optional<std::string> prompt;                     // --prompt: one clean prompt
  std::optional<std::string> corrupt;                    // --corrupt: its corrupt twin
  std::optional<std::string> answer;                     // --answer " Mary"
  std::optional<std::string> wrong;                      // --wrong " John"
  std::optional<std::vector<std::int64_t>> ids;          // --ids: the clean prompt as ids
  std::optional<std::vector<std::int64_t>> corrupt_ids;  // --corrupt-ids
  std::optional<std::int64_t> answer_id;                 // --answer-id
  std::optional<std::int64_t> wrong_id;                  // --wrong-id
  bool answer_ids = false;       // --answer-ids: correct_idx/incorrect_idx columns are this model's
  bool skip_misaligned = false;  // --skip-misaligned: drop and count pairs that do not align
  bool skip_bad = false;         // --skip-bad: count bad lines, do not stop
  std::int64_t limit = 0;        // --limit: use the first N pairs; 0 = all

  bool operator==(const PairSource&) const = default;
};

// What is measured of a run, and where.
struct MetricOptions {
  MetricChoice metric = MetricChoice::logit_diff;  // --metric
  std::string at;  // --at: positions the metric reads; empty = the last real token (MLM: the mask)

  bool operator==(const MetricOptions&) const = default;
};

// How a sweep runs; no option changes what is measured beyond rounding.
struct SweepOptions {
  bool exact = false;       // --exact: the shapes of the naive loop, bit-identical to it
  bool naive = false;       // --naive: one full forward pass a cell, the oracle
  int verify = -1;          // --verify K: cells run again naively; −1 = 1 %, at least 3; 0 = none
  bool per_prompt = false;  // --per-prompt: also store every prompt's effect
  int bootstrap = 10000;    // --resamples: draws of bootstraps and sign flips

  bool operator==(const SweepOptions&) const = default;
};

struct AblateSpec {
  std::string model;  // -m/--model
  PairSource pairs;
  EncodingOptions encoding;
  MetricOptions metric;
  UnitChoice unit = UnitChoice::head;  // --unit
  // --method: any of zero, mean, mean-pos, resample, vector, optimal, in order, comma-separated
  std::string methods = "zero";
  std::string layers;             // --layers
  std::string heads;              // --heads "5.1,6.*" or sets "5.1+5.3,6.0+7.2"
  std::string neurons;            // --neurons "5.0-99,6.17"; required with --unit neuron
  std::string positions;          // --positions: head × position cells for these; --unit head-pos
  std::string effects = "total";  // --effect: total, direct
  std::string reference;          // --reference FILE: prompts whose mean is used
  std::string vector_file;        // --vector FILE.npy|.json: the fixed vector [d]
  int interactions = 0;           // --interactions K: pairs of the K largest single effects
  bool leave_one_in = false;      // --leave-one-in: all units but one
  int float32_rerun = 0;          // --rerun-f32 K: run the K largest cells again in float32
  SweepOptions sweep;
  ComputeOptions compute;
  bool strict = false;
  bool fail_on_nan = false;
  ShardChoice shard;
  DeliveryOptions output;

  bool operator==(const AblateSpec&) const = default;
};

struct PatchSpec {
  std::string model;
  PairSource pairs;
  EncodingOptions encoding;
  MetricOptions metric;
  std::string sites;  // --site; empty = resid_pre
  std::string by;     // --by: "layer,pos", "layer,head", "layer,head,pos"; empty = by the site
  PatchDirection direction = PatchDirection::denoise;  // --direction
  std::string layers, heads, positions;
  // Path patching (Wang et al. 2022): every sender to all receivers at once.
  std::string senders;       // --senders "9.9,9.6"
  std::string receivers;     // --receivers "10.7.q,10.7.k,mlp:11,logits"
  bool freeze_mlps = false;  // --freeze-mlps: MLPs between sender and receiver keep their values
  // Edges of attention: --edge knockout,value-zero with --queries and --keys.
  std::string edges;
  std::string queries, keys;  // --queries, --keys: position lists
  int window = 1;             // --window: layers cut together, centred on each layer
  double floor = 0.1;  // --floor: recovery drops prompts with |M_clean − M_corrupt| below it
  SweepOptions sweep;
  ComputeOptions compute;
  bool strict = false;
  bool fail_on_nan = false;
  ShardChoice shard;
  DeliveryOptions output;

  bool operator==(const PatchSpec&) const = default;
};

struct VerdictSpec {
  std::string model;
  PairSource pairs;
  EncodingOptions encoding;
  MetricOptions metric;
  std::optional<double> delta;  // --delta: smallest effect of interest; default 2 % (see README)
  std::string methods = "zero,mean,resample";  // --method: at least two
  std::string layers;
  std::string sources;         // --source: span column of the answer's source; default "source"
  bool kv_groups = false;      // --kv-groups: verdicts for kv groups too
  bool control_model = false;  // --control-model: the same with random weights
  int random_draws = 20;       // --controls: random vectors for each causal head
  int matched_sets = 20;       // --matched-sets: random sets like the strongest heads; 0 = none
  std::string html;            // --html FILE: the report; default OUT.html
  SweepOptions sweep;
  ComputeOptions compute;
  bool strict = false;
  bool fail_on_nan = false;
  DeliveryOptions output;

  bool operator==(const VerdictSpec&) const = default;
};

struct LensSpec {
  std::string model;
  PairSource pairs;  // answer and wrong are optional: with them direct attribution is of their
                     // difference, else of the model's own first choice
  EncodingOptions encoding;
  std::string positions;    // --positions: rows whose attribution is split by source; default last
  int top_k = 10;           // --topk
  bool attribution = true;  // --no-attribution
  ComputeOptions compute;
  bool strict = false;
  bool fail_on_nan = false;
  DeliveryOptions output;

  bool operator==(const LensSpec&) const = default;
};

// Throw Error SP03 (exit 2) that names the option.
void validate(const PairSource& pairs);
void validate(const AblateSpec& spec);
void validate(const PatchSpec& spec);
void validate(const VerdictSpec& spec);
void validate(const LensSpec& spec);

// "zero,mean" as methods, in order, without duplicates. Throws Error SP02 that names the option.
std::vector<AblationMethod> parse_methods(std::string_view text, std::string_view option);
std::vector<EffectChoice> parse_effects(std::string_view text, std::string_view option);
std::vector<EdgeCut> parse_edge_cuts(std::string_view text, std::string_view option);

}  // namespace attnscope
