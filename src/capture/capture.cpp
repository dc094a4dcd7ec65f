#include "attnscope/capture/capture.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "attnscope/capture/run_choices.h"
#include "attnscope/capture/unfinished.h"
#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/core/boundary.h"
#include "attnscope/core/device.h"
#include "attnscope/model/model.h"
#include "attnscope/spec/spec_json.h"
#include "attnscope/storage/output.h"
#include "attnscope/storage/reader.h"
#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/free_memory.h"
#include "attnscope/support/sha256.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "capture_record.h"
#include "device_memory.h"
#include "estimate.h"
#include "prompt_set.h"
#include "shard_sink.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<int> heads_per_layer(const ModelConfig& config) {
  std::vector<int> heads;
  for (int l = 0; l < config.n_layers; ++l) heads.push_back(config.n_heads(l));
  return heads;
}

void check_free_space(const std::string& path, const CapturePlan& plan) {
  const std::uint64_t free = free_bytes(path);
  if (free >= plan.disk_bytes) return;
  throw Error(ErrorKind::output, "CA32",
              {.where = escape_untrusted(path, 4096),
               .what = "the disk has too little room for the result",
               .expected = "about " + format_bytes(plan.disk_bytes),
               .got = format_bytes(free)});
}

int compressor_count(int asked, int compute_threads) {
  if (asked > 0) return asked;
  constexpr int kMost = 8;
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return std::clamp(std::max(cores - compute_threads, cores / 4), 1, kMost);
}

Batch batch_of(const CapturePlan& plan, const BatchPlan& batch, const ModelConfig& config) {
  std::vector<TokenRow> rows;
  for (const int p : batch.prompts) {
    rows.push_back(token_row(plan.prompts[static_cast<std::size_t>(p)], config));
  }
  return make_batch(rows);
}

WriterOptions writer_options(const CapturePlan& plan, const ShardPlan& shard) {
  WriterOptions options;
  options.layout = plan.layout;
  options.packed.prompts = shard.range.count;
  // One width in every shard, so that they can be joined.
  for (const EncodedPrompt& prompt : plan.prompts) {
    for (const std::string& text : prompt.token_texts) {
      options.packed.token_text_bytes = std::max(options.packed.token_text_bytes, text.size());
    }
  }
  for (std::int64_t p = shard.range.first; p < shard.range.first + shard.range.count; ++p) {
    const auto i = static_cast<std::size_t>(p);
    const std::size_t kept = plan.positions[i].size();
    options.packed.tokens += static_cast<std::int64_t>(plan.prompts[i].size());
    options.packed.rows += static_cast<std::int64_t>(kept == 0 ? plan.prompts[i].size() : kept);
  }
  return options;
}

// Runs the shards of a plan and commits each.
class ShardRunner {
 public:
  ShardRunner(RunContext run, const Model& model, const DeviceMemory& memory,
              ProgressListener* progress)
      : run_(std::move(run)),
        model_(model),
        memory_(memory),
        progress_(progress),
        start_(Clock::now()) {
    run_.layer_done = [this] { layer_done(); };
    options_.engine = engine_of(run_.engine);
    options_.logits.at = LogitsAt::none;
    // The plan has checked every prompt.
    if (run_.spec.beyond_context) options_.context = ContextLimit::exceed;
    if (keeps(run_.plan, Site::logits)) options_.logits.at = LogitsAt::all;
    if (run_.plan.layers_computed < run_.config.n_layers) {
      options_.stop_after_layer = run_.plan.layers_computed - 1;
    }
    state_.items_total = run_.plan.part.count;
    state_.tokens_total = run_.plan.tokens;
  }

  void run(const ShardPlan& shard, CaptureWriter& writer) {
    try {
      ShardSink sink(run_, shard, writer);
      sink.begin();
      for (const BatchPlan& batch : shard.batches) {
        check_stop(run_.stop);
        batch_tokens_ = tokens_of(batch, shard.range);
        layers_done_ = 0;
        run_batch(batch, sink);
        advance(batch, shard.range);
      }
      run_.pipeline.drain();
    } catch (...) {
      // The writer must not be in use when it is dropped.
      run_.pipeline.discard();
      throw;
    }
    const std::int64_t found = run_.nan_values;
    if (run_.spec.fail_on_nan && found > 0) {
      throw Error(ErrorKind::input, "CA41",
                  {.where = "--fail-on-nan",
                   .what = count_of(found, "value") + (found == 1 ? " is" : " are") + " NaN",
                   .next = "with --strict a NaN in the weights is an error that names its tensor"});
    }
    writer.finish();
  }

