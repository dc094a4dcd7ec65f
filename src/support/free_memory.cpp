#include "attnscope/support/free_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
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

std::uint64_t limit_of(__rlimit_resource resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

}  // namespace

std::optional<FreeMemory> free_addresses() {
  // /proc/self/statm in pages: all, resident, shared, text, 0, data.
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0, resident = 0, shared = 0, text = 0, unused = 0, data = 0;
  if (!(file >> all >> resident >> shared >> text >> unused >> data)) return std::nullopt;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::optional<FreeMemory> least;
  const auto consider = [&](std::uint64_t limit, std::uint64_t used, const char* source) {
    if (limit == RLIM_INFINITY) return;
    const std::uint64_t left = limit > used ? limit - used : 0;
    if (!least || left < least->bytes) least = {left, source};
  };
  consider(limit_of(RLIMIT_AS), all * page, "ulimit -v");
  consider(limit_of(RLIMIT_DATA), data * page, "ulimit -d");
  return least;
}

std::optional<FreeMemory> free_memory() {
  std::optional<FreeMemory> free;
  if (const auto available = value_after("/proc/meminfo", "MemAvailable:")) {
    free = {*available * kKibibyte, "MemAvailable"};
  }
  const auto group = left_in_groups();
  if (group && (!free || *group < free->bytes)) {
    free = {*group, "the memory limit of the control group"};
  }
  const auto addresses = free_addresses();
  if (addresses && (!free || addresses->bytes < free->bytes)) free = addresses;
  return free;
}

void expect_within(const std::optional<FreeMemory>& free, const MemoryNeed& need) {
  if (!free || need.bytes <= free->bytes) return;
  throw Error(ErrorKind::limit, "MO01",
              {.where = need.where,
               .what = need.what + " need " + format_bytes(need.bytes),
               .expected = "at most the " + format_bytes(free->bytes) + " that are free (" +
                           free->source + ")",
               .next = need.next});
}

}  // namespace attnscope
