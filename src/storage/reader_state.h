// File: reader_state.h
// What the parts of CaptureReader share.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/storage/h5.h"
#include "attnscope/storage/reader.h"

namespace attnscope {

struct CaptureReader::State {
  std::string path;
  std::optional<h5::File> file;
  std::optional<h5::Group> root;
  FileInfo info;
  FileLayout layout = FileLayout::per_prompt;
  std::vector<std::int64_t> offsets;      // packed: [P+1]
  std::vector<std::int64_t> row_offsets;  // packed: [P+1], rows of /packed/<hook>
  int prompts = 0;

  [[noreturn]] void fail(const std::string& object, const std::string& what,
                         const std::string& expected, const std::string& got) const;
  void read_header();
  void read_layout();
  void require_prompt(int prompt) const;
  void require_whole_subset(const StoredSite& site) const;

  std::string group_path(int prompt) const { return "prompts/" + prompt_group_name(prompt); }
  // Where a hook of a prompt lies: its path and, in the packed layout, its rows.
  std::optional<std::string> find(int prompt, HookId hook) const;
  bool is_packed(const std::string& path) const { return path.rfind("packed/", 0) == 0; }
  h5::Slab rows_of(const h5::Dataset& dataset, int prompt) const;
  // The group of the statistics of one stack and prompt that holds `table`.
  std::optional<std::string> find_table(int prompt, Stack stack, AttentionTable table) const;
};

namespace storage_detail {

Array read_all(const h5::Dataset& dataset);
Array read_part(const h5::Dataset& dataset, const h5::Slab& slab);
std::vector<std::int64_t> read_integers(const h5::Dataset& dataset);
std::vector<std::string> read_texts(const h5::Dataset& dataset, std::optional<h5::Slab> slab = {});
Subset read_subset(const h5::Object& object);
// Forward order: embeddings, layers by number with their sites in order, final norm, logits.
bool comes_before(HookId a, HookId b);

}  // namespace storage_detail
}  // namespace attnscope
