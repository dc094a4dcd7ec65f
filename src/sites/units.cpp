#include "attnscope/sites/units.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"
#include "list_parts.h"

namespace attnscope {
namespace {

struct KindName {
  UnitKind kind;
  const char* prefix;  // in front of the colon; none for heads
  const char* noun;    // what the number after the dot counts; empty = there is none
};

constexpr std::array kKinds = {
    KindName{UnitKind::head, "", "head"}, KindName{UnitKind::kv_group, "kv", "kv head"},
    KindName{UnitKind::attention, "attn", ""}, KindName{UnitKind::mlp, "mlp", ""},
    KindName{UnitKind::neuron, "neuron", "neuron"}};

constexpr const char* kForms = "a unit such as 5.1, kv:5.1, attn:5, mlp:5, neuron:5.17 or 5.1@7";
constexpr const char* kReceiverForms = "a receiver such as 10.7.q, 10.7.k, 10.7.v, mlp:11, logits";

const KindName& kind_name(UnitKind kind) {
  return *std::find_if(kKinds.begin(), kKinds.end(),
                       [kind](const KindName& k) { return k.kind == kind; });
}

int layer_count(const UnitSizes& sizes) {
  return static_cast<int>(sizes.heads.size());
}

// How many units of a kind a layer has.
int units_in_layer(UnitKind kind, const UnitSizes& sizes, int layer) {
  const auto l = static_cast<std::size_t>(layer);
  switch (kind) {
    case UnitKind::head:
      return sizes.heads.at(l);
    case UnitKind::kv_group:
      return sizes.kv_groups.at(l);
    case UnitKind::neuron:
      return sizes.neurons.at(l);
    case UnitKind::attention:
      return sizes.heads.at(l) > 0 ? 1 : 0;
    case UnitKind::mlp:
      break;
  }
  return sizes.neurons.at(l) > 0 ? 1 : 0;
}

// One name of a list: "kv:0-3.*@7".
class NameParser {
 public:
  NameParser(std::string_view name, const UnitSizes& sizes, const ListOption& option)
      : name_(name), rest_(name), sizes_(sizes), option_(option) {}

  std::vector<UnitId> units(UnitKind bare) {
    const IndexSpan positions = take_positions();
    const UnitKind kind = take_kind(bare);
    const KindName& named = kind_name(kind);
    const bool numbered = named.noun[0] != '\0';
    const bool all = rest_ == "*" || rest_ == "all";
    const std::size_t dot = rest_.find('.');
    if (!all && (dot == std::string_view::npos) == numbered) {
      fail(numbered ? " has no " + std::string(named.noun) + " after its layer"
                    : " has a number after its layer",
           kForms);
    }
    std::vector<UnitId> out;
    const IndexSpan layers = span(rest_.substr(0, dot), layer_count(sizes_), "layer");
    for (int layer = layers.first; layer <= layers.last; ++layer) {
      const int count = units_in_layer(kind, sizes_, layer);
      if (!numbered && count == 0) {
        if (all) continue;
        fail(": layer " + std::to_string(layer) + " has none", "a layer that has one");
      }
      IndexSpan indices;
      if (numbered && all && count == 0) continue;
      if (numbered) indices = span(all ? "*" : rest_.substr(dot + 1), count, named.noun);
      for (int index = indices.first; index <= indices.last; ++index) {
        for (int p = positions.first; p <= positions.last; ++p) {
          out.push_back({kind, layer, index, p});
        }
      }
    }
    if (out.empty()) fail(" selects nothing", "a kind of unit that this model has");
    return out;
  }

  std::vector<ReceiverId> receivers() {
    if (rest_ == "logits") return {{ReceiverKind::logits, -1, 0}};
    std::vector<ReceiverId> out;
    if (rest_.find(':') != std::string_view::npos) {
      for (const UnitId& unit : units(UnitKind::mlp)) {
        if (unit.kind != UnitKind::mlp || unit.position >= 0) {
          fail(" is not a receiver", kReceiverForms);
        }
        out.push_back({ReceiverKind::mlp, unit.layer, 0});
      }
      return out;
    }
    const std::size_t dot = rest_.rfind('.');
    const std::string_view input = dot == std::string_view::npos ? "" : rest_.substr(dot + 1);
    if (input != "q" && input != "k" && input != "v") fail(" is not a receiver", kReceiverForms);
    const ReceiverKind kind = input == "q"   ? ReceiverKind::q
                              : input == "k" ? ReceiverKind::k
                                             : ReceiverKind::v;
    rest_ = rest_.substr(0, dot);
    for (const UnitId& unit :
         units(kind == ReceiverKind::q ? UnitKind::head : UnitKind::kv_group)) {
      if (unit.position >= 0) fail(" is not a receiver", kReceiverForms);
      out.push_back({kind, unit.layer, unit.index});
    }
    return out;
  }

