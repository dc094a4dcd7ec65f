#include "experiment_options.h"

#include <limits>

namespace attnscope::cli {
namespace {

constexpr Bounds kAnyCount = {0, 1 << 30};
constexpr Bounds kAnyId = {0, std::numeric_limits<std::int64_t>::max()};

// Whether a verb reads the corrupt prompts of pairs.
enum class Corrupt { read, unread };

void add_file_options(Verb& verb, const std::string& need, Corrupt corrupt, PairSource& pairs) {
  Options& options = verb.options();
  options.text(
      {"--pairs", "FILE", "pairs of prompts: .jsonl, .csv, .tsv or .json, see below" + need},
      pairs.pairs_file);
  options.integer({"--limit", "N", "use the first N pairs of the file (default: all)"},
                  {1, std::int64_t{1} << 40}, pairs.limit);
  if (corrupt == Corrupt::read) {
    options.flag({"--skip-misaligned", "",
                  "leave out pairs whose prompts have unequal numbers of tokens, and count them"},
                 pairs.skip_misaligned);
  }
  options.flag({"--skip-bad", "", "leave out bad lines of the file and count them"},
               pairs.skip_bad);
  options.flag({"--answer-ids", "",
                "columns correct_idx and incorrect_idx hold ids of this model's tokenizer"},
               pairs.answer_ids);
  verb.note("Pairs files",
            "clean        the prompt; also prompt, text, clean_prompt; as ids clean_ids\n"
            "corrupt      its twin with as many tokens, for methods that take values from it;\n"
            "             also corrupted, counterfactual, corrupt_prompt; as ids corrupt_ids\n"
            "answer       what should come next, as written, as in \" Mary\"; also correct,\n"
            "             target, io; as ids answer_id; in .jsonl a list is allowed\n"
            "wrong        what should not; also incorrect, distractor; as ids wrong_id\n"
            "group        pairs of one group are counted as one draw, and so are groups of the\n"
            "             same pairs; also cluster, template\n"
            "label        class number, for --metric label-logit\n"
            "Any other column is kept; one that holds words of the prompt names their positions.\n"
            ".csv and .tsv name the columns in their first line, .jsonl has an object a line,\n"
            ".json is {\"prompts\": [{clean, corrupt, answers, wrong_answers}, ...]} or the list.");
}

void add_ids_option(Options& options, const Name& name,
                    std::optional<std::vector<std::int64_t>>& out) {
  options.value(name, [&out](const std::string& text, const std::string& option) {
    out = parse_id_list(text, option);
  });
}

void add_id_option(Options& options, const Name& name, std::optional<std::int64_t>& out) {
  options.value(name, [&out](const std::string& text, const std::string& option) {
    out = Options::parse_bounded(text, kAnyId, option);
  });
}

void add_any_pair_options(Verb& verb, Corrupt corrupt, PairSource& pairs) {
  Options& options = verb.options();
  options.group("Pairs (--pairs, --prompt or --ids is required)");
  add_file_options(verb, "", corrupt, pairs);
  options.text({"--prompt", "TEXT", "one clean prompt", EmptyValue::allowed}, pairs.prompt);
  if (corrupt == Corrupt::read) {
    options.text({"--corrupt", "TEXT", "its corrupt twin (default: none)"}, pairs.corrupt);
  }
  options.text({"--answer", "TEXT", "its answer, as in ' Mary' (default: none)"}, pairs.answer);
  options.text({"--wrong", "TEXT", "its wrong answer (default: none)"}, pairs.wrong);
  add_ids_option(options, {"--ids", "LIST", "the clean prompt as token ids, as in 5,17,3"},
                 pairs.ids);
  if (corrupt == Corrupt::read) {
    add_ids_option(options, {"--corrupt-ids", "LIST", "its corrupt twin as ids (default: none)"},
                   pairs.corrupt_ids);
  }
  add_id_option(options, {"--answer-id", "ID", "the answer's id (default: none)"}, pairs.answer_id);
  add_id_option(options, {"--wrong-id", "ID", "the wrong answer's id (default: none)"},
                pairs.wrong_id);
}

}  // namespace

void add_pair_options(Verb& verb, PairSource& pairs) {
  add_any_pair_options(verb, Corrupt::read, pairs);
}

void add_clean_pair_options(Verb& verb, PairSource& pairs) {
  add_any_pair_options(verb, Corrupt::unread, pairs);
}

void add_pair_file_options(Verb& verb, PairSource& pairs) {
  verb.options().group("Pairs");
  add_file_options(verb, " (required)", Corrupt::read, pairs);
}

void add_metric_options(Verb& verb, MetricOptions& metric) {
  Options& options = verb.options();
  options.group("What to measure");
  options.choice({"--metric", "NAME", "see below"}, metric.metric);
  options.text({"--at", "LIST",
                "positions that the metric reads, see below (default: the last token; the mask of "
                "a masked model)"},
               metric.at);
  verb.note("Metrics",
            "logit-diff        mean logit of the answers - mean logit of the wrong answers\n"
            "log-prob, prob    mean log-probability or probability of the answers\n"
            "rank              place of the best answer, 0 = the first choice\n"
            "kl                KL(clean run || changed run) of the predictions, in nats\n"
            "total-variation   half the sum of |p clean - p changed|\n"
            "loss              mean negative log-likelihood of the prompt's own next tokens\n"
            "top1-change       1 where the first choice is another than in the clean run\n"
            "label-logit       classifiers: logit of the label\n"
            "embedding-shift   encoders without a head: 1 - cosine to the clean embedding\n"
            "An effect is the metric after the change minus the metric before it. Of kl,\n"
            "total-variation, top1-change and embedding-shift, which cannot be negative, there\n"
            "are intervals and no p.");
}

void add_sweep_options(Options& options, SweepOptions& sweep) {
  options.flag(
      {"--exact", "", "the shapes of one full run a cell: slower, and bit-identical to --naive"},
      sweep.exact);
  options.flag({"--naive", "", "one full forward pass a cell, the slow loop itself"}, sweep.naive);
  options.value({"--verify", "K",
                 "run K cells again by the slow loop and report the largest difference (default: "
                 "1 %, at least 3)"},
                [&sweep](const std::string& text, const std::string& option) {
                  sweep.verify = static_cast<int>(Options::parse_bounded(text, kAnyCount, option));
                });
  options.integer({"--resamples", "N", "draws of bootstraps and of sign flips"}, {100, 10'000'000},
                  sweep.bootstrap);
}

void add_experiment_output_options(Options& options, DeliveryOptions& output) {
  options.group("Output");
  add_result_option(options,
                    "file to write (default: none, the result is printed); FILE.json beside it "
                    "gets its hash, the time and the command line",
                    output.out);
  add_long_run_options(options, output);
}

void add_per_prompt_option(Options& options, SweepOptions& sweep) {
  options.flag({"--per-prompt", "", "also give the effect on each prompt, in -o or --json"},
               sweep.per_prompt);
}

void add_units_note(Verb& verb) {
  verb.note("Names of units",
            "5.1          query head 1 of layer 5; ranges as in 0-3.2 or 5.*\n"
            "kv:5.1       key-value head 1 of layer 5, with every query head that reads it\n"
            "attn:5       the attention of layer 5; mlp:5 its MLP; neuron:5.17 one neuron of it\n"
            "5.1@7        head 5.1 at position 7 alone\n"
            "5.1+5.3      two units changed together");
}

}  // namespace attnscope::cli
