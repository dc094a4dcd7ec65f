// Attention engines against each other in one process, one thread: rows of the table that
// run_bench.py --engines writes, what <tab> ours <tab> rival <tab> ratio <tab> bar.
//
//   engines [n ...]          default 128 512 1024 2048 4096
//   engines --model DIR      a forward pass of n = 1024 with and without every map stored
//   engines --added DIR N    seconds that all statistics add to a forward pass of N tokens
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "attnscope/capture/capture.h"
#include "attnscope/capture/memory_sink.h"
#include "attnscope/core/boundary.h"
#include "attnscope/core/device.h"
#include "attnscope/kernels/tiled_attention.h"
#include "attnscope/model/model.h"
#include "attnscope/support/text.h"
#include "matrix_product.h"

namespace attnscope {
namespace {

// The heads of a GPT-2 layer.
constexpr int kHeads = 12;
constexpr int kHeadDim = 64;
constexpr int kRounds = 9;

double seconds(const std::function<void()>& action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The best of alternating rounds, one figure a candidate, after a round that warms up. Other
// processes only ever add time.
std::vector<double> best(const std::vector<std::function<void()>>& candidates, int rounds) {
  std::vector<double> out(candidates.size(), std::numeric_limits<double>::infinity());
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const double s = seconds(candidates[i]);
      if (round >= 0) out[i] = std::min(out[i], s);
    }
  }
  return out;
}

std::string milliseconds(double s) {
  return format_number(1e3 * s, 3) + " ms";
}

void row(const std::string& what, const std::string& ours, const std::string& rival,
         const std::string& ratio, const std::string& bar) {
  std::printf("%s\t%s\t%s\t%s\t%s\n", what.c_str(), ours.c_str(), rival.c_str(), ratio.c_str(),
              bar.c_str());
  std::fflush(stdout);
}

void ratio_row(const std::string& what, double ours, double rival, const std::string& bar) {
  row(what, milliseconds(ours), milliseconds(rival), format_number(ours / rival, 3), bar);
}

void speed_row(const std::string& what, double ours, double rival, const std::string& bar) {
  row(what, milliseconds(ours), milliseconds(rival), format_number(rival / ours, 3) + " x", bar);
}

// Peak resident memory of the process since it was last reset, in bytes.
void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

std::int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != key + ":") continue;
    std::int64_t kilobytes = 0;
    status >> kilobytes;
    return 1024 * kilobytes;
  }
  return 0;
}

// Bytes that `action` needs beyond what the process holds before it.
std::int64_t extra_bytes(const std::function<void()>& action) {
  const std::int64_t before = status_bytes("VmRSS");
  reset_peak();
  action();
  return std::max<std::int64_t>(0, status_bytes("VmHWM") - before);
}

// top_1: every statistic, but of the top keys only the largest.
enum class Wanted { nothing, top_1, top_8 };

class Layer {
 public:
  explicit Layer(int n, int window = 0) : n_(n), ids_(static_cast<std::size_t>(n)) {
    at::manual_seed(n);
    q_ = at::randn({1, kHeads, n, kHeadDim});
    k_ = at::randn({1, kHeads, n, kHeadDim});
    v_ = at::randn({1, kHeads, n, kHeadDim});
    // Written to, so that their pages are there before the memory of a pass is measured.
    z_ = at::ones({n, kHeads, kHeadDim});
    lse_ = at::ones({kHeads, n});
    mask_ = at::ones({n, n}, at::kBool).triu(1);
    const at::Tensor positions = at::arange(n, at::kFloat);
    distance_ = (positions.unsqueeze(1) - positions).abs();
    spec_.n_heads = spec_.n_kv_heads = kHeads;
    spec_.d_head = kHeadDim;
    spec_.scale = 1 / std::sqrt(double{kHeadDim});
    spec_.window = window;
    // As many repeats as in text.
    for (int i = 0; i < n; ++i) ids_[static_cast<std::size_t>(i)] = (i * 7919) % (n / 4 + 1);
  }

  std::pair<at::Tensor, at::Tensor> composed() const {
    at::Tensor scores = at::matmul(q_, k_.transpose(-1, -2)).div_(std::sqrt(double{kHeadDim}));
    const at::Tensor pattern =
        scores.masked_fill_(mask_, -std::numeric_limits<double>::infinity()).softmax(-1);
    return {at::matmul(pattern, v_), pattern};
  }

  // The statistics of rows and keys that tiles give, as a user of LibTorch writes them.
  void composed_with_statistics(Wanted wanted) const {
    const at::Tensor pattern = composed().second;
    at::xlogy(pattern, pattern).sum(-1).neg_();
    pattern.amax(-1);
    pattern.square().sum(-1);
    (pattern * distance_).sum(-1);
    pattern.sum(-2);
    at::adaptive_max_pool2d(pattern, {64, 64});
    if (wanted == Wanted::top_8) pattern.topk(8, -1);
  }

