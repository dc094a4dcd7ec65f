// From options to lens.h5.
#include "attnscope/probes/lens.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "attnscope/capture/unfinished.h"
#include "attnscope/probes/experiment_run.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "lens_record.h"

namespace attnscope {
namespace {

// All prompts of one run.
class LensRun {
 public:
  LensRun(const LensSpec& spec, const ExperimentInputs& inputs, const Model& model,
          Warnings& warnings)
      : spec_(spec),
        inputs_(inputs),
        model_(model),
        names_(model.config(), inputs.tokenizer ? &*inputs.tokenizer : nullptr) {
    const std::string obstacle = attribution_obstacle(model.config());
    attributed_ = spec.attribution && obstacle.empty();
    if (spec.attribution && !attributed_) warnings.add("no direct attribution: " + obstacle);
  }

  void add(int index) {
    const EncodedPair& pair = inputs_.pairs.pairs[static_cast<std::size_t>(index)];
    const TokenRow row = token_row(pair.clean, model_.config());
    PromptLens prompt;
    prompt.lens = logit_lens(
        model_, row,
        {.top_k = spec_.top_k, .engine = engine_of(spec_.compute.engine), .targets = pair.answers});
    prompt.reads = reads_of(pair);
    const std::vector<LogitDirection> directions = directions_of(pair, prompt);
    if (attributed_) {
      prompt.attribution = attribute_logits(
          model_, {.row = row, .positions = prompt.reads, .directions = directions});
    }
    non_finite_ += non_finite_of(prompt);
    summary_.add(prompt);
    records_.push_back(record_of_prompt(prompt, pair, index, names_));
  }

  std::int64_t non_finite() const { return non_finite_; }

  // The summary, then one record a prompt.
  std::vector<ExperimentRecord> records(const std::string& options_json) {
    std::vector<ExperimentRecord> all = {summary_.record()};
    all.front().metric = records_.front().metric;
    all.front().spec_json = options_json;
    for (ExperimentRecord& record : records_) all.push_back(std::move(record));
    return all;
  }

 private:
  static std::int64_t non_finite_of(const PromptLens& prompt) {
    const auto count = [](const at::Tensor& values) {
      return values.isfinite().logical_not().sum().item<std::int64_t>();
    };
    const std::int64_t found = count(prompt.lens.kl);
    return prompt.attribution ? found + count(prompt.attribution->total) : found;
  }

  std::vector<int> reads_of(const EncodedPair& pair) const {
    if (!spec_.positions.empty())
      return positions_on(inputs_, pair, spec_.positions, "--positions");
    return {pair.mask >= 0 ? pair.mask : static_cast<int>(pair.clean.size()) - 1};
  }

  // mean(answers) − mean(wrong answers), or of the model's own first choice where there are none.
  std::vector<LogitDirection> directions_of(const EncodedPair& pair, PromptLens& prompt) const {
    if (pair.answers.empty()) {
      prompt.direction = "logit of the model's first choice";
      std::vector<LogitDirection> own;
      for (const int read : prompt.reads) {
        own.push_back({{prompt.lens.first_choice[read].item<std::int64_t>()}, {1.0}});
      }
      return own;
    }
    prompt.direction = pair.wrongs.empty() ? "answer logit" : choice_name(MetricChoice::logit_diff);
    LogitDirection direction;
    const auto append = [&](const std::vector<std::int64_t>& ids, double sign) {
      for (const std::int64_t id : ids) {
        direction.columns.push_back(id);
        direction.weights.push_back(sign / static_cast<double>(ids.size()));
      }
    };
    append(pair.answers, 1);
    append(pair.wrongs, -1);
    return {direction};
  }

