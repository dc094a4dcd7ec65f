// How close sweeps come to the limit of the machine, and how far from the naive loop they are;
// printed as rows of the table that run_bench.py writes: what <tab> ours <tab> rival <tab> ratio
// <tab> bar. One compute thread; CPU seconds of the process.
//
//   sweeps heads|residuals|head-positions LENGTH NAME MODEL_DIR
//
// head-positions measures the first head of every layer at every position.
#include <ATen/ATen.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "attnscope/core/boundary.h"
#include "attnscope/core/device.h"
#include "attnscope/model/model.h"
#include "attnscope/probes/sweep.h"
#include "attnscope/support/text.h"

namespace attnscope {
namespace {

double cpu_seconds(const std::function<void()>& action) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  action();
  return now() - begin;
}

void row(const std::string& what, const std::string& ours, const std::string& rival,
         const std::string& ratio, const std::string& bar) {
  std::printf("%s\t%s\t%s\t%s\t%s\n", what.c_str(), ours.c_str(), rival.c_str(), ratio.c_str(),
              bar.c_str());
  std::fflush(stdout);
}

// Operations a second of one product of 1024³.
double gemm_rate() {
  constexpr std::int64_t kSize = 1024;
  const at::Tensor a = at::rand({kSize, kSize});
  const at::Tensor b = at::rand({kSize, kSize});
  at::Tensor c = at::empty({kSize, kSize});
  at::mm_out(c, a, b);
  double best = 0;
  for (int round = 0; round < 8; ++round) {
    const double s = cpu_seconds([&] { at::mm_out(c, a, b); });
    best = std::max(best, 2.0 * kSize * kSize * kSize / s);
  }
  return best;
}

SweepPrompt random_prompt(const ModelConfig& config, int length, std::uint64_t seed) {
  const at::Tensor ids = (at::arange(length) * 7919 + static_cast<std::int64_t>(seed) * 104729 + 13)
                             .remainder(config.d_vocab)
                             .to(at::kLong);
  SweepPrompt prompt;
  prompt.row.ids.assign(ids.const_data_ptr<std::int64_t>(),
                        ids.const_data_ptr<std::int64_t>() + length);
  prompt.target = {.answers = {5}, .wrongs = {7}};
  return prompt;
}

enum class What { heads, residuals, head_positions };

struct Job {
  What what;
  std::string label;
  double bar;  // the most that CPU seconds may be of the operations' at the rate of products
};

Job job_of(const std::string& name) {
  if (name == "heads") return {What::heads, "head ablation", 1.3};
  if (name == "residuals") return {What::residuals, "residual patching", 1.4};
  if (name == "head-positions") {
    return {What::head_positions, "head × position ablation (one head a layer)", 1.4};
  }
  throw std::invalid_argument("heads, residuals or head-positions, not " + name);
}

std::vector<Cell> cells_of(What what, const ModelConfig& config, int length) {
  std::vector<Cell> cells;
  for (int l = 0; l < config.n_layers; ++l) {
    const int places = what == What::heads ? config.n_heads(l) : length;
    for (int p = 0; p < places; ++p) {
      Edit edit = {.hook = {Site::z, l}};
      if (what == What::heads) edit.heads = {p};
      if (what == What::head_positions) edit.heads = {0};
      if (what == What::residuals) {
        edit = {.hook = {Site::resid_pre, l},
                .operation = Operation::set,
                .source = ValueSource::donor};
      }
      if (what != What::heads) edit.q_positions = {p};
      cells.push_back({std::to_string(l) + "." + std::to_string(p), {edit}});
    }
  }
  return cells;
}

// Resident bytes of this process, now and at most since the last reset_peak().
std::uint64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::uint64_t kib = 0;
  while (status >> word) {
    if (word == key && status >> kib) return kib << 10U;
  }
  return 0;
}

void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

std::string three_digits(double value) {
  return value < 1000 ? format_number(value, 3) : std::to_string(std::llround(value));
}

void measure(const Model& model, const std::string& name, const Job& job, int length) {
  const std::vector<Cell> cells = cells_of(job.what, model.config(), length);
  SweepPrompt prompt = random_prompt(model.config(), length, 1);
  // Zeros need no donor, and a donor would be run.
  if (job.what == What::residuals) {
    prompt.donors = {random_prompt(model.config(), length, 2).row};
  }
  SweepSettings settings = {.verify = 0};
  SweepPlan plan;
  const double rate_before = gemm_rate();
  reset_peak();
  const std::uint64_t before = status_bytes("VmRSS:");
  const double fast = cpu_seconds([&] { plan = run_sweep(model, cells, {prompt}, settings).plan; });
  const double used = static_cast<double>(status_bytes("VmHWM:") - before);
  const double rate = std::max(rate_before, gemm_rate());

  settings.mode = SweepMode::naive;
  SweepPlan naive_plan;
  const auto naive_seconds = [&](std::size_t count) {
    std::vector<Cell> sample;
    for (std::size_t i = 0; i < count; ++i) sample.push_back(cells[i * cells.size() / count]);
    return cpu_seconds([&] { naive_plan = run_sweep(model, sample, {prompt}, settings).plan; });
  };
  // The cost of a cell does not depend on which; a difference has nothing but cells in it.
  constexpr std::size_t kFew = 4;
  constexpr std::size_t kMany = 28;
  const double few = naive_seconds(kFew);
  const double naive = (naive_seconds(kMany) - few) / static_cast<double>(kMany - kFew) *
                       static_cast<double>(cells.size());
  const std::string of = name + ", " + job.label + ", n = " + std::to_string(length);
  row(of + ", CPU s against its operations (" + three_digits(plan.flops / 1e9) + " GFLOP at " +
          three_digits(rate / 1e9) + " GFLOP/s)",
      three_digits(fast), three_digits(plan.flops / rate), three_digits(fast * rate / plan.flops),
      "<= " + three_digits(job.bar));
  row(of + ", naive loop, efficiency", three_digits(naive), three_digits(plan.naive_flops / rate),
      three_digits(plan.naive_flops / rate / naive), ">= 0.7");
  row(of + ", against the naive loop (operations: " + three_digits(plan.naive_flops / plan.flops) +
          " x)",
      three_digits(fast), three_digits(naive), three_digits(naive / fast) + " x",
      ">= " + three_digits(0.95 * plan.naive_flops / plan.flops) + " x");
  const auto planned = static_cast<double>(plan.memory_bytes);
  row(of + ", MiB beside the weights, against the plan", three_digits(used / 0x1p20),
      three_digits(planned / 0x1p20), three_digits(used / planned), "<= 1.1");
}

int run(const std::string& what, int length, const std::string& name, const std::string& folder) {
  set_up_process({.threads = 1});
  Warnings warnings;
  const Model model = Model::load(open_checkpoint(folder, {}, warnings), {}, warnings);
  measure(model, name, job_of(what), length);
  return 0;
}

}  // namespace
}  // namespace attnscope

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    return attnscope::at_boundary(
        "bench", [&] { return attnscope::run(argv[1], std::stoi(argv[2]), argv[3], argv[4]); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
