// Times on a GPU, one JSON object a line:
//
//   device_times --model DIR --seconds S
//
// First a forward pass of the model with and without all statistics, then attention of single
// layers, small ones first; what there is no time for is left out.
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <c10/core/InferenceMode.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "attnscope/capture/memory_sink.h"
#include "attnscope/core/boundary.h"
#include "attnscope/core/device.h"
#include "attnscope/model/model.h"
#include "layer_times.h"

namespace attnscope {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr int kModelTokens = 1024;
// What a CPU pass of more elements takes is known well enough from the others.
constexpr double kMostCpuElements = 3e9;

void print(const ordered_json& row) {
  std::printf("%s\n", row.dump().c_str());
  std::fflush(stdout);
}

// A forward pass with everything that observers get on the host when it ends.
void time_model(const std::string& folder, DType dtype) {
  Warnings warnings;
  const Checkpoint checkpoint = open_checkpoint(folder, {}, warnings);
  const Model model =
      Model::load(checkpoint, {.dtype = dtype, .device = c10::Device(c10::kCUDA, 0)}, warnings);
  TokenRow row;
  for (int i = 0; i < kModelTokens; ++i) {
    row.ids.push_back((std::int64_t{i} * 7919 + 13) % model.config().d_vocab);
  }
  const Batch batch = make_batch({row});
  const RunOptions options{.logits = {.at = LogitsAt::last}};
  MemorySink sink({}, MemorySink::Statistics::on);
  Taps watched;
  watched.observers = {&sink};

  take_peak_bytes();
  const double plain = device_milliseconds([&] { model.run(batch, Taps{}, options); });
  const std::int64_t plain_peak = take_peak_bytes();
  std::set<std::string> engines;
  const double with = device_milliseconds([&] {
    for (const LayerEngine& layer : model.run(batch, watched, options).engines) {
      engines.insert(engine_name(layer.engine));
    }
  });
  print({{"kind", "model"},
         {"layers", model.config().n_layers},
         {"heads", model.config().n_heads(0)},
         {"n", kModelTokens},
         {"dtype", dtype_name(dtype)},
         {"engines", engines},
         {"without_ms", plain},
         {"with_ms", with},
         {"ratio", with / plain},
         {"without_peak_bytes", plain_peak},
         {"with_peak_bytes", take_peak_bytes()}});
}

void time_one_layer(const LayerShape& shape) {
  const double elements = causal_elements(shape);
  const bool on_cpu = shape.type == at::kFloat && elements <= kMostCpuElements;
  const LayerTimes times = time_layer(shape, on_cpu ? CpuBeside::on : CpuBeside::off);
  // Two products of the fused pass, one of the statistics; 2 operations a value of d.
  const double product_flop = 2 * elements * shape.d_head;
  ordered_json row = {{"kind", "layer"},
                      {"n", shape.n},
                      {"heads", shape.n_heads},
                      {"d_head", shape.d_head},
                      {"dtype", shape.type == at::kFloat ? "f32" : "bf16"},
                      {"fused_ms", times.fused_ms},
                      {"fused_tflops", 2 * product_flop / times.fused_ms / 1e9},
                      {"statistics_ms", times.statistics_ms},
                      {"statistics_tflops", product_flop / times.statistics_ms / 1e9},
                      {"ratio", times.statistics_ms / times.fused_ms},
                      {"one_map_ms", times.maps_ms},
                      {"fused_peak_bytes", times.fused_peak_bytes},
                      {"statistics_bytes", times.statistics_bytes}};
  if (times.cpu_ms) row["cpu_tiled_ms"] = *times.cpu_ms;
  print(row);
}

int run(const std::string& folder, double seconds) {
  const auto begin = Clock::now();
  const c10::InferenceMode inference;
  at::globalContext().setFloat32MatmulPrecision("highest");
  const auto late = [&] {
    return std::chrono::duration<double>(Clock::now() - begin).count() > seconds;
  };
  for (const DType dtype : {DType::f32, DType::bf16}) {
    if (!late()) time_model(folder, dtype);
  }
  for (const int n : {1024, 4096, 8192, 32768}) {
    for (const auto& [heads, d] : {std::pair{12, 64}, std::pair{32, 128}}) {
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        if (!late()) time_one_layer({.n = n, .n_heads = heads, .d_head = d, .type = type});
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace attnscope

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 4 || words[0] != "--model" || words[2] != "--seconds") {
    std::fprintf(stderr, "usage: device_times --model DIR --seconds S\n");
    return 2;
  }
  try {
    return attnscope::at_boundary("measuring", [&] {
      attnscope::set_up_process({});
      attnscope::parse_device("cuda");
      return attnscope::run(words[1], std::stod(words[3]));
    });
  } catch (const attnscope::Error& e) {
    std::fprintf(stderr, "device_times: %s\n", e.what());
    return e.exit_code();
  }
}