  void skip(const ShardPlan& shard) {
    for (const BatchPlan& batch : shard.batches) {
      const std::int64_t before = state_.tokens_done;
      advance(batch, shard.range);
      kept_tokens_ += state_.tokens_done - before;
    }
  }

 private:
  std::int64_t tokens_of(int prompt) const {
    return static_cast<std::int64_t>(run_.plan.prompts[static_cast<std::size_t>(prompt)].size());
  }

  void run_batch(const BatchPlan& planned, ShardSink& sink) {
    const Batch batch = batch_of(run_.plan, planned, run_.config);
    Taps taps;
    taps.observers.push_back(&sink);
    sink.begin_batch(planned);
    const RunResult result = run_model(batch, taps, size_of(run_.plan, planned));
    run_.nan_values += result.non_finite_outputs;
    sink.end_batch();
  }

  RunResult run_model(const Batch& batch, const Taps& taps, BatchSize size) const {
    try {
      return at_boundary("forward pass of " + count_of(batch.size(), "prompt") + " of up to " +
                             count_of(batch.padded_length(), "token"),
                         [&] { return model_.run(batch, taps, options_); });
    } catch (const Error& error) {
      if (run_.device.is_cpu()) throw;
      memory_.rethrow(error, size);
    }
  }

  std::int64_t tokens_of(const BatchPlan& batch, ShardRange ours) const {
    std::int64_t tokens = 0;
    for (const int p : batch.prompts) {
      if (p >= ours.first && p < ours.first + ours.count) tokens += tokens_of(p);
    }
    return tokens;
  }

  void advance(const BatchPlan& batch, ShardRange ours) {
    state_.items_done += std::count_if(batch.prompts.begin(), batch.prompts.end(), [&](int p) {
      return p >= ours.first && p < ours.first + ours.count;
    });
    state_.tokens_done += tokens_of(batch, ours);
    show(state_);
  }

  // A prompt of many thousand tokens takes minutes, so its layers are shown as parts of it.
  void layer_done() {
    ++layers_done_;
    const auto layers = static_cast<std::int64_t>(run_.plan.statistics_layers.size());
    ProgressState state = state_;
    state.tokens_done += batch_tokens_ * layers_done_ / layers;
    show(state);
  }

  void show(ProgressState state) const {
    if (progress_ == nullptr) return;
    state.seconds = seconds_since(start_);
    const auto computed = static_cast<double>(state.tokens_done - kept_tokens_);
    const auto left = static_cast<double>(state.tokens_total - state.tokens_done);
    state.tokens_per_second = state.seconds > 0 ? computed / state.seconds : 0;
    state.seconds_left = computed > 0 ? left / state.tokens_per_second : 0;
    progress_->update(state);
  }

  RunContext run_;
  const Model& model_;
  const DeviceMemory& memory_;
  ProgressListener* progress_;
  Clock::time_point start_;
  RunOptions options_;
  ProgressState state_;
  std::int64_t kept_tokens_ = 0;
  std::int64_t batch_tokens_ = 0;  // of the batch that runs
  std::int64_t layers_done_ = 0;   // of it
};

// Statistics of prompts whose shards an earlier run had committed.
void add_from_file(const std::string& path, const CapturePlan& plan,
                   const std::vector<bool>& computed, HeadSummary& summary) {
  const CaptureReader reader(path, {.trust = Trust::own});
  for (std::size_t s = 0; s < plan.shards.size(); ++s) {
    if (computed[s]) continue;
    const ShardRange range = plan.shards[s].range;
    for (std::int64_t p = range.first; p < range.first + range.count; ++p) {
      const std::vector<float> stats = reader
                                           .read_table(static_cast<int>(p - plan.part.first),
                                                       Stack::self, AttentionTable::head_stats)
                                           .as_float();
      const std::size_t layers = plan.statistics_layers.size();
      const std::size_t per_layer = stats.size() / layers;
      for (std::size_t l = 0; l < layers; ++l) {
        const auto heads = static_cast<std::size_t>(
            summary.heads_per_layer()[static_cast<std::size_t>(plan.statistics_layers[l])]);
        summary.add(plan.statistics_layers[l],
                    std::span(stats).subspan(l * per_layer, heads * kHeadStatCount));
      }
    }
  }
}

