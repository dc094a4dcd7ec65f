#include "view_files.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
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
// More than any disk has; addresses that are not set are larger.
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 60;

std::optional<std::uint64_t> signature_of(const InputFile& file) {
  std::array<char, kSignature.size()> bytes{};
  for (std::uint64_t at = 0; at + bytes.size() <= file.size(); at = at == 0 ? 512 : at * 2) {
    file.read(at, bytes.data(), bytes.size());
    if (std::string_view(bytes.data(), bytes.size()) == kSignature) return at;
  }
  return std::nullopt;
}

// Where a superblock, counted from the signature, has the size of its addresses, the base address
// and the end of the file. HDF5 has four versions of it.
struct SuperblockPlan {
  std::size_t address_bytes;
  std::size_t base;
  std::size_t end;
};
constexpr std::array<SuperblockPlan, 4> kSuperblocks{{{.address_bytes = 13, .base = 24, .end = 40},
                                                      {.address_bytes = 13, .base = 28, .end = 44},
                                                      {.address_bytes = 9, .base = 12, .end = 28},
                                                      {.address_bytes = 9, .base = 12, .end = 28}}};
constexpr std::size_t kSuperblockBytes = 52;

std::uint64_t address_at(const std::array<unsigned char, kSuperblockBytes>& bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 8; i-- > 0;) value = value << 8 | bytes[at + i];
  return value;
}

// How long the file was when it was written; nothing where its superblock does not say so plainly.
std::optional<std::uint64_t> written_bytes(const InputFile& file, std::uint64_t signature) {
  std::array<unsigned char, kSuperblockBytes> bytes{};
  if (signature + bytes.size() > file.size()) return std::nullopt;
  file.read(signature, bytes.data(), bytes.size());
  const unsigned char version = bytes[kSignature.size()];
  if (version >= kSuperblocks.size()) return std::nullopt;
  const SuperblockPlan& plan = kSuperblocks[version];
  if (bytes[plan.address_bytes] != 8) return std::nullopt;
  const std::uint64_t base = address_at(bytes, plan.base);
  const std::uint64_t end = address_at(bytes, plan.end);
  if (base > end || end > kLargestFile) return std::nullopt;
  return end - base + signature;
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

// Why the page will not be able to show a file, as far as its beginning tells; else empty.
std::string problem_of(const InputFile& file) {
  const std::optional<std::uint64_t> signature = signature_of(file);
  if (!signature) return "not an HDF5 file";
  const std::uint64_t written = written_bytes(file, *signature).value_or(0);
  if (written <= file.size()) return "";
  return "cut off: " + std::to_string(file.size()) + " of " + std::to_string(written) +
         " bytes are there";
}

void add_file(const std::string& name, ViewFiles& out) {
  const std::string problem = problem_of(InputFile(name, "VI02"));
  if (!problem.empty()) {
    out.warnings.push_back(escape_untrusted(name, 4096) + ": " + problem +
                           "; the page will say so");
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
