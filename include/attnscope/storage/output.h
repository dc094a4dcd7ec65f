// File: output.h
// Where a run's result goes, and how it gets there: nothing half written, nothing overwritten,
// nothing lost.
//
// A file is written under a temporary name in its folder, closed, synced, given its final name,
// and the folder is synced. A run of several shards commits each of them in the same way into
// OUT.h5.parts/, beside manifest.json; a shard is committed if and only if its final name exists.
// At the end they are merged into OUT.h5, again under a temporary name; the parts are removed
// after the merged file is synced. Interrupted at any point and resumed, a run gives the same
// bytes.
//
// A run that ends before anything is committed leaves no parts behind.
//
// While an Output lives it holds a lock on OUT.h5.lock; a second process gets an error (exit 3)
// that names the holder. Leftovers of a killed run are removed under the lock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/storage/schema.h"
#include "attnscope/support/warnings.h"

namespace attnscope {

enum class IfExists : std::uint8_t {
  refuse,  // an existing OUT.h5, OUT.json or OUT.h5.parts/ is an error (exit 3)
  resume,  // keep committed shards of the same configuration; another one is an error (exit 2)
  force,   // start over; an existing OUT.h5 is replaced when the new one is complete
};

// What becomes of committed shards at the end.
enum class ShardUse : std::uint8_t {
  joined,     // put one after the other to OUT.h5; a single shard is OUT.h5 itself
  collected,  // read by the caller, who writes OUT.h5 (begin_result)
  growing,    // collected too, and how many there are is found out on the way: extend()
};

// One shard of the plan: consecutive prompts, or work items of a sweep.
struct ShardRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool operator==(const ShardRange&) const = default;
};

// The finished shards that lie in OUT.h5.parts/ beside OUT.h5, which is `path`, in their order.
std::vector<std::string> kept_shard_paths(const std::string& path);
int kept_shards(const std::string& path);
// How many the run will have, as far as it knows by now; 0 if it does not say.
int planned_shards(const std::string& path);

struct OutputOptions {
  std::string path;  // OUT.h5
  IfExists if_exists = IfExists::refuse;
  std::string run_id;       // FileInfo::run_id of every shard
  std::string config_json;  // an object, as RunInfo::options_json; compared key by key on resume
  ShardUse shard_use = ShardUse::joined;
  std::vector<ShardRange> shards{{0, 1}};
  std::optional<ShardId> part;  // FileInfo::shard of OUT.h5 itself: a part of a longer run
  // Called before each shard is joined to the file; may throw to stop there.
  std::function<void()> before_each_join;
};

class Output {
 public:
  // Checks folder, existing files and lock, and looks at committed shards (structure, shard
  // number, run id, SHA-256 of every dataset). A damaged shard is removed, and said in `warnings`.
  Output(OutputOptions options, Warnings& warnings);
  ~Output();
  // Throws what the constructor would, and makes, changes and removes nothing.
  static void check(OutputOptions options);
  Output(Output&&) noexcept;
  Output& operator=(Output&&) = delete;

  int shards() const;
  // ShardUse::growing: more shards behind those that are known. Under resume those of them that are
  // there are checked as the constructor checks the others. Returns the number of the first.
  int extend(int count, Warnings& warnings);
  // Removes a committed shard, which is computed again, and says why.
  void drop(int shard, const std::string& why, Warnings& warnings);
  // Resume only: OUT.h5 is there with this run id; there is nothing left to do.
  bool complete() const;
  bool is_committed(int shard) const;
  // The temporary path to write shard `shard` to. Its FileInfo::shard is {shard, shards()}, in a
  // run of one shard OutputOptions::part.
  std::string begin(int shard);
  // Syncs and renames. A failed sync drops the file (exit 3) and is never tried again.
  void commit(int shard);
  // Where a committed shard lies.
  std::string shard_path(int shard) const;
  // ShardUse::collected: the temporary path to write OUT.h5 to, before finish().
  std::string begin_result() const;
  // Joins if there are several shards, or commits what was written to begin_result(). Returns the
  // SHA-256 of OUT.h5, for OUT.json.
  std::string finish();
  // Writes OUT.json, replacing an older one.
  void write_sidecar(const std::string& json);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// "run.h5" → "run.json".
std::string sidecar_path(const std::string& path);
// The key of OUT.json that holds the file's SHA-256.
inline constexpr const char* kSidecarHashKey = "file_sha256";

// Free bytes in the folder of `path`, the largest number where its file system does not tell;
// throws (exit 3) if the folder is missing.
std::uint64_t free_bytes(const std::string& path);

}  // namespace attnscope