// The whole work of a capture after its plan.
class CaptureJob {
 public:
  CaptureJob(const CaptureSpec& spec, const CaptureContext& context, const Checkpoint& checkpoint,
             CaptureResult& result, Warnings& warnings)
      : spec_(spec),
        context_(context),
        checkpoint_(checkpoint),
        result_(result),
        warnings_(warnings) {}

  // What run() would refuse before it computes anything. The hashes, which take long, are needed
  // only to know what would be resumed.
  void check(const PromptSet& prompts) {
    if (spec_.output.out.empty()) return;
    prepare();
    const bool resume = spec_.output.resume;
    Output::check(
        output_options(resume ? hash_inputs(checkpoint_, prompts.file_sha256) : InputHashes{}));
  }

  void run(const PromptSet& prompts) {
    times_.started = utc_now();
    prepare();
    const InputHashes hashes = hash_inputs(checkpoint_, prompts.file_sha256);
    // It holds the lock until the sidecar is written, too.
    Output& output = output_.emplace(output_options(hashes), warnings_);
    result_.heads = HeadSummary(heads_per_layer(checkpoint_.config));
    std::vector<bool> computed(result_.plan.shards.size(), false);
    if (!output.complete()) run_shards(output, hashes, computed);
    result_.sha256 = output.complete() ? sha256_of_file(spec_.output.out, "CA33") : output.finish();
    if (std::find(computed.begin(), computed.end(), false) != computed.end()) {
      add_from_file(spec_.output.out, result_.plan, computed, result_.heads);
    }
    result_.path = spec_.output.out;
    result_.sidecar = sidecar_path(spec_.output.out);
    result_.file_bytes = file_size(spec_.output.out);
    result_.shards_kept = std::count(computed.begin(), computed.end(), false);
    result_.device = resolved_.compute.device;
    result_.dtype = choice_name(resolved_.compute.dtype);
    result_.engine = choice_name(engine_.engine);
    result_.engine_reason = engine_.reason;
    result_.threads = resolved_.compute.threads;
    hashes_ = hashes;
  }

  void write_sidecar(const std::vector<SkippedLine>& skipped) {
    times_.finished = utc_now();
    output_->write_sidecar(sidecar_of(resolved_, result_, hashes_, context_, skipped, times_));
  }

 private:
  void prepare() {
    device_ = parse_device(spec_.compute.device);
    check_free_space(spec_.output.out, result_.plan);
    engine_ = decide_engine(spec_, checkpoint_.config, result_.plan, device_);
    require_engine(engine_.engine, spec_, checkpoint_.config, result_.plan, device_);
    resolved_ = resolve(spec_, result_.plan, engine_.engine, device_.str(), at::get_num_threads());
  }

  OutputOptions output_options(const InputHashes& hashes) const {
    OutputOptions options;
    options.path = spec_.output.out;
    options.if_exists = if_exists(spec_.output);
    options.run_id = config_hash(resolved_, hashes.all());
    options.config_json = resume_json(resolved_options_json(resolved_), hashes, resolved_.shard);
    options.shards.clear();
    for (const ShardPlan& shard : result_.plan.shards) options.shards.push_back(shard.range);
    options.part = part();
    options.before_each_join = [this] { check_stop(context_.stop); };
    return options;
  }

  // What the result is of the whole run (--shard), counted from 0.
  std::optional<ShardId> part() const {
    if (spec_.shard.count == 1) return std::nullopt;
    return ShardId{spec_.shard.index - 1, spec_.shard.count};
  }

