// File: join.h
// Writes the prompts of several files, one after the other, into a new one: shards of a run, or
// the inputs of a merge.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/storage/h5.h"
#include "attnscope/storage/reader.h"

namespace attnscope::storage_detail {

enum class JoinKind : std::uint8_t {
  shards,  // parts of one run: model and run are those of the first
  merge,   // separate runs: /run/sources holds each one's
};

struct JoinOptions {
  JoinKind kind = JoinKind::shards;
  std::string run_id;
  std::optional<ShardId> part;        // FileInfo::shard of the result
  std::string path;                   // must not exist; removed again if joining fails
  std::function<void()> before_each;  // before each input; may throw to stop
};

// Stored chunks of maps and tables are copied as they are; packed rows one file after the other.
void join_files(const std::vector<std::string>& inputs, const JoinOptions& options);

// SHA-256 of every dataset against its attribute; the path of the first that differs, or "".
std::string first_damaged_dataset(const h5::File& file);

}  // namespace attnscope::storage_detail
