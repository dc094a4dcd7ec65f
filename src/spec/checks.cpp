#include "checks.h"

#include <optional>
#include <set>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope::spec_checks {

[[noreturn]] void refuse(std::string option, std::string what, std::string expected,
                         std::string got, std::string next) {
  throw Error(ErrorKind::input, "SP03",
              {.where = std::move(option),
               .what = std::move(what),
               .expected = std::move(expected),
               .got = std::move(got),
               .next = std::move(next)});
}

void require(const std::string& value, const char* option, const char* next) {
  if (value.empty()) refuse(option, "is missing", "", "", next);
}

void check_range(std::int64_t value, std::int64_t low, std::int64_t high, const char* option) {
  if (value >= low && value <= high) return;
  refuse(option, "out of range", std::to_string(low) + " to " + std::to_string(high),
         std::to_string(value));
}

void check_result_name(const std::string& out) {
  static constexpr std::string_view kEnding = ".h5";
  const std::string name = out.substr(out.rfind('/') + 1);
  if (out.empty() || (name.ends_with(kEnding) && name.size() > kEnding.size())) return;
  refuse("--out", "not a name for a result file", "a name that ends in .h5", quote(out));
}

void require_model(const std::string& model) {
  require(model, "--model", "give a model folder: -m DIR");
}

void check_device(const std::string& device) {
  if (device == "auto" || device == "cpu" || device == "cuda") return;
  const bool numbered = device.starts_with("cuda:");
  const auto index = numbered ? parse_integer(std::string_view(device).substr(5)) : std::nullopt;
  if (index && *index >= 0) return;
  refuse("--device", "unknown device", "auto, cpu, cuda or cuda:N", quote(device));
}

void check_list(const std::string& list, const char* option) {
  if (list.empty()) return;
  for (const std::string& part : split(list, ',')) {
    if (trim(part).empty()) refuse(option, "an empty part in the list", "", quote(list));
  }
}

void check_names(const std::string& list, const char* option) {
  check_list(list, option);
  std::set<std::set<std::string>> seen;
  for (const std::string& part : split(list, ',')) {
    const std::vector<std::string> joined = split(part, '+');
    std::set<std::string> names;
    for (const std::string& name : joined) names.emplace(trim(name));
    if (names.size() == joined.size() && seen.insert(names).second) continue;
    refuse(option, "names " + quote(trim(part)) + (names.size() < joined.size() ? "" : " twice"),
           "each name once", quote(list));
  }
}

void check_text(const std::optional<std::string>& text, const char* option, InvalidUtf8 policy) {
  if (!text || policy == InvalidUtf8::replace) return;
  if (const auto bad = first_invalid_utf8(*text)) {
    refuse(option, "not valid UTF-8 at byte " + std::to_string(*bad), "", quote(*text),
           "--invalid-utf8 replace puts U+FFFD there");
  }
}

void check_compute(const ComputeOptions& compute) {
  check_device(compute.device);
  check_range(compute.threads, 0, kMaxThreads, "--threads");
  check_range(compute.batch, 0, 65536, "--batch");
}

void check_shard(const ShardChoice& shard) {
  check_range(shard.count, 1, 1'000'000, "--shard");
  check_range(shard.index, 1, shard.count, "--shard");
}

void check_resume(const DeliveryOptions& output) {
  if (!output.force || !output.resume) return;
  refuse("--resume", "contradicts --force", "", "",
         "--resume keeps what is there, --force starts anew");
}

}  // namespace attnscope::spec_checks
