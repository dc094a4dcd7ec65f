#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attnscope/spec/experiment_specs.h"
#include "attnscope/spec/pair_source.h"
#include "attnscope/support/file.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "checks.h"

namespace attnscope {

using namespace spec_checks;  // NOLINT

namespace {

bool is_inline(const PairSource& p) {
  return p.pairs_file.empty();
}

// Options that describe the one pair of the command line say nothing about a file.
void refuse_beside_file(const PairSource& p) {
  const auto refuse_if = [](bool given, const char* option) {
    if (given) refuse(option, "is the one pair of --prompt or --ids", "no --pairs beside it");
  };
  refuse_if(p.corrupt.has_value(), "--corrupt");
  refuse_if(p.answer.has_value(), "--answer");
  refuse_if(p.wrong.has_value(), "--wrong");
  refuse_if(p.corrupt_ids.has_value(), "--corrupt-ids");
  refuse_if(p.answer_id.has_value(), "--answer-id");
  refuse_if(p.wrong_id.has_value(), "--wrong-id");
}

void refuse_without_file(const PairSource& p) {
  const auto refuse_if = [](bool given, const char* option) {
    if (given) refuse(option, "is about a file of pairs", "--pairs FILE");
  };
  refuse_if(p.answer_ids, "--answer-ids");
  refuse_if(p.skip_misaligned, "--skip-misaligned");
  refuse_if(p.skip_bad, "--skip-bad");
  refuse_if(p.limit > 0, "--limit");
}

void check_encoding(const PairSource& p, const EncodingOptions& encoding) {
  if (p.ids && encoding.chat != ChatChoice::none)
    refuse("--chat", "needs text", "--prompt", "--ids");
  if (p.ids && encoding.bos != BosMode::automatic)
    refuse("--bos", "needs text; ids are taken as they are", "--prompt", "--ids");
  check_text(p.prompt, "--prompt", encoding.invalid_utf8);
  check_text(p.corrupt, "--corrupt", encoding.invalid_utf8);
  check_text(p.answer, "--answer", encoding.invalid_utf8);
  check_text(p.wrong, "--wrong", encoding.invalid_utf8);
}

// A metric that reads an answer needs one; a file is looked at when it is read.
void check_metric(const PairSource& p, const MetricOptions& options) {
  check_list(options.at, "--at");
  if (!is_inline(p)) return;
  const AnswerUse use = answer_use(options.metric);
  const std::string metric = "metric " + choice_name(options.metric);
  const bool answer = p.answer || p.answer_id;
  const bool wrong = p.wrong || p.wrong_id;
  // Beside --ids answers are ids too.
  const auto refuse_missing = [&](const std::string& option, const std::string& word) {
    const std::string example = p.ids ? option + "-id 262" : option + " \" " + word + "\"";
    refuse(p.ids ? option + "-id" : option, "is missing; " + metric + " needs it", "", "",
           "e.g. " + example + "; of an encoder without a head --metric embedding-shift");
  };
  if (use == AnswerUse::label) {
    refuse("--metric", metric + " needs a label for each prompt", "a file with a column label",
           "one prompt", "give --pairs FILE");
  }
  if (use != AnswerUse::unused && !answer) refuse_missing("--answer", "Mary");
  if (use == AnswerUse::answer_and_wrong && !wrong) refuse_missing("--wrong", "John");
}

void check_sweep(const SweepOptions& s) {
  if (s.exact && s.naive) refuse("--naive", "contradicts --exact");
  if (s.naive && s.verify > 0) {
    refuse("--verify", "contradicts --naive, which is the slow loop that it compares with");
  }
  check_range(s.verify, -1, 1 << 30, "--verify");
  check_range(s.bootstrap, 100, 10'000'000, "--resamples");
}

void check_delivery(const DeliveryOptions& output, const PairSource& pairs) {
  check_result_name(output.out);
  check_resume(output);
  if (output.out.empty() && output.resume) refuse("--resume", "needs --out");
  if (output.out.empty() && output.force) refuse("--force", "needs --out");
  if (!output.out.empty() && !pairs.pairs_file.empty()) {
    check_output_is_no_input(output.out, {pairs.pairs_file});
  }
}

// What every verb on pairs has.
template <typename Spec>
void check_common(const Spec& s) {
  require_model(s.model);
  validate(s.pairs);
  check_encoding(s.pairs, s.encoding);
  check_compute(s.compute);
  if (s.compute.batch != 0) refuse("--batch", "batches of an experiment follow from its plan");
  check_delivery(s.output, s.pairs);
}

template <typename Spec>
void check_measured_sweep(const Spec& s) {
  check_metric(s.pairs, s.metric);
  check_list(s.layers, "--layers");
  check_sweep(s.sweep);
}

template <typename Spec>
void check_sharded_sweep(const Spec& s) {
  check_measured_sweep(s);
  check_shard(s.shard);
  if (s.shard != ShardChoice{} && s.output.out.empty()) refuse("--shard", "needs --out");
}

template <typename T>
bool contains(const std::vector<T>& values, T value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

void check_units(const AblateSpec& s) {
  const std::string unit = "--unit " + choice_name(s.unit);
  const bool of_heads = s.unit == UnitChoice::head || s.unit == UnitChoice::head_pos ||
                        s.unit == UnitChoice::kv_group;
  check_names(s.heads, "--heads");
  check_names(s.neurons, "--neurons");
  check_list(s.positions, "--positions");
  if (!s.heads.empty() && !of_heads) {
    refuse("--heads", "contradicts " + unit, "--unit head, head-pos or kv-group");
  }
  if (!s.heads.empty() && !s.layers.empty()) {
    refuse("--layers", "contradicts --heads, which names layers itself");
  }
  if (s.unit == UnitChoice::neuron && s.neurons.empty()) {
    refuse("--neurons", "is missing; " + unit + " needs it", "", "", "e.g. --neurons 5.0-99");
  }
  if (!s.neurons.empty() && s.unit != UnitChoice::neuron) {
    refuse("--neurons", "contradicts " + unit, "--unit neuron");
  }
  if (!s.positions.empty() && s.unit != UnitChoice::head_pos) {
    refuse("--positions", "contradicts " + unit, "--unit head-pos");
  }
}

// Paths and edges have no sites, and the clean run is the one that they change.
void refuse_beside_sites(const PatchSpec& s, const std::string& option) {
  const std::string what = "contradicts " + option;
  if (!s.sites.empty()) refuse("--site", what, "one of both");
  if (!s.positions.empty()) refuse("--positions", what, "one of both");
  if (s.direction == PatchDirection::noise) {
    refuse("--direction", what + ", which always changes the clean run",
           "no --direction beside it");
  }
}

void check_paths(const PatchSpec& s) {
  check_names(s.senders, "--senders");
  check_names(s.receivers, "--receivers");
  if (!s.senders.empty() && s.receivers.empty()) {
    refuse("--receivers", "is missing; --senders needs it", "", "", "e.g. --receivers logits");
  }
  if (!s.receivers.empty() && s.senders.empty()) {
    refuse("--senders", "is missing; --receivers needs it", "", "", "e.g. --senders 9.9");
  }
  if (s.freeze_mlps && s.senders.empty()) refuse("--freeze-mlps", "needs --senders");
  if (s.senders.empty()) return;
  refuse_beside_sites(s, "--senders");
  const auto refuse_if = [](bool given, const char* option) {
    if (given)
      refuse(option, "contradicts --senders, which names whole units and runs them in full");
  };
  refuse_if(!s.by.empty(), "--by");
  refuse_if(!s.layers.empty(), "--layers");
  refuse_if(!s.heads.empty(), "--heads");
  refuse_if(s.floor != PatchSpec{}.floor, "--floor");
  refuse_if(s.sweep.exact, "--exact");
  refuse_if(s.sweep.naive, "--naive");
  refuse_if(s.sweep.verify != SweepOptions{}.verify, "--verify");
  if (s.compute.budget != 0) refuse("--budget", "is about sweeps, and --senders makes none");
}

void check_edges(const PatchSpec& s) {
  check_list(s.queries, "--queries");
  check_list(s.keys, "--keys");
  check_range(s.window, 1, 1 << 20, "--window");
  if (!s.edges.empty()) {
    parse_edge_cuts(s.edges, "--edge");
    if (!s.senders.empty()) refuse("--edge", "contradicts --senders");
    if (s.queries.empty() || s.keys.empty()) {
      refuse(s.queries.empty() ? "--queries" : "--keys", "is missing; --edge needs it", "", "",
             "e.g. --queries last --keys 0-3");
    }
    refuse_beside_sites(s, "--edge");
    if (!s.by.empty() && s.by != "layer,head") {
      refuse("--by", "edges have no positions of their own", "layer,head", quote(s.by));
    }
    if (!s.heads.empty() && s.by.empty()) refuse("--heads", "needs --by layer,head beside --edge");
    if (s.window != 1 && !s.by.empty()) refuse("--window", "contradicts --by layer,head");
    return;
  }
  if (!s.queries.empty()) refuse("--queries", "needs --edge");
  if (!s.keys.empty()) refuse("--keys", "needs --edge");
  if (s.window != 1) refuse("--window", "needs --edge");
}

}  // namespace

void validate(const PairSource& p) {
  const int sources = (p.pairs_file.empty() ? 0 : 1) + (p.prompt ? 1 : 0) + (p.ids ? 1 : 0);
  if (sources == 0) {
    refuse("--pairs", "no prompts given", "", "", "give --pairs FILE, --prompt TEXT or --ids LIST");
  }
  if (sources > 1) {
    refuse("--pairs", "several sources of prompts given", "one of --pairs, --prompt, --ids");
  }
  if (is_inline(p)) {
    refuse_without_file(p);
  } else {
    refuse_beside_file(p);
  }
  if (p.ids && p.ids->empty()) refuse("--ids", "the list is empty");
  if (p.corrupt && !p.prompt) refuse("--corrupt", "needs --prompt", "", "", "see --corrupt-ids");
  if (p.corrupt_ids && !p.ids) refuse("--corrupt-ids", "needs --ids", "", "", "see --corrupt");
  if (p.corrupt_ids && p.corrupt_ids->size() != p.ids->size()) {
    refuse("--corrupt-ids", "not as many as --ids", std::to_string(p.ids->size()),
           std::to_string(p.corrupt_ids->size()));
  }
  if (p.ids && p.answer) refuse("--answer", "is text beside --ids", "--answer-id");
  if (p.ids && p.wrong) refuse("--wrong", "is text beside --ids", "--wrong-id");
  if (p.answer && p.answer_id) refuse("--answer", "contradicts --answer-id");
  if (p.wrong && p.wrong_id) refuse("--wrong", "contradicts --wrong-id");
  if ((p.wrong || p.wrong_id) && !p.answer && !p.answer_id) {
    refuse(p.wrong ? "--wrong" : "--wrong-id", "needs an answer",
           p.wrong ? "--answer" : "--answer-id");
  }
  check_range(p.limit, 0, std::int64_t{1} << 40, "--limit");
}

void validate(const AblateSpec& s) {
  check_common(s);
  check_sharded_sweep(s);
  check_units(s);
  const auto methods = parse_methods(s.methods, "--method");
  parse_effects(s.effects, "--effect");
  const bool vector = contains(methods, AblationMethod::vector);
  if (vector && s.vector_file.empty()) {
    refuse("--vector", "is missing; --method vector needs it", "", "", "e.g. --vector mean.npy");
  }
  if (!vector && !s.vector_file.empty()) refuse("--vector", "needs --method vector");
  const bool means =
      contains(methods, AblationMethod::mean) || contains(methods, AblationMethod::mean_pos);
  if (!s.reference.empty() && !means) refuse("--reference", "needs --method mean or mean-pos");
  if (contains(methods, AblationMethod::resample) && is_inline(s.pairs) && !s.pairs.corrupt &&
      !s.pairs.corrupt_ids) {
    refuse("--method", "resample needs another prompt to take values from",
           std::string(s.pairs.ids ? "--corrupt-ids" : "--corrupt") +
               ", or --pairs FILE with several prompts",
           "one prompt");
  }
  check_range(s.interactions, 0, 10'000, "--interactions");
  const auto refuse_in_part = [&s](bool given, const char* option) {
    if (given && s.shard != ShardChoice{}) {
      refuse(option, "is about the largest of all units, and --shard runs some of them", "", "",
             "leave one of the two out");
    }
  };
  refuse_in_part(s.interactions > 0, "--interactions");
  refuse_in_part(s.float32_rerun > 0, "--rerun-f32");
  check_range(s.float32_rerun, 0, 1 << 30, "--rerun-f32");
  if (s.interactions == 1) refuse("--interactions", "needs at least two units", "2 or more", "1");
  if (s.float32_rerun > 0 && s.compute.dtype == ComputeDType::f32) {
    refuse("--rerun-f32", "the sweep itself runs in float32", "another --dtype beside it");
  }
}

void validate(const PatchSpec& s) {
  check_common(s);
  check_sharded_sweep(s);
  check_paths(s);
  check_edges(s);
  check_names(s.sites, "--site");
  check_names(s.heads, "--heads");
  check_list(s.positions, "--positions");
  static const std::vector<std::string> kBy = {"", "layer,pos", "layer,head", "layer,head,pos"};
  if (!contains(kBy, s.by)) {
    refuse("--by", "unknown value", "layer,pos, layer,head or layer,head,pos", quote(s.by));
  }
  if (!(s.floor >= 0) || !std::isfinite(s.floor)) {
    refuse("--floor", "out of range", "a number from 0", format_number(s.floor));
  }
  const bool needs_corrupt = s.edges.empty();
  if (needs_corrupt && is_inline(s.pairs) && !s.pairs.corrupt && !s.pairs.corrupt_ids) {
    refuse(s.pairs.ids ? "--corrupt-ids" : "--corrupt",
           "is missing; patching takes values from one prompt into another", "", "",
           s.pairs.ids ? "give --corrupt-ids LIST, or --pairs FILE"
                       : "give --corrupt TEXT, or --pairs FILE");
  }
}

void validate(const VerdictSpec& s) {
  require_model(s.model);
  if (is_inline(s.pairs)) {
    refuse("--pairs", "is missing; a verdict needs many prompts", "", "", "give --pairs FILE");
  }
  check_common(s);
  check_measured_sweep(s);
  if (s.metric.metric == MetricChoice::loss || s.metric.metric == MetricChoice::embedding_shift) {
    refuse("--metric", "a verdict also measures direct effects, which this metric has not",
           "a metric of single positions, such as logit-diff", choice_name(s.metric.metric));
  }
  if (s.delta && (!(*s.delta > 0) || !std::isfinite(*s.delta))) {
    refuse("--delta", "out of range", "a number above 0", format_number(*s.delta));
  }
  const auto methods = parse_methods(s.methods, "--method");
  if (methods.size() < 2) {
    refuse("--method", "a verdict needs at least two methods", "e.g. zero,mean,resample",
           quote(s.methods));
  }
  if (contains(methods, AblationMethod::vector)) {
    refuse("--method", "a verdict has no fixed vector", "zero, mean, mean-pos, resample");
  }
  if (contains(methods, AblationMethod::optimal)) {
    refuse("--method", "a verdict has no fitted constant", "zero, mean, mean-pos, resample",
           "optimal", "attnscope ablate --method optimal has one");
  }
  check_range(s.random_draws, 20, 1'000'000, "--controls");
  check_range(s.matched_sets, 0, 100'000, "--matched-sets");
  if (!s.html.empty() && s.output.out.empty()) refuse("--html", "needs --out");
  if (!s.html.empty() && !s.html.ends_with(".html")) {
    refuse("--html", "not a name for a report", "a name that ends in .html", quote(s.html));
  }
  if (!s.html.empty()) check_output_is_no_input(s.html, {s.pairs.pairs_file, s.output.out});
}

void validate(const LensSpec& s) {
  check_common(s);
  const auto refuse_if = [](bool given, const char* option) {
    if (given) refuse(option, "a lens reads the clean prompt alone");
  };
  refuse_if(s.pairs.corrupt.has_value(), "--corrupt");
  refuse_if(s.pairs.corrupt_ids.has_value(), "--corrupt-ids");
  refuse_if(s.pairs.skip_misaligned, "--skip-misaligned");
  if (!s.attribution && (s.pairs.wrong || s.pairs.wrong_id)) {
    refuse(s.pairs.wrong ? "--wrong" : "--wrong-id",
           "only direct attribution reads it, and --no-attribution leaves that out");
  }
  check_list(s.positions, "--positions");
  check_range(s.top_k, 1, 1024, "--topk");
}

}  // namespace attnscope
