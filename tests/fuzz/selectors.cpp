// What a command line names hooks, layers, heads, positions, units and sizes by: a byte that
// chooses the parser, then the text.
#include <algorithm>

#include "attnscope/sites/selectors.h"
#include "attnscope/sites/site.h"
#include "attnscope/sites/units.h"
#include "attnscope/spec/capture_spec.h"
#include "attnscope/support/utf8.h"
#include "target.h"

using namespace attnscope;        // NOLINT
using namespace attnscope::fuzz;  // NOLINT

namespace {

// A few hooks: the error for an unknown name looks at each.
SiteInventory inventory() {
  SiteInventory out{.n_layers = 2, .hooks = {{.site = Site::embed}}};
  for (const int layer : {0, 1}) {
    for (const Site site : {Site::resid_pre, Site::pattern, Site::z, Site::resid_post}) {
      out.hooks.push_back({.site = site, .layer = layer});
    }
  }
  out.hooks.push_back({.site = Site::logits});
  return out;
}

// "Mary and <s>Mary", in which the second word has two tokens.
PromptText prompt() {
  return {.text = "Mary and Mary",
          .tokens = {{0, 4}, {4, 8}, {-1, -1}, {8, 11}, {11, 13}},
          .spans = {{"subject", "Mary"}, {"range", "[9, 13]"}}};
}

template <typename T>
void check_sorted(const std::vector<T>& values) {
  check(std::adjacent_find(values.begin(), values.end(), std::greater_equal<T>()) == values.end(),
        "values that do not go up");
}

void check_range(const std::vector<int>& values, int count) {
  check(!values.empty(), "a selection of nothing");
  check_sorted(values);
  check(values.front() >= 0 && values.back() < count, "a value out of range");
}

const UnitSizes kSizes{.heads = {8, 8}, .kv_groups = {8, 2}, .neurons = {0, 24}};

// Units and receivers come back by the names they are given.
void check_units(std::string_view text) {
  for (const UnitSet& set : parse_unit_sets(text, kSizes, UnitKind::head, "--heads")) {
    check_sorted(set);
    const auto back = parse_unit_sets(unit_set_name(set), kSizes, UnitKind::head, "--heads");
    check(back == std::vector<UnitSet>{set}, "a unit that does not come back by its name");
  }
}

void check_receivers(std::string_view text) {
  for (const ReceiverId& receiver : parse_receivers(text, kSizes, "--receivers")) {
    const auto back = parse_receivers(receiver_name(receiver), kSizes, "--receivers");
    check(back == std::vector<ReceiverId>{receiver}, "a receiver that does not come back");
  }
}

void parse(std::uint8_t which, std::string_view text) {
  switch (which % 10) {
    case 0:
      return check_range(parse_ranges(text, 12, "--layers"), 12);
    case 1:
      return check_sorted(parse_heads(text, {8, 8, 1, 12}, "--heads"));
    case 2:
      return check_range(parse_positions(text, prompt(), "--positions"), 5);
    case 3: {
      static const SiteInventory hooks = inventory();
      // An unknown name is compared with every other, which takes long for a long one.
      for (const HookId& hook : select_hooks(text.substr(0, 40), hooks, "--hooks")) {
        check(hooks.contains(hook), "a hook that the model does not have");
      }
      return;
    }
    case 4:
      if (const auto hook = parse_hook(text)) {
        check(parse_hook(hook_name(*hook)) == hook, "a hook that does not come back by its name");
      }
      return;
    case 5: {
      const ShardChoice shard = parse_shard(text);
      return check(shard.index >= 1 && shard.index <= shard.count, "a shard out of range");
    }
    case 6:
      parse_bytes(text, "--budget");
      return;
    case 7:
      return check_units(text);
    case 8:
      return check_receivers(text);
    default:
      for (const std::int64_t id : parse_id_list(text, "--ids")) check(id >= 0, "a negative id");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  accepts([&] { parse(data[0], as_text(data + 1, size - 1)); });
  return 0;
}
