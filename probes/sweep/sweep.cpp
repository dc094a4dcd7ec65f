#include "attnscope/probes/sweep.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "attnscope/core/boundary.h"
#include "attnscope/core/device.h"
#include "attnscope/support/error.h"
#include "attnscope/support/philox.h"
#include "attnscope/support/text.h"
#include "chunk_runner.h"
#include "equal_rows.h"
#include "plan.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;

// Planned operations of a shard.
constexpr double kShardFlops = 2e12;
// A shard that has come to the end of a chunk ends there too once it holds so many: a second or so
// of work, without running a chunk's prompts twice.
constexpr double kShardLeastFlops = 5e10;
// Prompts that are run alone, twice, to know what does not depend on any edit.
constexpr int kFloorPrompts = 8;
constexpr double kVerifyShare = 0.01;
constexpr std::int64_t kVerifyLeast = 3;

// Batches [begin, end) of a chunk, blocks before waves.
struct Part {
  std::size_t chunk = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};
using Shard = std::vector<Part>;

std::size_t batches_of(const Chunk& chunk) {
  return chunk.blocks.size() + chunk.waves.size();
}

std::vector<Shard> cut_shards(const SweepWork& work) {
  std::vector<Shard> shards(1);
  double flops = 0;
  for (std::size_t c = 0; c < work.chunks.size(); ++c) {
    const std::size_t batches = std::max<std::size_t>(1, batches_of(work.chunks[c]));
    const double each = work.chunks[c].flops / static_cast<double>(batches);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < batches; ++i) {
      if (flops > 0 && flops + each > kShardFlops) {
        if (i > begin) shards.back().push_back({c, begin, i});
        begin = i;
        shards.emplace_back();
        flops = 0;
      }
      flops += each;
    }
    shards.back().push_back({c, begin, batches});
    if (flops >= kShardLeastFlops && c + 1 < work.chunks.size()) {
      shards.emplace_back();
      flops = 0;
    }
  }
  return shards;
}

