#include "attnscope/storage/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "attnscope/storage/reader.h"
#include "attnscope/support/commit.h"
#include "attnscope/support/error.h"
#include "attnscope/support/file.h"
#include "attnscope/support/json.h"
#include "attnscope/support/utf8.h"
#include "commit.h"
#include "join.h"
#include "options_diff.h"

namespace attnscope {

namespace fs = std::filesystem;
using namespace storage_detail;  // NOLINT: the module's own helpers

namespace {

constexpr std::uint64_t kMaxManifestBytes = 64U << 20U;
constexpr const char* kManifestSchema = "attnscope-parts/1";

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

nlohmann::json config_of(const OutputOptions& options) {
  return options.config_json.empty() ? nlohmann::json::object()
                                     : parse_json(options.config_json, "configuration", "OU14");
}

std::string manifest_text(const OutputOptions& options) {
  nlohmann::json plan = nlohmann::json::array();
  for (const ShardRange& shard : options.shards) plan.push_back({shard.first, shard.count});
  const nlohmann::json manifest{{"schema", kManifestSchema},
                                {"run_id", options.run_id},
                                {"config", config_of(options)},
                                {"shards", plan},
                                {"replace", options.if_exists == IfExists::force}};
  return manifest.dump(1) + "\n";
}

[[noreturn]] void other_configuration(const std::string& where, const std::string& key,
                                      const nlohmann::json& before, const nlohmann::json& now) {
  throw Error(
      ErrorKind::input, "OU13",
      {.where = escape_untrusted(where, 4096),
       .what = "cannot resume: " + (key.empty() ? "the model, the inputs or the program differ"
                                                : quote(key) + " differs from the run before"),
       .expected = key.empty() ? "" : value_at(before, key),
       .got = key.empty() ? "" : value_at(now, key),
       .next = "run with the same options, or with --force to start over"});
}

[[noreturn]] void fail_because_of(const std::string& path, std::string what, std::string next) {
  throw Error(
      ErrorKind::output, "OU10",
      {.where = escape_untrusted(path, 4096), .what = std::move(what), .next = std::move(next)});
}

// "2/3" as --shard says it.
std::string part_name(const std::optional<ShardId>& part) {
  const ShardId shown = part.value_or(ShardId{});
  return std::to_string(shown.index + 1) + "/" + std::to_string(shown.count);
}

}  // namespace

std::vector<std::string> kept_shard_paths(const std::string& path) {
  std::error_code absent;
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(path + ".parts", absent)) {
    if (entry.path().extension() == ".h5") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

int kept_shards(const std::string& path) {
  return static_cast<int>(kept_shard_paths(path).size());
}

int planned_shards(const std::string& path) {
  const std::string manifest = path + ".parts/manifest.json";
  try {
    const nlohmann::json value =
        parse_json(read_text_file(manifest, "OU14", kMaxManifestBytes), manifest, "OU14");
    const nlohmann::json& shards = JsonObject(value, manifest, "OU14").require("shards");
    return shards.is_array() ? static_cast<int>(shards.size()) : 0;
  } catch (const Error&) {
    return 0;
  }
}

struct Output::State {
  OutputOptions options;
  std::optional<FileLock> lock;
  bool complete = false;
  bool owns_parts = false;  // OUT.h5.parts/ is this run's
  bool replace = false;     // --force, now or when the run began: OUT.h5 may be replaced
  std::vector<bool> committed;
  std::future<std::string> hash;  // of the result, computed while it is synced to the disk

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  // A run that committed nothing leaves nothing that would be in the way of the next one.
  ~State() {
    if (owns_parts && !holds_shards()) remove_parts();
  }

  bool is_growing() const { return options.shard_use == ShardUse::growing; }
  bool is_collected() const { return options.shard_use == ShardUse::collected || is_growing(); }
  bool is_sharded() const {
    return is_growing() || options.shards.size() > (is_collected() ? 0U : 1U);
  }
  std::string parts() const { return options.path + ".parts"; }
  std::string manifest() const { return parts() + "/manifest.json"; }
  std::string temporary() const { return options.path + ".tmp"; }
  std::string sidecar_temporary() const { return sidecar_path(options.path) + ".tmp"; }
  std::string shard_path(int shard) const {
    if (!is_sharded()) return options.path;
    std::array<char, 32> name{};
    std::snprintf(name.data(), name.size(), "/shard-%06d.h5", shard);
    return parts() + name.data();
  }
  std::string shard_temporary(int shard) const { return shard_path(shard) + ".tmp"; }

  bool holds_shards() const;
  void remove_parts() const noexcept;
  void require_absent() const;
  void require_own_sidecar() const;
  void require_allowed() const;
  void remove_leftovers() const;
  void start_parts() const;
  bool is_finished() const;
  void resume_finished();
  void commit_result(const std::string& temporary);
  void check_manifest();
  void resume_parts(Warnings& warnings);
  void look_at_shard(int shard, Warnings& warnings);
  void drop(int shard, const std::string& why, Warnings& warnings);
  std::string damage_of(int shard) const;
};

bool Output::State::holds_shards() const {
  return kept_shards(options.path) > 0;
}

void Output::State::remove_parts() const noexcept {
  std::error_code absent;
  fs::remove_all(parts(), absent);
}

void Output::State::require_absent() const {
  if (exists(options.path)) {
    fail_because_of(options.path, "the output exists already",
                    "choose another -o, or --force to replace it");
  }
  if (exists(parts())) {
    fail_because_of(parts(), "an unfinished run is there",
                    "--resume continues it, --force starts over");
  }
}

// Only a finished run writes OUT.json. Without OUT.h5 it is a file of the user's that has the name
// by chance, and must not be lost.
void Output::State::require_own_sidecar() const {
  const std::string sidecar = sidecar_path(options.path);
  if (exists(options.path) || !exists(sidecar)) return;
  fail_because_of(sidecar, "a file with the name of the output's companion exists already",
                  "choose another -o, or --force to replace it");
}

// What lies there already is not in the way.
void Output::State::require_allowed() const {
  if (options.if_exists == IfExists::refuse) require_absent();
  if (options.if_exists != IfExists::force) require_own_sidecar();
}

void Output::State::remove_leftovers() const {
  ::unlink(temporary().c_str());
  ::unlink(sidecar_temporary().c_str());
  if (!fs::is_directory(parts())) return;
  for (const auto& entry : fs::directory_iterator(parts())) {
    if (entry.path().filename().string().find(".tmp") != std::string::npos) {
      fs::remove(entry.path());
    }
  }
}

void Output::State::start_parts() const {
  std::error_code error;
  fs::create_directory(parts(), error);
  if (error) {
    throw Error(ErrorKind::output, "OU12",
                {.where = escape_untrusted(parts(), 4096),
                 .what = "cannot create the folder: " + error.message()});
  }
  write_and_commit(manifest() + ".tmp", manifest(), manifest_text(options), WriteMode::create);
  sync_folder(folder_of(options.path));
}

// OUT.h5 is there and this run's.
bool Output::State::is_finished() const {
  if (!exists(options.path)) return false;
  // Where a run with --force was interrupted, its parts lie beside the file it will replace.
  const bool begun = is_sharded() && exists(manifest());
  try {
    const CaptureReader reader(options.path, {.trust = Trust::own});
    const bool same_run = reader.file().run_id == options.run_id;
    if (same_run && reader.file().shard == options.part) return true;
    if (begun) return false;
    if (same_run) {
      other_configuration(options.path, "shard", {{"shard", part_name(reader.file().shard)}},
                          {{"shard", part_name(options.part)}});
    }
    const std::string before = reader.run().options_json;
    const nlohmann::json old =
        before.empty() ? nlohmann::json::object() : parse_json(before, options.path, "OU14");
    const nlohmann::json now = config_of(options);
    other_configuration(options.path, differing_key(old, now), old, now);
  } catch (const Error&) {
    if (begun) return false;
    throw;
  }
}

void Output::State::resume_finished() {
  complete = true;
  committed.assign(options.shards.size(), true);
  // The merge may have been killed between the rename and this.
  fs::remove_all(parts());
}

// Why a committed shard cannot be used; "" if it can.
std::string Output::State::damage_of(int shard) const {
  try {
    const std::string path = shard_path(shard);
    const CaptureReader reader(path, {.trust = Trust::own});
    const ShardId expected{shard, static_cast<int>(options.shards.size())};
    if (reader.file().shard != expected || reader.file().run_id != options.run_id) {
      return "it belongs to another run or place";
    }
    const std::string damaged = first_damaged_dataset(h5::File::open(path));
    return damaged.empty() ? "" : "SHA-256 of " + quote(damaged, 300) + " differs";
  } catch (const Error& error) {
    return error.detail().what;
  }
}

// The parts that lie there are of this run; whether it began with --force, they say.
void Output::State::check_manifest() {
  const nlohmann::json before =
      parse_json(read_text_file(manifest(), "OU14", kMaxManifestBytes), manifest(), "OU14");
  const JsonObject object(before, manifest(), "OU14");
  replace = object.boolean("replace");
  nlohmann::json now = nlohmann::json::parse(manifest_text(options));
  now["replace"] = replace;
  if (before != now) {
    const nlohmann::json& old = object.require("config");
    other_configuration(manifest(), differing_key(old, now.at("config")), old, now.at("config"));
  }
  if (exists(options.path) && !replace) require_absent();
}

void Output::State::resume_parts(Warnings& warnings) {
  if (!exists(manifest())) {
    // Killed before the plan was written: nothing was committed.
    fs::remove_all(parts());
    return start_parts();
  }
  check_manifest();
  for (int shard = 0; shard < static_cast<int>(options.shards.size()); ++shard) {
    look_at_shard(shard, warnings);
  }
}

void Output::State::look_at_shard(int shard, Warnings& warnings) {
  if (!exists(shard_path(shard))) return;
  const std::string damage = damage_of(shard);
  if (!damage.empty()) return drop(shard, damage, warnings);
  committed[static_cast<std::size_t>(shard)] = true;
}

void Output::State::drop(int shard, const std::string& why, Warnings& warnings) {
  committed[static_cast<std::size_t>(shard)] = false;
  warnings.add(escape_untrusted(shard_path(shard), 4096) + ": " + why +
               "; this shard is computed again");
  ::unlink(shard_path(shard).c_str());
}

void Output::State::commit_result(const std::string& temporary) {
  hash = hash_of_file(temporary);
  // The old result's hash must not lie beside the new one.
  if (replace && exists(options.path)) ::unlink(sidecar_path(options.path).c_str());
  commit_file(temporary, options.path, replace ? WriteMode::replace : WriteMode::create);
}

Output::Output(OutputOptions options, Warnings& warnings) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.options = std::move(options);
  s.committed.assign(s.options.shards.size(), false);
  require_writable_folder(s.options.path);
  s.lock.emplace(s.options.path);
  s.require_allowed();
  s.remove_leftovers();
  s.replace = s.options.if_exists == IfExists::force;
  const bool resume = s.options.if_exists == IfExists::resume;
  if (resume && s.is_finished()) {
    s.resume_finished();
  } else if (resume && s.is_sharded() && exists(s.parts())) {
    s.resume_parts(warnings);
    s.owns_parts = true;
  } else {
    fs::remove_all(s.parts());
    s.owns_parts = s.is_sharded();
    if (s.is_sharded()) s.start_parts();
  }
}

void Output::check(OutputOptions options) {
  State s;
  s.options = std::move(options);
  require_writable_folder(s.options.path);
  require_unlocked(s.options.path);
  s.require_allowed();
  if (s.options.if_exists != IfExists::resume || s.is_finished()) return;
  if (s.is_sharded() && exists(s.manifest())) s.check_manifest();
}

Output::~Output() = default;
Output::Output(Output&&) noexcept = default;

int Output::shards() const {
  return static_cast<int>(state_->options.shards.size());
}

int Output::extend(int count, Warnings& warnings) {
  State& s = *state_;
  const int first = shards();
  for (int shard = first; shard < first + count; ++shard) s.options.shards.push_back({shard, 1});
  s.committed.resize(s.options.shards.size());
  for (int shard = first; shard < first + count; ++shard) s.look_at_shard(shard, warnings);
  return first;
}

void Output::drop(int shard, const std::string& why, Warnings& warnings) {
  state_->drop(shard, why, warnings);
}

bool Output::complete() const {
  return state_->complete;
}
bool Output::is_committed(int shard) const {
  return state_->committed.at(static_cast<std::size_t>(shard));
}

std::string Output::begin(int shard) {
  if (is_committed(shard)) {
    throw Error(ErrorKind::internal, "OU15",
                {.where = state_->shard_path(shard), .what = "the shard is committed already"});
  }
  return state_->is_sharded() ? state_->shard_temporary(shard) : state_->temporary();
}

void Output::commit(int shard) {
  State& s = *state_;
  const std::string temporary = begin(shard);
  if (s.is_sharded()) {
    commit_file(temporary, s.shard_path(shard), WriteMode::create);
  } else {
    s.commit_result(temporary);
  }
  s.committed[static_cast<std::size_t>(shard)] = true;
}

std::string Output::shard_path(int shard) const {
  return state_->shard_path(shard);
}

std::string Output::begin_result() const {
  return state_->temporary();
}

void Output::write_sidecar(const std::string& json) {
  write_and_commit(state_->sidecar_temporary(), sidecar_path(state_->options.path), json,
                   WriteMode::replace);
}

std::string Output::finish() {
  State& s = *state_;
  for (int shard = 0; shard < shards(); ++shard) {
    if (!is_committed(shard)) {
      throw Error(ErrorKind::internal, "OU15",
                  {.where = s.shard_path(shard), .what = "a shard was not committed"});
    }
  }
  if (s.is_collected() && !s.complete) {
    s.commit_result(s.temporary());
    fs::remove_all(s.parts());
  } else if (s.is_sharded() && !s.complete) {
    std::vector<std::string> inputs;
    for (int shard = 0; shard < shards(); ++shard) inputs.push_back(s.shard_path(shard));
    join_files(inputs, {.kind = JoinKind::shards,
                        .run_id = s.options.run_id,
                        .part = s.options.part,
                        .path = s.temporary(),
                        .before_each = s.options.before_each_join});
    s.commit_result(s.temporary());
    fs::remove_all(s.parts());
  }
  s.complete = true;
  if (!s.hash.valid()) s.hash = hash_of_file(s.options.path);
  return s.hash.get();
}

}  // namespace attnscope
