// File: units.h
// Names of the parts of a model that experiments switch off, and of what path patching patches
// into.
//
//   5.1            query head 1 of layer 5          5.1@7      the same at position 7 alone
//   kv:5.1         key-value head 1 of layer 5      5.1+5.3    two units as one
//   attn:5, mlp:5  the attention, the MLP           5.*, 0-3.2 ranges, as in lists of heads
//   neuron:5.1234  one neuron of an MLP
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

enum class UnitKind { head, kv_group, attention, mlp, neuron };

struct UnitId {
  UnitKind kind = UnitKind::head;
  int layer = 0;
  int index = 0;      // head, kv head or neuron; 0 for attention and mlp
  int position = -1;  // −1 = all positions
  auto operator<=>(const UnitId&) const = default;
};

// Units that are switched off together; never empty.
using UnitSet = std::vector<UnitId>;

// What a model has, by layer.
struct UnitSizes {
  std::vector<int> heads;
  std::vector<int> kv_groups;
  std::vector<int> neurons;  // 0 where a layer has no MLP
  int positions = 0;         // tokens of the longest prompt; 0 = not known
};

std::string unit_name(const UnitId& unit);
std::string unit_set_name(const UnitSet& set);  // "5.1+5.3"

// A comma-separated list. A part that is a range stands for each of its units by itself; '+' joins
// units (and ranges) to one set. A name without prefix is of the kind `bare`. In the order written,
// without duplicates; each set is sorted. Errors name `option`, the part and what is valid.
std::vector<UnitSet> parse_unit_sets(std::string_view text, const UnitSizes& sizes, UnitKind bare,
                                     std::string_view option);

// Every unit of a kind, in order.
std::vector<UnitSet> all_units(UnitKind kind, const UnitSizes& sizes);

// What a path ends in.
enum class ReceiverKind { q, k, v, mlp, logits };

struct ReceiverId {
  ReceiverKind kind = ReceiverKind::logits;
  int layer = -1;  // −1 for the logits
  int index = 0;   // query head for q, kv head for k and v
  auto operator<=>(const ReceiverId&) const = default;
};

std::string receiver_name(const ReceiverId& receiver);  // "10.7.q", "mlp:11", "logits"

// "10.7.q,10.*.k,mlp:11,logits": sorted, without duplicates. Where a model has fewer key-value
// heads than query heads, k and v count key-value heads.
std::vector<ReceiverId> parse_receivers(std::string_view text, const UnitSizes& sizes,
                                        std::string_view option);

}  // namespace attnscope