  void fused() const {
    at::scaled_dot_product_attention(q_, k_, v_, std::nullopt, 0, /*is_causal=*/true);
  }

  void tiled(Wanted wanted) {
    TiledAttentionInput<float> input;
    input.spec = &spec_;
    input.n_queries = input.n_keys = n_;
    input.q = {q_.const_data_ptr<float>(), kHeadDim, std::int64_t{n_} * kHeadDim};
    input.k = {k_.const_data_ptr<float>(), kHeadDim, std::int64_t{n_} * kHeadDim};
    input.v = {v_.const_data_ptr<float>(), kHeadDim, std::int64_t{n_} * kHeadDim};
    input.product = &multiply<float>;
    TiledAttentionOutput<float> output;
    output.z = {z_.data_ptr<float>(), kHeads * kHeadDim, kHeadDim};
    output.lse = lse_.data_ptr<float>();
    std::vector<StatisticsAccumulator> statistics;
    if (wanted != Wanted::nothing) {
      statistics.emplace_back(StatisticsShape{.n_heads = kHeads,
                                              .n_queries = n_,
                                              .n_keys = n_,
                                              .top_k = wanted == Wanted::top_8 ? 8 : 1,
                                              .ids = ids_,
                                              .window = spec_.window});
      output.statistics = &statistics[0];
    }
    TiledAttention<float> attention(input, output);
    for (int head = 0; head < kHeads; ++head) {
      attention.prepare(head);
      attention.compute({.head = head, .q_begin = 0, .q_end = n_}, scratch_);
    }
  }

 private:
  int n_;
  std::vector<std::int64_t> ids_;
  at::Tensor q_, k_, v_;  // [1 h n d]
  at::Tensor z_;          // [n h d]
  at::Tensor lse_;        // [h n]
  at::Tensor mask_;       // [n n]
  at::Tensor distance_;   // [n n]
  AttentionSpec spec_;
  TiledScratch<float> scratch_;
};

double product_rate() {
  const at::Tensor a = at::randn({1024, 1024});
  const double s = best({[&] { at::mm(a, a); }}, 2 * kRounds)[0];
  return 2.0 * 1024 * 1024 * 1024 / s;
}

void compare(int n, double rate) {
  Layer layer(n);
  const std::string at_n = ", n = " + std::to_string(n);
  const bool small = n <= 2048;
  const auto t = best({[&] { layer.fused(); }, [&] { layer.tiled(Wanted::nothing); },
                       [&] { layer.tiled(Wanted::top_1); }, [&] { layer.tiled(Wanted::top_8); }},
                      n > 2048 ? 3 : kRounds);
  const bool stated = n == 1024;
  ratio_row("tiles without statistics, against fused SDPA" + at_n, t[1], t[0], "report");
  ratio_row("tiles with all statistics and top-1, against SDPA without any" + at_n, t[2], t[0],
            stated ? "<= 1.25" : "report");
  ratio_row("tiles with all statistics and top-8, against SDPA without any" + at_n, t[3], t[0],
            stated ? "<= 1.5" : "report");
  if (small) {
    const auto c =
        best({[&] { layer.composed(); }, [&] { layer.composed_with_statistics(Wanted::top_1); },
              [&] { layer.composed_with_statistics(Wanted::top_8); }},
             3);
    speed_row("tiles without statistics, against composed" + at_n, t[1], c[0], "report");
    speed_row("tiles with all statistics and top-1, against composed with the same" + at_n, t[2],
              c[1], stated ? ">= 5 x" : "report");
    speed_row("tiles with all statistics and top-8, against composed with the same" + at_n, t[3],
              c[2], stated ? ">= 4.5 x" : "report");
  }
  const double flop = 4.0 * n * (n + 1) / 2 * kHeadDim * kHeads;
  row("tiles without statistics, GFLOP/s, against at::mm" + at_n,
      format_number(flop / t[1] / 1e9, 3), format_number(rate / 1e9, 3),
      format_number(flop / t[1] / rate, 3), n == 2048 ? ">= 0.6" : "report");
}

void memory() {
  constexpr int kTokens = 4096;
  Layer layer(kTokens);
  const std::int64_t tiles = extra_bytes([&] { layer.tiled(Wanted::top_8); });
  const std::int64_t dense = extra_bytes([&] { layer.composed(); });
  row("memory of tiles with all statistics beyond inputs and outputs, MB, against composed, n = "
      "4096",
      format_number(static_cast<double>(tiles) / 1e6, 3),
      format_number(static_cast<double>(dense) / 1e6, 4),
      format_number(static_cast<double>(dense) / static_cast<double>(tiles), 3) + " x", "<= 16 MB");
}

