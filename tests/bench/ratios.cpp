// Ratios measured inside one process, printed as rows of the table that run_bench.py writes:
// what <tab> ours <tab> rival <tab> ratio <tab> bar.
//
//   ratios [MODEL_DIR]     without a model only the small fixture is used
#include <ATen/ATen.h>
#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "attnscope/capture/capture.h"
#include "attnscope/capture/memory_sink.h"
#include "attnscope/core/boundary.h"
#include "attnscope/core/device.h"
#include "attnscope/model/model.h"
#include "attnscope/storage/codec.h"
#include "attnscope/support/text.h"

namespace attnscope {
namespace {

constexpr int kTokens = 512;

double seconds(const std::function<void()>& action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Medians of alternating runs, one a candidate, after one round that warms up.
std::vector<double> medians(const std::vector<std::function<void()>>& candidates, int rounds) {
  std::vector<std::vector<double>> samples(candidates.size());
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const double s = seconds(candidates[i]);
      if (round >= 0) samples[i].push_back(s);
    }
  }
  std::vector<double> out;
  for (auto& s : samples) {
    std::nth_element(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(s.size() / 2), s.end());
    out.push_back(s[s.size() / 2]);
  }
  return out;
}

void row(const std::string& what, const std::string& ours, const std::string& rival,
         const std::string& ratio, const std::string& bar) {
  std::printf("%s\t%s\t%s\t%s\t%s\n", what.c_str(), ours.c_str(), rival.c_str(), ratio.c_str(),
              bar.c_str());
  std::fflush(stdout);
}

// The library's own way: H5Dwrite through shuffle and deflate 1, chunks of 256 × 256. Returns the
// stored bytes.
hsize_t write_by_library(const at::Tensor& maps, const std::string& path) {
  const hsize_t dims[3] = {static_cast<hsize_t>(maps.size(0)), kTokens, kTokens};
  const hsize_t chunk[3] = {1, 256, 256};
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(3, dims, nullptr);
  const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(plist, 3, chunk);
  H5Pset_shuffle(plist);
  H5Pset_deflate(plist, 1);
  const hid_t data =
      H5Dcreate2(file, "maps", H5T_IEEE_F32LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, maps.data_ptr<float>());
  const hsize_t stored = H5Dget_storage_size(data);
  H5Dclose(data);
  H5Pclose(plist);
  H5Sclose(space);
  H5Fclose(file);
  return stored;
}

// Rounds a copy of the maps, so that both sides compress the same values.
at::Tensor rounded(const at::Tensor& maps) {
  at::Tensor out = maps.clone();
  float* values = out.data_ptr<float>();
  for (std::int64_t i = 0; i < out.numel(); ++i) values[i] = round_mantissa(values[i], 10);
  return out;
}

// Every 256 × 256 tile of maps [h q k]; returns the stored bytes.
std::size_t compress_all(const float* base, std::int64_t heads) {
  ChunkCompressor compressor;
  const TileTarget target{.queries = 256, .keys = 256};
  std::size_t bytes = 0;
  for (std::int64_t h = 0; h < heads; ++h) {
    for (int q = 0; q < kTokens; q += 256) {
      for (int k = 0; k < kTokens; k += 256) {
        const TileSource source{.data = base + (h * kTokens + q) * kTokens + k,
                                .queries = 256,
                                .keys = 256,
                                .head_stride = kTokens * kTokens,
                                .query_stride = kTokens};
        bytes += compressor.compress_tile(source, target).bytes.size();
      }
    }
  }
  return bytes;
}

void codec(const at::Tensor& maps, const std::string& folder) {
  const at::Tensor values = rounded(maps.contiguous());
  const auto* base = values.data_ptr<float>();
  const double megabytes = static_cast<double>(values.numel()) * 4 / 1e6;
  hsize_t library_bytes = 0;
  const auto by_library = [&] { library_bytes = write_by_library(values, folder + "/library.h5"); };
  std::size_t ours_bytes = 0;
  const auto t = medians({[&] { ours_bytes = compress_all(base, values.size(0)); }, by_library}, 5);
  row("tile codec, MB/s, against HDF5's own gzip-1", format_number(megabytes / t[0], 3),
      format_number(megabytes / t[1], 3), format_number(t[1] / t[0], 2) + " x", ">= 4 x");
  row("tile codec, bytes", std::to_string(ours_bytes), std::to_string(library_bytes),
      format_number(static_cast<double>(ours_bytes) / static_cast<double>(library_bytes), 3),
      "<= 1");
}

void caching(const Model& model, const Batch& batch) {
  std::vector<HookId> all;
  for (const HookId hook : model.sites().hooks) {
    if (hook.site != Site::result && hook.site != Site::logits) all.push_back(hook);
  }
  MemorySink sink(all, MemorySink::Statistics::off);
  RunOptions fused;
  fused.logits.at = LogitsAt::last;
  RunOptions explicit_path = fused;
  explicit_path.engine = Engine::reference;
  Taps taps;
  taps.observers = {&sink};
  const auto t =
      medians({[&] { model.run(batch, taps, explicit_path); },
               [&] { model.run(batch, {}, explicit_path); }, [&] { model.run(batch, {}, fused); }},
              5);
  row("caching every site but hook_result, n = 512, s, against the explicit forward",
      format_number(t[0], 3), format_number(t[1], 3), format_number(t[0] / t[1], 3), "<= 1.15");
  row("the same against the fused forward", format_number(t[0], 3), format_number(t[2], 3),
      format_number(t[0] / t[2], 3), "report");
}

// The whole of a capture of maps against loading the model and running it, both with one compute
// thread; the compressor and the writer have the other core.
void capture_on_and_off(const std::string& model, const TokenRow& tokens,
                        const std::string& folder) {
  CaptureSpec spec;
  spec.model = model;
  spec.prompts.ids = tokens.ids;
  spec.hooks = "pattern";
  spec.compute.threads = 1;
  spec.output.out = folder + "/on.h5";
  spec.output.force = true;
  const auto forward = [&](Engine engine) {
    Warnings warnings;
    const Model loaded = Model::load(open_checkpoint(model, {}, warnings), {}, warnings);
    RunOptions options;
    options.engine = engine;
    options.logits.at = LogitsAt::none;
    loaded.run(make_batch({tokens}), {}, options);
  };
  const auto t = medians({[&] { run_capture(spec); }, [&] { forward(Engine::automatic); },
                          [&] { forward(Engine::reference); }},
                         5);
  row("capture of all maps, n = 512, s with loading, against the fused forward with loading",
      format_number(t[0], 3), format_number(t[1], 3), format_number(t[0] / t[1], 3), "<= 1.3");
  row("the same against the explicit forward", format_number(t[0], 3), format_number(t[2], 3),
      format_number(t[0] / t[2], 3), "report");
}

int measure(int argc, char** argv) {
  set_up_process({.threads = 1});
  if (argc < 2) return 0;
  Warnings warnings;
  const Model model = Model::load(open_checkpoint(argv[1], {}, warnings), {}, warnings);
  TokenRow tokens;
  for (int i = 0; i < kTokens; ++i) {
    tokens.ids.push_back((i * 7919 + 13) % (model.config().d_vocab - 5) + 5);
  }
  const Batch batch = make_batch({tokens});
  const int middle = model.config().n_layers / 2;
  const std::string folder =
      std::filesystem::temp_directory_path() / ("attnscope-ratios-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const MemoryCapture seen =
      capture_to_memory(model, batch, std::to_string(middle) + ".pattern", {});
  codec(seen.values.at({Site::pattern, middle})[0], folder);
  caching(model, batch);
  capture_on_and_off(argv[1], tokens, folder);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace attnscope

int main(int argc, char** argv) {
  try {
    return attnscope::at_boundary("measuring", [&] { return attnscope::measure(argc, argv); });
  } catch (const attnscope::Error& e) {
    std::fprintf(stderr, "ratios: %s\n", e.what());
    return e.exit_code();
  }
}
