#include <algorithm>
#include <cmath>
#include <utility>

#include "attnscope/spec/capture_spec.h"
#include "attnscope/spec/experiment_specs.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

[[noreturn]] void bad_option(std::string_view option, std::string expected, std::string_view got) {
  throw Error(ErrorKind::input, "SP02",
              {.where = std::string(option),
               .what = "not a valid value",
               .expected = std::move(expected),
               .got = quote(got)});
}

// "zero,mean" in order; a name that stands twice is an error, since it would be computed once.
template <typename Choice>
std::vector<Choice> parse_choices(std::string_view text, std::string_view option) {
  std::vector<Choice> chosen;
  for (const std::string& part : split(text, ',')) {
    const Choice choice = parse_choice<Choice>(trim(part), option);
    if (std::find(chosen.begin(), chosen.end(), choice) != chosen.end()) {
      bad_option(option, "each name once", text);
    }
    chosen.push_back(choice);
  }
  return chosen;
}

}  // namespace

std::vector<AblationMethod> parse_methods(std::string_view text, std::string_view option) {
  return parse_choices<AblationMethod>(text, option);
}

std::vector<EffectChoice> parse_effects(std::string_view text, std::string_view option) {
  return parse_choices<EffectChoice>(text, option);
}

std::vector<EdgeCut> parse_edge_cuts(std::string_view text, std::string_view option) {
  return parse_choices<EdgeCut>(text, option);
}

ShardChoice parse_shard(std::string_view text) {
  const auto parts = split(text, '/');
  const auto index = parse_integer(parts.front());
  const auto count = parse_integer(parts.back());
  const bool valid = parts.size() == 2 && index && count && *count >= 1 && *count <= 1'000'000 &&
                     *index >= 1 && *index <= *count;
  if (!valid) bad_option("--shard", "i/N with i from 1 to N, e.g. 1/4", text);
  return {static_cast<int>(*index), static_cast<int>(*count)};
}

std::uint64_t parse_bytes(std::string_view text, std::string_view option) {
  static constexpr std::string_view kUnits = "KMGT";
  std::string_view number = text;
  double unit = 1;
  for (std::string_view suffix : {"iB", "B"}) {
    if (number.ends_with(suffix)) {
      number.remove_suffix(suffix.size());
      break;
    }
  }
  const bool has_unit = !number.empty() && kUnits.find(number.back()) != std::string_view::npos;
  if (has_unit) {
    unit = std::pow(1024.0, static_cast<double>(kUnits.find(number.back()) + 1));
    number.remove_suffix(1);
  }
  const bool dangling = !has_unit && text.ends_with("iB");
  const auto value = parse_number(number);
  if (dangling || !value || !(*value > 0) || *value * unit >= 0x1p63) {
    bad_option(option, "a size such as 500M or 1.5GiB", text);
  }
  return static_cast<std::uint64_t>(*value * unit);
}

std::vector<std::int64_t> parse_id_list(std::string_view text, std::string_view option) {
  std::vector<std::int64_t> ids;
  for (const std::string& part : split(text, ',')) {
    const auto id = parse_integer(trim(part));
    if (!id || *id < 0) bad_option(option, "integers from 0 such as 5,17,3", text);
    ids.push_back(*id);
  }
  return ids;
}

}  // namespace attnscope