// Calls task(i) for i in [0, count) on `workers` threads; the first error is thrown again.
void run_on_threads(int workers, std::size_t count, const std::function<void(std::size_t)>& task) {
  if (workers <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) task(i);
    return;
  }
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex mutex;
  const auto work = [&] {
    try {
      at::init_num_threads();
      for (std::size_t i = next++; i < count; i = next++) task(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> threads;
  for (int w = 0; w < workers; ++w) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

// Which engine batches of each length use. Exact and naive runs have one row and any engine.
class SweepEngines {
 public:
  SweepEngines(const Model& model, const std::vector<SweepPrompt>& prompts,
               const SweepSettings& settings)
      : asked_(settings.engine) {
    if (settings.mode != SweepMode::fast) return;
    const c10::InferenceMode inference;
    for (const SweepPrompt& prompt : prompts) {
      const auto length = static_cast<int>(prompt.row.ids.size());
      if (by_length_.contains(length)) continue;
      const std::optional<Engine> engine = engine_of_equal_rows(model, length, asked_);
      by_length_[length] = engine.value_or(asked_);
      rows_are_equal_ = rows_are_equal_ && engine;
    }
    // Cells that change patterns are then compared with a clean run that has explicit ones too.
    if (!rows_are_equal_ && asked_ == Engine::automatic) asked_ = Engine::reference;
  }

  bool rows_are_equal() const { return rows_are_equal_; }
  Engine asked() const { return asked_; }
  Engine of_length(int length) const {
    const auto found = by_length_.find(length);
    return !rows_are_equal_ || found == by_length_.end() ? asked_ : found->second;
  }
  // "auto", "auto, reference".
  std::string words() const {
    if (!rows_are_equal_) return std::string(engine_name(asked_)) + ", one cell a run";
    std::set<std::string> names;
    for (const auto& [length, engine] : by_length_) names.insert(engine_name(engine));
    if (names.empty()) names.insert(engine_name(asked_));
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return list;
  }

 private:
  Engine asked_;
  bool rows_are_equal_ = true;
  std::map<int, Engine> by_length_;
};

// Where rows of a batch would not be treated alike, cells run one by one.
SweepSettings with_possible_mode(SweepSettings settings, const SweepEngines& engines) {
  if (engines.rows_are_equal()) return settings;
  settings.mode = SweepMode::exact;
  settings.engine = engines.asked();
  return settings;
}

class Sweep {
 public:
  Sweep(const Model& model, const std::vector<Cell>& cells, const std::vector<SweepPrompt>& prompts,
        const SweepSettings& settings)
      : model_(model),
        cells_(cells),
        prompts_(prompts),
        engines_(model, prompts, settings),
        settings_(with_possible_mode(settings, engines_)),
        work_(plan_work(model, cells, prompts, settings_)),
        shards_(cut_shards(work_)),
        start_(Clock::now()) {}

  SweepPlan plan() const;
  void check_budget(const SweepPlan& plan) const;
  void check_cells() const;
  SweepResult run();

 private:
  std::vector<SweepRow> run_shard(const Shard& shard);
  void run_part(const Part& part, int workers, std::vector<SweepRow>& rows);
  std::vector<SweepRow> run_batch(const ChunkRunner& runner, const Chunk& chunk,
                                  std::size_t batch) const;
  std::vector<SweepRow> run_naive_batch(const ChunkRunner& runner, const BlockItem& block) const;
  void keep(const std::vector<SweepRow>& rows, SweepResult& result) const;
  bool ran_alone(int prompt) const;
  void measure_floor(SweepResult& result) const;
  void verify(SweepResult& result) const;
  std::int64_t runs() const { return static_cast<std::int64_t>(cells_.size() * prompts_.size()); }
  void check_stop() const;
  void report(std::size_t measured);

  const Model& model_;
  const std::vector<Cell>& cells_;
  const std::vector<SweepPrompt>& prompts_;
  SweepEngines engines_;
  SweepSettings settings_;
  SweepWork work_;
  std::vector<Shard> shards_;
  Clock::time_point start_;
  std::mutex mutex_;
  std::atomic<std::int64_t> done_ = 0;  // read by every thread that is told to stop
  std::int64_t kept_ = 0;
};

SweepPlan Sweep::plan() const {
  SweepPlan plan;
  plan.cells = static_cast<std::int64_t>(cells_.size());
  plan.prompts = static_cast<std::int64_t>(prompts_.size());
  plan.runs = runs();
  for (const Chunk& chunk : work_.chunks) plan.flops += chunk.flops;
  plan.naive_flops = work_.naive_flops;
  plan.memory_bytes = work_.memory_bytes;
  plan.shards = static_cast<int>(shards_.size());
  return plan;
}

void Sweep::check_stop() const {
  if (settings_.stop == nullptr || !*settings_.stop) return;
  throw Error(ErrorKind::interrupted, "SW20",
              {.where = settings_.stage.empty() ? "sweep" : "stage " + settings_.stage,
               .what = "stopped by a signal after " + std::to_string(done_.load()) + " of " +
                       count_of(static_cast<std::uint64_t>(runs()), "run")});
}

void Sweep::report(std::size_t measured) {
  const std::lock_guard lock(mutex_);
  done_ += static_cast<std::int64_t>(measured);
  if (settings_.progress == nullptr) return;
  ProgressState state;
  state.stage = settings_.stage;
  state.items_done = done_;
  state.items_total = runs();
  state.tokens_done = done_;
  state.tokens_total = state.items_total;
  state.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const auto fresh = static_cast<double>(done_ - kept_);
  if (state.seconds > 0) state.tokens_per_second = fresh / state.seconds;
  if (state.tokens_per_second > 0) {
    state.seconds_left = static_cast<double>(state.items_total - done_) / state.tokens_per_second;
  }
  settings_.progress->update(state);
}

std::vector<SweepRow> rows_of(const BatchFindings& found) {
  std::vector<SweepRow> rows;
  for (const Measured& m : found.measured) rows.push_back({m.cell, m.prompt, m.effect, m.placebo});
  rows.push_back({kUntouchedRow, 0, found.untouched, 0});
  return rows;
}

std::vector<SweepRow> Sweep::run_naive_batch(const ChunkRunner& runner,
                                             const BlockItem& block) const {
  std::vector<SweepRow> rows;
  for (const RowRef& row : block.rows) {
    const auto place = static_cast<std::size_t>(row.prompt);
    const MetricValue value = runner.run_naive(row.cell, row.prompt);
    const MetricValue& clean = runner.base().metric[place];
    rows.push_back({row.cell, runner.base().prompts[place], value.value - clean.value,
                    value.placebo - clean.placebo});
  }
  return rows;
}

std::vector<SweepRow> Sweep::run_batch(const ChunkRunner& runner, const Chunk& chunk,
                                       std::size_t batch) const {
  if (batch < chunk.blocks.size()) {
    const BlockItem& block = chunk.blocks[batch];
    return settings_.mode == SweepMode::naive ? run_naive_batch(runner, block)
                                              : rows_of(runner.run_block(block));
  }
  return rows_of(runner.run_wave(chunk.waves[batch - chunk.blocks.size()]));
}

void Sweep::run_part(const Part& part, int workers, std::vector<SweepRow>& rows) {
  check_stop();
  const Chunk& chunk = work_.chunks[part.chunk];
  const c10::InferenceMode inference;
  SweepSettings settings = settings_;
  settings.engine = engines_.of_length(chunk.length);
  const bool first = part.begin == 0;
  const ChunkRunner runner(model_, cells_, prompts_, work_, chunk, settings,
                           first ? DonorMetric::measured : DonorMetric::skipped);
  if (first) {
    for (std::size_t p = 0; p < chunk.prompts.size(); ++p) {
      const std::int64_t prompt = chunk.prompts[p];
      const MetricValue& metric = runner.base().metric[p];
      rows.push_back({kBaselineRow, prompt, metric.value, metric.placebo});
      if (!runner.base().donor_metric.empty()) {
        rows.push_back({kDonorRow, prompt, runner.base().donor_metric[p], 0});
      }
    }
    const std::vector<Measured> rest = runner.unreachable();
    for (const Measured& m : rest) rows.push_back({m.cell, m.prompt, m.effect, m.placebo});
    report(rest.size());
  }
  const std::size_t end = std::min(part.end, batches_of(chunk));
  std::vector<std::vector<SweepRow>> found(end - std::min(part.begin, end));
  run_on_threads(workers, found.size(), [&](std::size_t i) {
    check_stop();
    const c10::InferenceMode in_thread;
    found[i] = run_batch(runner, chunk, part.begin + i);
    report(static_cast<std::size_t>(std::count_if(
        found[i].begin(), found[i].end(), [](const SweepRow& row) { return row.cell >= 0; })));
  });
  for (const std::vector<SweepRow>& batch : found) {
    rows.insert(rows.end(), batch.begin(), batch.end());
  }
}

// Many chunks keep all threads busy by themselves; the batches of few are shared out.
std::vector<SweepRow> Sweep::run_shard(const Shard& shard) {
  const int workers = std::max(1, settings_.workers);
  std::vector<std::vector<SweepRow>> parts(shard.size());
  if (shard.size() >= 2 * static_cast<std::size_t>(workers)) {
    run_on_threads(workers, shard.size(), [&](std::size_t i) { run_part(shard[i], 1, parts[i]); });
  } else {
    for (std::size_t i = 0; i < shard.size(); ++i) run_part(shard[i], workers, parts[i]);
  }
  std::vector<SweepRow> rows;
  for (const std::vector<SweepRow>& part : parts) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

void Sweep::keep(const std::vector<SweepRow>& rows, SweepResult& result) const {
  for (const SweepRow& row : rows) {
    const auto prompt = static_cast<std::size_t>(row.prompt);
    if (row.cell == kBaselineRow) {
      result.baseline[prompt] = row.value;
    } else if (row.cell == kDonorRow) {
      result.donor_baseline[prompt] = row.value;
    } else if (row.cell == kUntouchedRow) {
      result.batch_difference = std::max(result.batch_difference, row.value);
    } else {
      const auto place = static_cast<std::size_t>(row.cell * result.n_prompts + row.prompt);
      result.effects[place] = row.value;
      if (!result.placebo_effects.empty()) result.placebo_effects[place] = row.placebo;
      if (!std::isfinite(row.value)) {
        ++result.non_finite;
        result.effects[place] = kNotMeasured;
      }
    }
  }
}

// Whether the sweep's own clean run of a prompt had no other prompt beside it.
bool Sweep::ran_alone(int prompt) const {
  return settings_.mode == SweepMode::fast &&
         std::any_of(work_.chunks.begin(), work_.chunks.end(),
                     [&](const Chunk& chunk) { return chunk.prompts == std::vector<int>{prompt}; });
}

int significant_bits(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return 8;
    case DType::f16:
      return 11;
    case DType::f64:
      return 53;
    default:
      return 24;
  }
}

// Some prompts alone, and once more: differences that no edit has made.
void Sweep::measure_floor(SweepResult& result) const {
  const c10::InferenceMode inference;
  result.rounding = rounding_of(result.baseline, model_.dtype());
  const int step = std::max(1, static_cast<int>(prompts_.size()) / kFloorPrompts);
  for (std::size_t p = 0; p < prompts_.size(); p += static_cast<std::size_t>(step)) {
    SweepSettings alone = settings_;
    alone.mode = SweepMode::fast;
    alone.engine = engines_.of_length(static_cast<int>(prompts_[p].row.ids.size()));
    const auto metric_alone = [&] {
      return run_base(model_, prompts_, {static_cast<int>(p)}, {}, alone).metric[0].value;
    };
    const double first = ran_alone(static_cast<int>(p)) ? result.baseline[p] : metric_alone();
    result.rerun_difference = std::max(result.rerun_difference, std::abs(metric_alone() - first));
    result.batch_difference =
        std::max(result.batch_difference, std::abs(first - result.baseline[p]));
  }
}

// Random finished cells, naively.
void Sweep::verify(SweepResult& result) const {
  const std::int64_t runs = result.n_cells * result.n_prompts;
  std::int64_t wanted = settings_.verify;
  if (wanted < 0) {
    wanted =
        std::max(kVerifyLeast,
                 static_cast<std::int64_t>(std::ceil(kVerifyShare * static_cast<double>(runs))));
  }
  if (settings_.mode == SweepMode::naive || wanted == 0) return;
  Philox random(settings_.seed, 0x5EEDULL);
  std::map<int, std::set<int>> by_prompt;
  std::int64_t chosen = 0;
  for (std::int64_t tries = 0; chosen < std::min(wanted, runs) && tries < 20 * runs + 100;
       ++tries) {
    const auto cell = static_cast<int>(random.below(static_cast<std::uint32_t>(result.n_cells)));
    const auto prompt =
        static_cast<int>(random.below(static_cast<std::uint32_t>(result.n_prompts)));
    if (std::isnan(result.effect(cell, prompt))) continue;
    if (by_prompt[prompt].insert(cell).second) ++chosen;
  }
  const c10::InferenceMode inference;
  std::vector<std::pair<int, std::set<int>>> tasks(by_prompt.begin(), by_prompt.end());
  std::vector<double> largest(tasks.size(), 0);
  SweepSettings naive = settings_;
  naive.mode = SweepMode::naive;
  const SweepWork none = {.routes = {}, .variants = {}, .needs = work_.needs, .chunks = {}};
  run_on_threads(std::max(1, settings_.workers), tasks.size(), [&](std::size_t i) {
    check_stop();
    const c10::InferenceMode in_thread;
    const auto& [prompt, list] = tasks[i];
    if (list.empty()) return;
    const Chunk chunk = {
        .prompts = {prompt},
        .length = static_cast<int>(prompts_[static_cast<std::size_t>(prompt)].row.ids.size())};
    const ChunkRunner runner(model_, cells_, prompts_, none, chunk, naive, DonorMetric::skipped);
    for (const int cell : list) {
      const double effect = runner.run_naive(cell, 0).value - runner.base().metric[0].value;
      largest[i] = std::max(largest[i], std::abs(effect - result.effect(cell, prompt)));
    }
  });
  result.verified = chosen;
  result.verify_difference = 0;
  for (const double difference : largest) {
    result.verify_difference = std::max(result.verify_difference, difference);
  }
}

void Sweep::check_budget(const SweepPlan& plan) const {
  if (settings_.budget > 0 && plan.memory_bytes > settings_.budget) {
    throw Error(ErrorKind::limit, "SW10",
                {.where = "--budget",
                 .what = "the sweep needs more memory than allowed",
                 .expected = "at most " + format_bytes(settings_.budget),
                 .got = "about " + format_bytes(plan.memory_bytes),
                 .next = "use fewer --threads or shorter prompts, or raise --budget"});
  }
}

// A cell that exists on no prompt would say nothing.
void Sweep::check_cells() const {
  for (const Cell& cell : cells_) {
    const bool exists = std::any_of(prompts_.begin(), prompts_.end(),
                                    [&](const SweepPrompt& p) { return exists_on(cell, p); });
    if (exists) continue;
    throw Error(
        ErrorKind::input, "SW05",
        {.where = cell.name, .what = "this cell never fired: no prompt has what it changes"});
  }
}

SweepResult Sweep::run() {
  SweepResult result;
  result.plan = plan();
  check_budget(result.plan);
  check_cells();
  result.n_cells = result.plan.cells;
  result.n_prompts = result.plan.prompts;
  const auto size = static_cast<std::size_t>(result.plan.runs);
  result.effects.assign(size, kNotMeasured);
  const bool placebo = std::any_of(prompts_.begin(), prompts_.end(), [](const SweepPrompt& prompt) {
    return !prompt.target.placebo_answers.empty();
  });
  if (placebo) result.placebo_effects.assign(size, kNotMeasured);
  result.baseline.assign(prompts_.size(), kNotMeasured);
  result.donor_baseline.assign(prompts_.size(), kNotMeasured);
  if (settings_.store != nullptr) settings_.store->begin(result.plan.shards);
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    const int shard = static_cast<int>(s);
    if (settings_.store != nullptr) {
      if (const auto stored = settings_.store->load(shard)) {
        keep(*stored, result);
        const auto cells = std::count_if(stored->begin(), stored->end(),
                                         [](const SweepRow& row) { return row.cell >= 0; });
        kept_ += cells;
        report(static_cast<std::size_t>(cells));
        continue;
      }
    }
    const std::vector<SweepRow> rows = run_shard(shards_[s]);
    keep(rows, result);
    if (settings_.store != nullptr) settings_.store->save(shard, rows);
  }
  measure_floor(result);
  verify(result);
  result.engine = engines_.words();
  result.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  return result;
}

}  // namespace

double rounding_of(const std::vector<double>& metrics, DType dtype) {
  double largest = 0;
  for (const double metric : metrics) {
    if (std::isfinite(metric)) largest = std::max(largest, std::abs(metric));
  }
  return largest == 0 ? 0 : std::ldexp(1.0, std::ilogb(largest) - significant_bits(dtype));
}

SweepPlan plan_sweep(const Model& model, const std::vector<Cell>& cells,
                     const std::vector<SweepPrompt>& prompts, const SweepSettings& settings) {
  const OneComputeThread alone;
  const Sweep sweep(model, cells, prompts, settings);
  const SweepPlan plan = sweep.plan();
  sweep.check_budget(plan);
  sweep.check_cells();
  return plan;
}

SweepResult run_sweep(const Model& model, const std::vector<Cell>& cells,
                      const std::vector<SweepPrompt>& prompts, const SweepSettings& settings) {
  return at_boundary("sweep", [&] {
    const OneComputeThread alone;
    return Sweep(model, cells, prompts, settings).run();
  });
}

}  // namespace attnscope