// Only the band of a sliding window is computed: the time grows as the length.
void window() {
  constexpr int kWindow = 512;
  std::vector<Layer> layers;
  std::vector<std::function<void()>> candidates;
  for (const int n : {2048, 4096, 8192}) layers.emplace_back(n, kWindow);
  for (Layer& layer : layers) candidates.emplace_back([&layer] { layer.tiled(Wanted::top_8); });
  const auto t = best(candidates, 5);
  row("window of 512, all statistics, n = 8192 against n = 4096", milliseconds(t[2]),
      milliseconds(t[1]), format_number(t[2] / t[1], 3), "about 2");
  row("window of 512, all statistics, n = 4096 against n = 2048", milliseconds(t[1]),
      milliseconds(t[0]), format_number(t[1] / t[0], 3), "about 2");
}

TokenRow sample(int tokens, int vocabulary) {
  TokenRow row;
  for (int i = 0; i < tokens; ++i) row.ids.push_back((i * 7919 + 13) % (vocabulary - 5) + 5);
  return row;
}

Model load(const std::string& folder) {
  Warnings warnings;
  return Model::load(open_checkpoint(folder, {}, warnings), {}, warnings);
}

RunOptions without_logits(Engine engine) {
  RunOptions options;
  options.engine = engine;
  options.logits.at = LogitsAt::none;
  return options;
}

// What a capture costs beyond loading, hashing and writing an empty file, which a prompt of 8
// tokens costs too, against a forward pass that nobody watches.
void capture_of_every_map(const std::string& folder) {
  constexpr int kTokens = 1024;
  const std::string file =
      std::filesystem::temp_directory_path() / ("attnscope-engines-" + std::to_string(getpid()));
  const Model model = load(folder);
  CaptureSpec spec;
  spec.model = folder;
  spec.hooks = "pattern";
  spec.compute.threads = 1;
  spec.output.out = file + ".h5";
  spec.output.force = true;
  const auto capture = [&](int tokens) {
    spec.prompts.ids = sample(tokens, model.config().d_vocab).ids;
    run_capture(spec);
  };
  const Batch batch = make_batch({sample(kTokens, model.config().d_vocab)});
  const auto remove = [&] {
    std::filesystem::remove(file + ".h5");
    std::filesystem::remove(file + ".json");
  };
  // Both captures load the weights right after another capture has given back as much memory: after
  // a while the machine takes it away, and loading then costs up to a second more.
  const auto t =
      best({[&] { capture(8); }, remove, [&] { capture(kTokens); }, remove, [&] { capture(8); },
            [&] { model.run(batch, {}, without_logits(Engine::aten)); }},
           5);
  remove();
  const std::string what = std::to_string(model.config().n_layers) + " layers of " +
                           std::to_string(model.config().n_heads(0)) + " heads, n = 1024";
  ratio_row(
      "forward with every map and statistic stored, second core free, against without, " + what,
      t[2] - t[4], t[5], "<= 1.15");
}

void print_added_time(const std::string& folder, int tokens) {
  const Model model = load(folder);
  const Batch batch = make_batch({sample(tokens, model.config().d_vocab)});
  MemorySink sink({}, MemorySink::Statistics::on);
  Taps taps;
  taps.observers = {&sink};
  const auto t = best({[&] { model.run(batch, taps, without_logits(Engine::cpu_tiled)); },
                       [&] { model.run(batch, {}, without_logits(Engine::aten)); }},
                      5);
  std::printf("%.4f\n", t[0] - t[1]);
}

int run(const std::vector<int>& lengths) {
  const c10::InferenceMode inference;
  memory();
  const double rate = product_rate();
  for (const int n : lengths) compare(n, rate);
  window();
  return 0;
}

}  // namespace
}  // namespace attnscope

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    return attnscope::at_boundary("measuring", [&] {
      attnscope::set_up_process({.threads = 1});
      if (words.size() == 2 && words[0] == "--model") {
        attnscope::capture_of_every_map(words[1]);
        return 0;
      }
      if (words.size() == 3 && words[0] == "--added") {
        attnscope::print_added_time(words[1], std::stoi(words[2]));
        return 0;
      }
      std::vector<int> lengths;
      for (const std::string& word : words) lengths.push_back(std::max(8, std::stoi(word)));
      if (lengths.empty()) lengths = {128, 512, 1024, 2048, 4096};
      return attnscope::run(lengths);
    });
  } catch (const attnscope::Error& e) {
    std::fprintf(stderr, "engines: %s\n", e.what());
    return e.exit_code();
  }
}
