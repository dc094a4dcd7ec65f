// File: reader.h
// Reads capture files, of either layout, and the results of experiments.
//
//   CaptureReader file("run.h5");
//   for (HookId hook : file.hooks(0)) …
//   std::vector<float> map = file.read_map(0, {Site::pattern, 5}, 1);   // [q k] of head 1
//
// Files are not trusted: see ReaderOptions. Refused by name (exit 2): no HDF5, no attnscope file,
// a newer schema, links out of the file, external or virtual storage, unknown filters.
// Thread contract: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/sites/site.h"
#include "attnscope/sites/tensor_view.h"
#include "attnscope/storage/experiment.h"
#include "attnscope/storage/schema.h"

namespace attnscope {

namespace storage_detail {
class Joiner;
}

enum class Trust : std::uint8_t {
  // The whole structure is first read in a child process with limits on memory and time, because
  // a damaged file can crash the HDF5 library. Costs some milliseconds; for processes that are
  // small and have one thread. Arrays that are read are compared with their stored SHA-256.
  foreign,
  own,  // just written by this program
};

struct ReaderOptions {
  Trust trust = Trust::foreign;
};

// Values in memory, row-major.
struct Array {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;

  std::int64_t count() const;
  std::vector<double> as_double() const;  // f16, f32, f64, i32, i64, u8
  std::vector<float> as_float() const;    // exact for f16 and f32
  TensorView view() const;
};

// What is stored of one hook of one prompt.
struct StoredSite {
  HookId hook;
  std::string path;  // inside the file
  std::vector<std::string> dims;
  std::vector<std::int64_t> shape;  // packed: the rows of this prompt only
  DType dtype = DType::f32;
  Subset subset;
  std::optional<MapSpec> map;  // scores and pattern
};

enum class AttentionTable : std::uint8_t {
  head_stats,  // [l h s]
  row_stats,   // [l h q r]
  topk_index,  // [l h q K]
  topk_value,  // [l h q K]
  key_sum,     // [l h k]
  value_norm,  // [l h k]
  overview,    // [l h a b]
};
const char* attention_table_name(AttentionTable table);

// What is known about the statistics of one stack and prompt.
struct StoredAttention {
  Stack stack = Stack::self;
  std::vector<std::int64_t> layers;     // [l]
  std::vector<std::int64_t> n_heads;    // [l]
  std::vector<std::string> head_stats;  // names, [s]
  std::vector<std::string> row_stats;   // names, [r]; empty if the table is not stored
};

class CaptureReader {
 public:
  explicit CaptureReader(const std::string& path, const ReaderOptions& options = {});
  ~CaptureReader();
  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) = delete;

  const std::string& path() const;
  const FileInfo& file() const;
  ModelInfo model() const;
  RunInfo run() const;
  FileLayout layout() const;

  int prompts() const;
  // "p000007" or "7" → 7; throws (exit 2) naming `option` and the valid range.
  int find_prompt(const std::string& id, const std::string& option) const;
  PromptRecord prompt(int prompt) const;

  // In forward order.
  std::vector<HookId> hooks(int prompt) const;
  // Nothing if the hook was not captured.
  std::optional<StoredSite> site(int prompt, HookId hook) const;
  Array read(int prompt, HookId hook) const;
  // The map [q k] of the stored head with index `slot`; f16 is widened.
  std::vector<float> read_map(int prompt, HookId hook, std::int64_t slot) const;
  // Where query head `head` is stored along the head axis; nothing if it was not captured.
  static std::optional<std::int64_t> head_slot(const StoredSite& site, std::int64_t head);

  std::vector<Stack> stacks(int prompt) const;  // that have statistics
  StoredAttention attention(int prompt, Stack stack) const;
  bool has_table(int prompt, Stack stack, AttentionTable table) const;
  Array read_table(int prompt, Stack stack, AttentionTable table) const;

  // Every record below /experiments, by name, units as cells; empty where there is none.
  std::vector<ExperimentRecord> experiments() const;

 private:
  friend class storage_detail::Joiner;  // copies whole blocks of prompts
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attnscope
