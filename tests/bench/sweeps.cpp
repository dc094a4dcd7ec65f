// How close sweeps come to the limit of the machine, and how far from the naive loop they are;
// printed as rows of the table that run_bench.py writes: what <tab> ours <tab> rival <tab> ratio
// <tab> bar. One compute thread; CPU seconds of the process.
//
//   sweeps heads|residuals LENGTH NAME MODEL_DIR
#include <ATen/ATen.h>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
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

std::vector<Cell> head_cells(const ModelConfig& config) {
  std::vector<Cell> cells;
  for (int l = 0; l < config.n_layers; ++l) {
    for (int h = 0; h < config.n_heads(l); ++h) {
      cells.push_back(
          {std::to_string(l) + "." + std::to_string(h), {{.hook = {Site::z, l}, .heads = {h}}}});
    }
  }
  return cells;
}

std::vector<Cell> residual_cells(const ModelConfig& config, int length) {
  std::vector<Cell> cells;
  for (int l = 0; l < config.n_layers; ++l) {
    for (int p = 0; p < length; ++p) {
      cells.push_back({std::to_string(l) + "@" + std::to_string(p),
                       {{.hook = {Site::resid_pre, l},
                         .operation = Operation::set,
                         .source = ValueSource::donor,
                         .q_positions = {p}}}});
    }
  }
  return cells;
}

std::string two(double value) {
  return format_number(value, 3);
}

void measure(const Model& model, const std::string& what, const std::vector<Cell>& cells,
             int length, double limit_bar) {
  SweepPrompt prompt = random_prompt(model.config(), length, 1);
  // Zeros need no donor, and a donor would be run.
  const bool patched = cells.front().edits.front().source == ValueSource::donor;
  if (patched) prompt.donors = {random_prompt(model.config(), length, 2).row};
  SweepSettings settings = {.verify = 0};
  SweepPlan plan;
  double fast = 0;
  const double rate_before = gemm_rate();
  fast = cpu_seconds([&] { plan = run_sweep(model, cells, {prompt}, settings).plan; });
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
  const std::string of = what + ", n = " + std::to_string(length);
  row(of + ", CPU s against its operations (" + two(plan.flops / 1e9) + " GFLOP at " +
          two(rate / 1e9) + " GFLOP/s)",
      two(fast), two(plan.flops / rate), two(fast * rate / plan.flops), "<= " + two(limit_bar));
  row(of + ", naive loop, efficiency", two(naive), two(plan.naive_flops / rate),
      two(plan.naive_flops / rate / naive), ">= 0.7");
  row(of + ", against the naive loop (operations: " + two(plan.naive_flops / plan.flops) + " x)",
      two(fast), two(naive), two(naive / fast) + " x",
      ">= " + two(0.95 * plan.naive_flops / plan.flops) + " x");
}

int run(const std::string& what, int length, const std::string& name, const std::string& folder) {
  set_up_process({.threads = 1});
  Warnings warnings;
  const Model model = Model::load(open_checkpoint(folder, {}, warnings), {}, warnings);
  if (what == "heads") {
    measure(model, name + ", head ablation", head_cells(model.config()), length, 1.3);
  } else {
    measure(model, name + ", residual patching", residual_cells(model.config(), length), length,
            1.4);
  }
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