  const LensSpec& spec_;
  const ExperimentInputs& inputs_;
  const Model& model_;
  IdNames names_;
  bool attributed_ = false;
  LensSummary summary_;
  std::int64_t non_finite_ = 0;
  std::vector<ExperimentRecord> records_;
};

struct LensPlan {
  std::uint64_t memory = 0;
  std::string words;
};

LensPlan plan_of(const LensSpec& spec, const ExperimentInputs& inputs) {
  const ModelConfig& config = inputs.checkpoint.config;
  std::int64_t tokens = 0;
  std::int64_t longest = 0;
  for (const EncodedPair& pair : inputs.pairs.pairs) {
    const auto length = static_cast<std::int64_t>(pair.clean.size());
    tokens += length;
    longest = std::max(longest, length);
  }
  const std::size_t value_size = dtype_size(load_dtype(spec.compute.dtype));
  LensPlan plan;
  plan.memory = static_cast<std::uint64_t>(parameter_count(inputs.checkpoint.map)) * value_size +
                lens_memory(config, longest, value_size);
  plan.words = count_of(inputs.pairs.pairs.size(), "prompt") + " of " +
               count_of(static_cast<std::uint64_t>(tokens), "token") + ", the head at " +
               std::to_string(config.n_layers + 1) + " stages of each; memory about " +
               format_bytes(plan.memory);
  return plan;
}

void check_budget(const LensPlan& plan, std::uint64_t budget) {
  if (budget == 0 || plan.memory <= budget) return;
  throw Error(ErrorKind::limit, "LE03",
              {.where = "--budget",
               .what = "the lens would need more memory than the budget",
               .expected = "at most " + format_bytes(budget),
               .got = format_bytes(plan.memory),
               .next = "use shorter prompts or a smaller --dtype, or raise --budget"});
}

void run_all(LensRun& run, std::int64_t prompts, const ExperimentContext& context) {
  const auto start = std::chrono::steady_clock::now();
  ProgressState progress{.items_total = prompts};
  while (progress.items_done < prompts) {
    check_stop(context);
    run.add(static_cast<int>(progress.items_done++));
    progress.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (context.progress != nullptr) context.progress->update(progress);
  }
}

void fail_on_nan(std::int64_t found) {
  throw Error(ErrorKind::input, "LE02",
              {.where = "--fail-on-nan",
               .what = count_of(static_cast<std::uint64_t>(found), "value") + " NaN or infinite",
               .next = "with --strict a NaN in the weights is an error that names its tensor"});
}

ExperimentResult lens(const LensSpec& spec, const ExperimentContext& context) {
  validate(spec);
  Warnings warnings;
  const Strictness strictness = strictness_of(spec.strict);
  const ExperimentInputs inputs =
      open_inputs({.model = spec.model,
                   .pairs = spec.pairs,
                   .encoding = spec.encoding,
                   .needs = {.corrupt = CorruptUse::unused, .answers = AnswerUse::optional},
                   .strictness = strictness,
                   .out = spec.output.out},
                  warnings);
  if (const std::string obstacle = lens_obstacle(inputs.checkpoint.config); !obstacle.empty()) {
    throw Error(ErrorKind::input, "LE01",
                {.where = inputs.checkpoint.config.name,
                 .what = obstacle,
                 .next = "use a language model, or a model that labels every token"});
  }
  ExperimentResult result = begin_result(inputs, spec.compute);
  const LensPlan plan = plan_of(spec, inputs);
  check_budget(plan, spec.compute.budget);
  announce_plan(plan.words, context, result);

  LensSpec resolved = spec;
  resolved.compute = resolved_compute(spec.compute, EngineChoice::automatic);
  ExperimentOutput output(description_of(FileKind::lens, resolved, inputs), context, {}, warnings);
  if (output.ends_at_plan(result)) return result;
  std::vector<ExperimentRecord> records;
  if (auto finished = output.finished()) {
    records = std::move(*finished);
  } else {
    const Model model = load_model(inputs.checkpoint, spec.compute, strictness, warnings);
    LensRun run(spec, inputs, model, warnings);
    run_all(run, result.prompts, context);
    if (run.non_finite() > 0) {
      if (spec.fail_on_nan) fail_on_nan(run.non_finite());
      warnings.add("NaN or infinite, and stored as such: " +
                   count_of(static_cast<std::uint64_t>(run.non_finite()), "value") +
                   " of the lens; where a prediction is NaN no token comes first");
    }
    records = run.records(resolved_options_json(resolved));
  }
  output.finish(records, result);
  result.record = std::move(records.front());
  records.erase(records.begin());
  result.prompt_records = std::move(records);
  return result;
}

}  // namespace

ExperimentResult run_lens(const LensSpec& spec, const ExperimentContext& context) {
  return saying_what_is_kept(spec.output, [&] { return lens(spec, context); });
}

}  // namespace attnscope
