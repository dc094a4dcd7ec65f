// File: writer.h
// Writes one capture file, or a file of experiments. Use output.h to choose its name and to commit
// it:
//
//   Output output({.path = "run.h5", …});
//   CaptureWriter writer(output.begin(0), info, model, run, {});
//   const int prompt = writer.add_prompt(record);
//   const int map = writer.open_map(prompt, hook, spec);
//   for (const Tile& tile : TileGrid(spec).tiles()) writer.write_tile(map, tile, stored);
//   writer.close_map(map);
//   writer.finish();
//   output.commit(0);
//
// The order of the calls decides the bytes of the file: equal calls give equal files.
// Thread contract: one thread at a time. Compression of tiles may run elsewhere (codec.h).
// Any failed write throws (exit 3); the writer must then be dropped, and its destructor removes
// the temporary file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attnscope/sites/site.h"
#include "attnscope/sites/tensor_view.h"
#include "attnscope/storage/experiment.h"
#include "attnscope/storage/schema.h"

namespace attnscope {

namespace storage_detail {
class Joiner;
}

// Totals of the packed layout; known before the run, so that nothing has to be held or moved.
struct PackedPlan {
  std::int64_t prompts = 0;          // P
  std::int64_t tokens = 0;           // N, sum of the prompts' lengths
  std::size_t token_text_bytes = 1;  // longest token text
  // Rows of /packed/<hook>: N, or the number of captured positions over all prompts.
  std::int64_t rows = 0;
};

struct WriterOptions {
  FileLayout layout = FileLayout::per_prompt;
  PackedPlan packed;  // packed layout only
};

// What is stored of the statistics of one stack and prompt.
enum class AttentionDetail : std::uint8_t {
  head_stats,  // packed layout without per-prompt tables: head_stats alone
  all,         // every table
};

// The statistics of one stack: sizes of all tables.
struct AttentionPlan {
  Stack stack = Stack::self;
  std::vector<std::int64_t> layers;     // [L] model layers, ascending; may have gaps
  std::vector<std::int64_t> n_heads;    // [L]; H = the largest
  std::int64_t queries = 0;             // Tq
  std::int64_t keys = 0;                // Tk
  std::int64_t top_k = 0;               // K
  std::vector<std::string> head_stats;  // [S] names
  std::vector<std::string> row_stats;   // [R] names
  AttentionDetail detail = AttentionDetail::all;
};

// The statistics of one layer, h = n_heads of that layer. Spans are row-major; with
// AttentionDetail::head_stats only the first is read.
struct AttentionLayer {
  std::span<const float> head_stats;         // [h s]
  std::span<const float> row_stats;          // [h q r]
  std::span<const std::int32_t> topk_index;  // [h q K], −1 where a row has fewer keys
  std::span<const float> topk_value;         // [h q K], NaN where the index is −1
  std::span<const float> key_sum;            // [h k]
  std::span<const float> value_norm;         // [h k]
  std::span<const std::uint8_t> overview;    // [h a b], a = min(64, q), b = min(64, k)
};

class CaptureWriter {
 public:
  // Creates `path`, which must not exist; missing folders are an error.
  CaptureWriter(const std::string& path, const FileInfo& file, const ModelInfo& model,
                const RunInfo& run, const WriterOptions& options);
  ~CaptureWriter();
  CaptureWriter(CaptureWriter&&) noexcept;
  CaptureWriter& operator=(CaptureWriter&&) = delete;

  // Prompts are numbered from 0 in the order of the calls. `positions`: the positions captured of
  // this prompt in the packed layout; empty = all.
  int add_prompt(const PromptRecord& prompt, std::span<const std::int64_t> positions = {});

  // A site without the batch axis, e.g. z [q h d], resid_pre [q m]; f32, f64 or f16. In the packed
  // layout its rows go to /packed/<hook>, and prompts must come in order.
  void write_site(int prompt, HookId hook, const TensorView& value, const Subset& subset = {});

  // An attention map, tile by tile in any order (capture keeps one order for equal bytes).
  int open_map(int prompt, HookId hook, const MapSpec& spec);
  // A level of the pyramid of the pattern `map`: the same with the tiles of pyramid_map(map).
  int open_pyramid(int prompt, const PyramidLevel& level, const MapSpec& map);
  void write_tile(int map, const Tile& tile, const StoredChunk& chunk);
  void close_map(int map);

  int open_attention(int prompt, const AttentionPlan& plan);
  // `slot` is the index into plan.layers. Every slot must be written once.
  void write_attention(int attention, std::int64_t slot, const AttentionLayer& layer);
  void close_attention(int attention);

  // At /experiments/<name>, which must not be there yet.
  void write_experiment(const ExperimentRecord& record);

  // Writes what is left (packed tables, checksums) and closes the file. Throws (a bug of the
  // caller) if a map or table is open, or if fewer prompts, tokens or rows came than planned.
  void finish();

 private:
  friend class storage_detail::Joiner;  // copies whole blocks of prompts
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attnscope
