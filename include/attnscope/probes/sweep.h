// File: sweep.h
// Many interventions on many prompts, each measured by one number: the engine under ablation,
// patching and verdict.
//
// A cell is a set of edits that are made in one run. The engine runs only what an edit can change:
// from the layer it enters at, from the position it enters at (causal models), and of the last
// layer what the metric reads. Cells that enter at the same place run as one batch. Every batch
// carries an untouched row of each of its prompts, and an effect is the difference to that row, so
// that an inert cell has the effect 0 exactly. probes/sweep/README.md has the algebra.
//
// Example:
//   std::vector<Cell> cells = {{.name = "5.1", .edits = {{.hook = {Site::z, 5}, .heads = {1}}}}};
//   SweepResult result = run_sweep(model, cells, prompts, {});
//   result.effect(0, 3);  // metric with 5.1 zeroed − metric without, on prompt 3
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/core/taps.h"
#include "attnscope/model/model.h"
#include "attnscope/probes/metric.h"
#include "attnscope/support/progress.h"

namespace attnscope {

// Where the new value of an edit comes from.
enum class ValueSource : std::uint8_t {
  none,         // the operation needs none (zero, scale, −inf, uniform)
  constant,     // Edit::value, the same at all positions
  by_position,  // Edit::value [q …] holds the value of every position
  donor,        // the same place of a donor run of the same prompt
  noise,        // attn_out + a random vector as long as the change the other edits make to it
};

// One change. Values have no batch axis. Positions are those of the unpadded prompt; empty lists
// mean all.
struct Edit {
  HookId hook;
  Operation operation = Operation::zero;
  ValueSource source = ValueSource::none;
  std::vector<int> heads;  // as Intervention::heads
  std::vector<int> q_positions;
  std::vector<int> k_positions;  // scores and pattern
  // Instead of q_positions and k_positions: an index into SweepPrompt::position_sets.
  int q_set = -1;
  int k_set = -1;
  at::Tensor value;          // broadcasts to the selected part of one row, e.g. z [q' h' d]
  double factor = 1;         // scale
  int donor = 0;             // donor: index into SweepPrompt::donors
  std::uint64_t stream = 0;  // noise: which draw
};

// Edits made together. In a cell with a noise edit the others are made only to measure the change.
struct Cell {
  std::string name;  // "5.1"
  std::vector<Edit> edits;
};

struct SweepPrompt {
  TokenRow row;                  // what runs
  std::vector<TokenRow> donors;  // as many tokens each
  MetricTarget target;
  std::vector<std::vector<int>> position_sets;
};

enum class SweepMode : std::uint8_t {
  fast,
  exact,  // one cell a run from the layer it enters at, in the shapes of the naive loop: the same
          // bits
  naive,  // the oracle: one full forward pass a cell, logits at all positions
};

// One finding. Negative cells hold what a shard knows beside its cells.
struct SweepRow {
  std::int64_t cell = 0;
  std::int64_t prompt = 0;
  double value = 0;    // effect
  double placebo = 0;  // effect on the placebo metric
};
inline constexpr std::int64_t kBaselineRow = -1;   // the metric of the clean prompt
inline constexpr std::int64_t kDonorRow = -2;      // of its first donor
inline constexpr std::int64_t kUntouchedRow = -3;  // largest difference of untouched rows

// Where finished shards are kept, so that an interrupted sweep can go on.
class SweepStore {
 public:
  virtual ~SweepStore() = default;
  // Called first, with the number of shards that the sweep is cut into.
  virtual void begin(int shards) { static_cast<void>(shards); }
  // The rows of a shard that is there already.
  virtual std::optional<std::vector<SweepRow>> load(int shard) = 0;
  virtual void save(int shard, const std::vector<SweepRow>& rows) = 0;
};

struct SweepSettings {
  MetricChoice metric = MetricChoice::logit_diff;
  SweepMode mode = SweepMode::fast;
  Engine engine = Engine::automatic;
  int workers = 1;                   // threads; results do not depend on it
  int verify = -1;                   // cells × prompts run again naively; −1 = 1 %, at least 3
  std::uint64_t seed = 0;            // of the choice of those, and of noise
  std::int64_t batch_tokens = 2304;  // positions of a batch; at least one cell and its baseline
  std::uint64_t budget = 0;          // bytes of working memory; 0 = no limit; refuses only
  const std::atomic<bool>* stop = nullptr;
  ProgressListener* progress = nullptr;
  std::string
      stage;  // "2 of 4: edges", said in progress and errors; empty where there is one sweep
  SweepStore* store = nullptr;
};

// What a sweep will cost; a pure function of model, cells, prompts and settings.
struct SweepPlan {
  std::int64_t cells = 0;
  std::int64_t prompts = 0;
  std::int64_t runs = 0;           // cells × prompts
  double flops = 0;                // multiply-adds × 2 that the fast sweep needs
  double naive_flops = 0;          // of the naive loop
  std::uint64_t memory_bytes = 0;  // beside the weights
  int shards = 0;                  // of at most 2 TFLOP, one batch at least
};

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

// Arrays are [cell prompt], row-major. A cell that does not exist on a prompt (a position behind
// its end) is NaN.
struct SweepResult {
  std::int64_t n_cells = 0;
  std::int64_t n_prompts = 0;
  std::vector<double> effects;          // metric after − metric of the untouched row
  std::vector<double> placebo_effects;  // the same of the placebo metric; empty without one
  std::vector<double> baseline;         // [prompt] metric of the clean run alone
  std::vector<double> donor_baseline;   // [prompt] of the first donor alone; NaN without
  // Largest difference of the metric of an untouched prompt when it is run again, and between
  // alone and inside a batch.
  double rerun_difference = 0;
  double batch_difference = 0;
  // Half a unit in the last place of the largest |baseline|, in the type of the run: in bfloat16
  // both differences may vanish, and yet no number of the run is nearer to the truth than this.
  double rounding = 0;
  std::int64_t verified = 0;
  double verify_difference = kNotMeasured;  // largest |effect − naive effect| among them
  std::int64_t non_finite = 0;  // effects that are NaN though measured; infinite ones are made NaN
  std::string engine;           // "auto"; by length "auto, reference"; "reference, one cell a run"
  double seconds = 0;
  SweepPlan plan;

  double noise_floor() const { return std::max({rerun_difference, batch_difference, rounding}); }
  double effect(std::int64_t cell, std::int64_t prompt) const {
    return effects[static_cast<std::size_t>(cell * n_prompts + prompt)];
  }
};

// Half a unit in the last place of the largest of `metrics` in the type of the run.
double rounding_of(const std::vector<double>& metrics, DType dtype);

// Throws what run_sweep() would before it runs anything.
SweepPlan plan_sweep(const Model& model, const std::vector<Cell>& cells,
                     const std::vector<SweepPrompt>& prompts, const SweepSettings& settings);

// Throws Error: exit 2 for edits that the model or a prompt does not allow and for a cell that
// exists on no prompt; exit 4 over the budget; ErrorKind::interrupted when `stop` is set.
SweepResult run_sweep(const Model& model, const std::vector<Cell>& cells,
                      const std::vector<SweepPrompt>& prompts, const SweepSettings& settings);

}  // namespace attnscope
