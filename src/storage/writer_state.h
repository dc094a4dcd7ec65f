// File: writer_state.h
// What the parts of CaptureWriter share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/storage/h5.h"
#include "attnscope/storage/writer.h"
#include "table.h"

namespace attnscope {
namespace storage_detail {

struct OpenMap {
  h5::Dataset dataset;
  TileGrid grid;
};

struct OpenAttention {
  AttentionPlan plan;
  int prompt = 0;
  std::int64_t heads = 0;  // H
  std::vector<bool> written;
  std::map<std::string, h5::Dataset> tables;  // by name; packed head_stats is not among them
};

// The packed layout: datasets that grow with the prompts.
struct Packed {
  std::map<std::string, h5::Dataset> tokens;  // "ids", "text" …
  std::map<HookId, h5::Dataset> sites;
  std::map<HookId, std::int64_t> site_rows;  // rows written so far
  std::map<Stack, h5::Dataset> head_stats;
  std::vector<std::int64_t> offsets{0};                     // [P+1] tokens
  std::vector<std::int64_t> row_offsets{0};                 // [P+1] rows of /packed/<hook>
  std::vector<std::int64_t> positions;                      // [M], only with captured positions
  std::vector<std::string> text, group, label;              // [P]
  std::vector<std::string> column_names;                    // in order of first sight
  std::vector<std::map<std::string, ColumnValue>> columns;  // [P]
};

}  // namespace storage_detail

struct CaptureWriter::State {
  std::string path;
  WriterOptions options;
  std::optional<h5::File> file;
  std::optional<h5::Group> root;
  std::optional<h5::Group> prompts;
  ChunkCompressor compressor;
  int prompt_count = 0;
  std::map<int, storage_detail::OpenMap> maps;
  std::map<int, storage_detail::OpenAttention> attentions;
  int next_handle = 0;
  storage_detail::Packed packed;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  // Removes a file that was not finished.
  ~State();

  // The group of one prompt; in the packed layout it is made when something needs it.
  h5::Group prompt_group(int prompt);
  h5::Group cache_group(int prompt);
  void require_prompt(int prompt) const;

  void write_tokens(h5::Group& group, const TokenTable& tokens);
  void add_packed(const PromptRecord& prompt, std::span<const std::int64_t> positions);
  void write_packed_site(int prompt, HookId hook, const TensorView& value, const Subset& subset);
  void write_packed_head_stats(const storage_detail::OpenAttention& attention,
                               std::span<const std::byte> values, std::int64_t slot);
  // Made at first sight; `dims` with any number of rows.
  h5::Dataset& packed_site(HookId hook, const h5::Type& type, h5::Dims dims,
                           const std::vector<std::int64_t>& heads);
  h5::Dataset& packed_head_stats(const AttentionPlan& plan);
  void finish_packed();
};

namespace storage_detail {

[[noreturn]] void misuse(const std::string& where, const std::string& what,
                         const std::string& expected, const std::string& got);

// Subset attributes; the name of the site without its layer.
void set_subset(h5::Object& object, const Subset& subset);
std::string site_label(HookId hook);
h5::Dims dims_of(const TensorView& value);
// The values one after the other, whatever the strides.
std::vector<std::byte> dense(const TensorView& value);
// Rows [first, first + rows) of the first axis.
void write_rows(h5::Dataset& dataset, std::int64_t first, std::uint64_t rows, const void* data);
// Names of columns become attributes or datasets: no '/', no control bytes, none of ours.
void require_column_name(const std::string& name);

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span<const T>(values));
}

}  // namespace storage_detail
}  // namespace attnscope