  void run_shards(Output& output, const InputHashes& hashes, std::vector<bool>& computed) {
    const DeviceMemory device_memory(checkpoint_.config, spec_, result_.plan,
                                     engine_of(engine_.engine), free_device_memory(device_));
    device_memory.expect_fits();
    LoadOptions load;
    load.dtype = load_dtype(spec_.compute.dtype);
    load.device = device_;
    load.strictness = strictness_of(spec_.strict);
    const Model model = at_boundary("loading the weights",
                                    [&] { return Model::load(checkpoint_, load, warnings_); });
    // A limit on addresses is hard, and libraries meet it less well than this.
    const MemoryEstimate& memory = result_.plan.memory;
    expect_within(free_addresses(),
                  {.bytes = memory.activations + memory.in_flight,
                   .what = "activations and results on their way",
                   .where = "forward passes",
                   .next = "use shorter prompts, a smaller --batch or fewer hooks, "
                           "or raise the limit"});
    WritePipeline pipeline(compressor_count(context_.compressor_threads, resolved_.compute.threads),
                           kInFlightBytes);
    std::atomic<std::int64_t> nan_values = 0;
    const RunContext run{.config = checkpoint_.config,
                         .spec = spec_,
                         .plan = result_.plan,
                         .engine = engine_.engine,
                         .device = device_,
                         .pipeline = pipeline,
                         .summary = result_.heads,
                         .nan_values = nan_values,
                         .stop = context_.stop};
    ShardRunner runner(run, model, device_memory, context_.progress);
    const ModelInfo model_record = model_info(checkpoint_, hashes);
    RunInfo run_record = run_info(resolved_.compute, resolved_options_json(resolved_));
    run_record.engine_reason = engine_.reason;
    for (std::size_t s = 0; s < result_.plan.shards.size(); ++s) {
      const ShardPlan& shard = result_.plan.shards[s];
      const int index = static_cast<int>(s);
      if (output.is_committed(index)) {
        runner.skip(shard);
        continue;
      }
      check_stop(context_.stop);
      FileInfo file = file_info(FileKind::capture, config_hash(resolved_, hashes.all()));
      file.shard = output.shards() > 1 ? ShardId{index, output.shards()} : part();
      CaptureWriter writer(output.begin(index), file, model_record, run_record,
                           writer_options(result_.plan, shard));
      runner.run(shard, writer);
      output.commit(index);
      computed[s] = true;
    }
    result_.non_finite = nan_values;
  }

  const CaptureSpec& spec_;
  const CaptureContext& context_;
  const Checkpoint& checkpoint_;
  CaptureResult& result_;
  Warnings& warnings_;
  c10::Device device_ = c10::Device(c10::kCPU);
  EngineDecision engine_;
  CaptureSpec resolved_;
  InputHashes hashes_;
  RunTimes times_;
  std::optional<Output> output_;
};

CaptureResult capture(const CaptureSpec& spec, const CaptureContext& context) {
  const Clock::time_point start = Clock::now();
  validate(spec);
  CaptureResult result;
  Warnings warnings;
  const Checkpoint checkpoint = open_checkpoint(spec.model, {strictness_of(spec.strict)}, warnings);
  check_inputs_are_kept(spec.output.out, spec.model, checkpoint, {spec.prompts.prompts_file});
  PromptSet prompts = load_prompts(spec, checkpoint);
  for (const std::string& line : prompts.warnings) warnings.add(line);
  result.plan = plan_capture(checkpoint.config, std::move(prompts.prompts), spec, context.limits);
  result.prompts_skipped = static_cast<std::int64_t>(prompts.skipped.size());
  if (!prompts.skipped.empty()) warnings.add(describe_skipped(prompts.skipped));
  if (result.plan.layout == FileLayout::packed && spec.hooks.empty() && !spec.stats_only) {
    warnings.add("the packed layout (more than " + std::to_string(kMaxPromptGroups) +
                 " prompts) keeps head statistics only; name --hooks pattern for the maps too");
  }
  if (context.on_plan) context.on_plan(result.plan);
  CaptureJob job(spec, context, checkpoint, result, warnings);
  if (spec.output.dry_run) {
    job.check(prompts);
    result.warnings = warnings.lines();
    result.seconds = seconds_since(start);
    return result;
  }
  job.run(prompts);
  if (result.non_finite > 0) {
    warnings.add("NaN or infinite, and stored as such: " + count_of(result.non_finite, "value") +
                 " of the result");
  }
  result.warnings = warnings.lines();
  result.seconds = seconds_since(start);
  job.write_sidecar(prompts.skipped);
  return result;
}

}  // namespace

CaptureResult run_capture(const CaptureSpec& spec, const CaptureContext& context) {
  return saying_what_is_kept(spec.output, [&] { return capture(spec, context); });
}

}  // namespace attnscope
