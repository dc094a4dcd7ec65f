#include "view_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "attnscope/storage/output.h"
#include "attnscope/support/file.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "options.h"

namespace attnscope::cli {
namespace {

namespace fs = std::filesystem;

// HDF5 begins with these bytes, at 0, 512, 1024, 2048, …
constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";

bool looks_like_hdf5(const InputFile& file) {
  std::array<char, kSignature.size()> bytes{};
  for (std::uint64_t at = 0; at + bytes.size() <= file.size(); at = at == 0 ? 512 : at * 2) {
    file.read(at, bytes.data(), bytes.size());
    if (std::string_view(bytes.data(), bytes.size()) == kSignature) return true;
  }
  return false;
}

std::vector<std::string> similar_files(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code absent;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  for (const auto& entry : fs::directory_iterator(folder, absent)) {
    if (entry.path().extension() == ".h5") names.push_back(entry.path().filename().string());
  }
  std::vector<std::string> near = nearest(path.filename().string(), names);
  for (std::string& name : near) {
    name = quote((path.has_parent_path() ? path.parent_path() / name : fs::path(name)).string());
  }
  return near;
}

[[noreturn]] void fail_missing(const std::string& name) {
  std::error_code absent;
  if (fs::exists(name + ".parts", absent)) {
    fail_argument("VI02", {.where = escape_untrusted(name, 4096),
                           .what = "this run has not finished any part of it yet",
                           .next = "wait for its first part"});
  }
  const std::vector<std::string> near = similar_files(name);
  fail_argument("VI02", {.where = escape_untrusted(name, 4096),
                         .what = "there is no such file",
                         .next = near.empty() ? "make one: attnscope capture -m DIR --prompt TEXT "
                                                "-o run.h5"
                                              : "did you mean " + join(near, " or ") + "?"});
}

void add_parts(const std::string& name, const std::vector<std::string>& parts, ViewFiles& out) {
  const auto planned = static_cast<std::size_t>(planned_shards(name));
  const std::string count = planned >= parts.size()
                                ? std::to_string(parts.size()) + " of " + count_of(planned, "part")
                                : count_of(parts.size(), "part") + " so far";
  out.partial.push_back(escape_untrusted(name, 4096) + " is partial: " + count);
  out.paths.insert(out.paths.end(), parts.begin(), parts.end());
}

void add_file(const std::string& name, ViewFiles& out) {
  if (!looks_like_hdf5(InputFile(name, "VI02"))) {
    out.warnings.push_back(escape_untrusted(name, 4096) +
                           ": not an HDF5 file; the page will say so");
  }
  out.paths.push_back(name);
}

}  // namespace

ViewFiles find_view_files(const std::vector<std::string>& names) {
  ViewFiles out;
  for (const std::string& name : names) {
    const auto is_same = [&](const std::string& other) {
      return fs::absolute(other).lexically_normal() == fs::absolute(name).lexically_normal();
    };
    if (std::any_of(out.paths.begin(), out.paths.end(), is_same)) continue;
    std::error_code absent;
    if (fs::exists(name, absent)) {
      add_file(name, out);
      continue;
    }
    const std::vector<std::string> parts = kept_shard_paths(name);
    if (parts.empty()) fail_missing(name);
    add_parts(name, parts, out);
  }
  return out;
}

}  // namespace attnscope::cli
