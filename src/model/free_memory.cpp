#include "free_memory.h"

#include <fstream>
#include <sstream>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"

namespace attnscope {
namespace {

// The number after `key` in a file of "key value" lines.
std::optional<std::uint64_t> value_after(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    if (word != key) continue;
    std::uint64_t value = 0;
    if (file >> value) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;  // "max" is no number: no limit
  return std::nullopt;
}

// What one control group leaves; its page cache can be given back.
std::optional<std::uint64_t> left_in_group(const std::string& folder) {
  const auto limit = number_in(folder + "/memory.max");
  const auto used = number_in(folder + "/memory.current");
  if (!limit || !used) return std::nullopt;
  const std::uint64_t cache = value_after(folder + "/memory.stat", "inactive_file").value_or(0);
  const std::uint64_t held = *used > cache ? *used - cache : 0;
  return *limit > held ? *limit - held : 0;
}

// The group of this process and all groups above it.
std::optional<std::uint64_t> left_in_groups() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  std::string group;
  while (std::getline(file, line)) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  std::optional<std::uint64_t> least;
  for (std::string path = group;; path = path.substr(0, path.rfind('/'))) {
    const auto left = left_in_group("/sys/fs/cgroup" + path);
    if (left && (!least || *left < *least)) least = left;
    if (path.empty() || path.find('/') == std::string::npos) break;
  }
  return least;
}

constexpr std::uint64_t kKibibyte = 1024;

}  // namespace

std::optional<FreeMemory> free_memory() {
  std::optional<FreeMemory> free;
  if (const auto available = value_after("/proc/meminfo", "MemAvailable:")) {
    free = {*available * kKibibyte, "MemAvailable"};
  }
  const auto group = left_in_groups();
  if (group && (!free || *group < free->bytes)) {
    free = {*group, "the memory limit of the control group"};
  }
  return free;
}

void expect_memory_for(std::uint64_t bytes, const std::string& what, const std::string& where) {
  const std::optional<FreeMemory> free = free_memory();
  if (!free || bytes <= free->bytes) return;
  throw Error(ErrorKind::limit, "MO01",
              {.where = where,
               .what = what + " need " + format_bytes(bytes),
               .expected = "at most the " + format_bytes(free->bytes) + " that are free (" +
                           free->source + ")",
               .next = "use a smaller --dtype or a machine with more memory"});
}

}  // namespace attnscope
