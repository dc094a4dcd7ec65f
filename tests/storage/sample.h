// File: sample.h
// Capture files with known content, and what each of their datasets must hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/storage/writer.h"

namespace attnscope::testing {

struct Expected {
  std::string path;   // inside the file
  std::string dtype;  // numpy's: "<f4", "<f2", "<f8", "<i4", "<i8", "|u1", "|S12"
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

struct SampleOptions {
  std::vector<int> lengths{7, 300};  // tokens of each prompt
  FileLayout layout = FileLayout::per_prompt;
  MapDType map_dtype = MapDType::r10;
  Floor floor = Floor::off;
  std::optional<ShardId> shard;
  int first_prompt = 0;  // shards: number of the first prompt in the whole run
  std::string run_id = "run";
  std::string weights_sha256 = "w";
  float shift = 0;  // added to every activation
};

inline constexpr int kSampleLayers = 2;
inline constexpr int kSampleHeads = 3;

PromptRecord sample_prompt(int index, int tokens);
FileInfo sample_file_info(const SampleOptions& options);
ModelInfo sample_model(const SampleOptions& options);
RunInfo sample_run();

// Causal softmax rows [h q k].
std::vector<float> sample_pattern(int seed, int heads, int tokens);
// `value` with so many mantissa bits, computed by scaling and rounding, not by bits.
float rounded_to(int bits, float value);

// Writes a whole file; returns what its datasets must hold (packed: the per-prompt groups only).
std::vector<Expected> write_sample(const std::string& path, const SampleOptions& options = {});

}  // namespace attnscope::testing