 private:
  IndexSpan take_positions() {
    const std::size_t at = rest_.find('@');
    if (at == std::string_view::npos) return {-1, -1};
    const std::string_view positions = trim(rest_.substr(at + 1));
    rest_ = trim(rest_.substr(0, at));
    if (sizes_.positions > 0) return span(positions, sizes_.positions, "position");
    const auto position = parse_integer(positions);
    if (!position || *position < 0 || *position > (1 << 30)) {
      fail(" has no position after @", "a position from 0, as in 5.1@7");
    }
    return {static_cast<int>(*position), static_cast<int>(*position)};
  }

  UnitKind take_kind(UnitKind bare) {
    const std::size_t colon = rest_.find(':');
    if (colon == std::string_view::npos) return bare;
    const std::string_view prefix = trim(rest_.substr(0, colon));
    rest_ = trim(rest_.substr(colon + 1));
    std::vector<std::string> prefixes;
    for (const KindName& kind : kKinds) {
      if (kind.prefix[0] == '\0') continue;
      if (prefix == kind.prefix) return kind.kind;
      prefixes.emplace_back(kind.prefix);
    }
    if (prefix == "enc" || prefix == "dec" || prefix == "cross") {
      fail(" names a stack, and this model has only one", "a unit without that prefix");
    }
    const std::vector<std::string> near = nearest(prefix, prefixes);
    fail(" is not a unit", near.empty() ? kForms : near.front() + ":" + escape_untrusted(rest_));
  }

  IndexSpan span(std::string_view text, int count, std::string_view what) const {
    return parse_span(trim(text), count, what, name_, option_);
  }

  [[noreturn]] void fail(const std::string& why, const std::string& expected) const {
    fail_list_part(option_, name_, why, expected);
  }

  std::string_view name_;
  std::string_view rest_;
  const UnitSizes& sizes_;
  const ListOption& option_;
};

void add_once(std::vector<UnitSet>& sets, std::set<UnitSet>& seen, UnitSet set) {
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  if (seen.insert(set).second) sets.push_back(std::move(set));
}

}  // namespace

std::string unit_name(const UnitId& unit) {
  const KindName& kind = kind_name(unit.kind);
  std::string name = kind.prefix[0] == '\0' ? "" : std::string(kind.prefix) + ":";
  name += std::to_string(unit.layer);
  if (kind.noun[0] != '\0') name += "." + std::to_string(unit.index);
  if (unit.position >= 0) name += "@" + std::to_string(unit.position);
  return name;
}

std::string unit_set_name(const UnitSet& set) {
  std::vector<std::string> names;
  for (const UnitId& unit : set) names.push_back(unit_name(unit));
  return join(names, "+");
}

std::vector<UnitSet> parse_unit_sets(std::string_view text, const UnitSizes& sizes, UnitKind bare,
                                     std::string_view option) {
  const ListOption context{option, text};
  std::vector<UnitSet> sets;
  std::set<UnitSet> seen;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> members = split(part, '+');
    UnitSet joined;
    for (const std::string& member : members) {
      const std::string_view name = trim(member);
      if (name.empty()) fail_list_part(context, name, "", kForms);
      const std::vector<UnitId> units = NameParser(name, sizes, context).units(bare);
      joined.insert(joined.end(), units.begin(), units.end());
    }
    if (members.size() > 1) {
      add_once(sets, seen, std::move(joined));
    } else {
      for (const UnitId& unit : joined) add_once(sets, seen, {unit});
    }
  }
  return sets;
}

std::vector<UnitSet> all_units(UnitKind kind, const UnitSizes& sizes) {
  std::vector<UnitSet> sets;
  for (int layer = 0; layer < layer_count(sizes); ++layer) {
    const int count = units_in_layer(kind, sizes, layer);
    for (int index = 0; index < count; ++index) sets.push_back({{kind, layer, index, -1}});
  }
  return sets;
}

std::string receiver_name(const ReceiverId& receiver) {
  const std::string layer = std::to_string(receiver.layer);
  const std::string head = layer + "." + std::to_string(receiver.index);
  switch (receiver.kind) {
    case ReceiverKind::q:
      return head + ".q";
    case ReceiverKind::k:
      return head + ".k";
    case ReceiverKind::v:
      return head + ".v";
    case ReceiverKind::mlp:
      return "mlp:" + layer;
    case ReceiverKind::logits:
      break;
  }
  return "logits";
}

std::vector<ReceiverId> parse_receivers(std::string_view text, const UnitSizes& sizes,
                                        std::string_view option) {
  const ListOption context{option, text};
  std::set<ReceiverId> chosen;
  for (const std::string& part : split(text, ',')) {
    const std::string_view name = trim(part);
    if (name.empty()) fail_list_part(context, name, "", kReceiverForms);
    const std::vector<ReceiverId> receivers = NameParser(name, sizes, context).receivers();
    chosen.insert(receivers.begin(), receivers.end());
  }
  std::vector<ReceiverId> sorted(chosen.begin(), chosen.end());
  // In the order of the forward pass, the logits last.
  std::sort(sorted.begin(), sorted.end(), [](const ReceiverId& a, const ReceiverId& b) {
    const auto key = [](const ReceiverId& r) {
      return std::tuple(r.kind == ReceiverKind::logits, r.layer, r.kind, r.index);
    };
    return key(a) < key(b);
  });
  return sorted;
}

}  // namespace attnscope
