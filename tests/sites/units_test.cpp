#include "attnscope/sites/units.h"

#include <gtest/gtest.h>

#include <functional>

#include "attnscope/support/error.h"

namespace attnscope {
namespace {

using Names = std::vector<std::string>;

// Three layers; the first has no MLP, the last shares each of its two kv heads among two heads.
const UnitSizes kSizes = {.heads = {2, 4, 4}, .kv_groups = {2, 4, 2}, .neurons = {0, 12, 12}};

Names sets(std::string_view text, UnitKind bare = UnitKind::head) {
  Names names;
  for (const UnitSet& set : parse_unit_sets(text, kSizes, bare, "--heads")) {
    names.push_back(unit_set_name(set));
  }
  return names;
}

Names receivers(std::string_view text) {
  Names names;
  for (const ReceiverId& receiver : parse_receivers(text, kSizes, "--receivers")) {
    names.push_back(receiver_name(receiver));
  }
  return names;
}

std::string error_text(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(UnitSets, EveryKindComesBackByItsName) {
  for (const char* name : {"2.1", "kv:2.1", "attn:0", "mlp:1", "neuron:1.11", "2.1@7", "mlp:2@0",
                           "2.1+2.3", "0.1+1.0+kv:2.0+mlp:2"}) {
    EXPECT_EQ(sets(name), Names{name});
  }
  const auto one = parse_unit_sets("neuron:2.3@5", kSizes, UnitKind::head, "--heads");
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0], (UnitSet{{UnitKind::neuron, 2, 3, 5}}));
}

TEST(UnitSets, RangesStandForEachUnitAndPlusJoins) {
  EXPECT_EQ(sets("1.*"), (Names{"1.0", "1.1", "1.2", "1.3"}));
  EXPECT_EQ(sets("1-2.3,0.0"), (Names{"1.3", "2.3", "0.0"}));
  EXPECT_EQ(sets("*").size(), 10U);
  EXPECT_EQ(sets("kv:*").size(), 8U);
  EXPECT_EQ(sets("0.*+2.1"), (Names{"0.0+0.1+2.1"}));
  EXPECT_EQ(sets(" 2.1 + 1.0 , 1.0"), (Names{"1.0+2.1", "1.0"}));
  EXPECT_EQ(sets("attn:*"), (Names{"attn:0", "attn:1", "attn:2"}));
  EXPECT_EQ(sets("neuron:1.0-2"), (Names{"neuron:1.0", "neuron:1.1", "neuron:1.2"}));
}

TEST(UnitSets, ARepeatedUnitOrSetIsTakenOnce) {
  EXPECT_EQ(sets("1.1,1.1,1.*"), (Names{"1.1", "1.0", "1.2", "1.3"}));
  EXPECT_EQ(sets("2.1+1.0,1.0+2.1+2.1"), (Names{"1.0+2.1"}));
}

TEST(UnitSets, ABareNameIsOfTheKindThatIsAskedFor) {
  EXPECT_EQ(sets("1.10-11", UnitKind::neuron), (Names{"neuron:1.10", "neuron:1.11"}));
  EXPECT_EQ(sets("2.1", UnitKind::kv_group), (Names{"kv:2.1"}));
  EXPECT_EQ(sets("1-2", UnitKind::mlp), (Names{"mlp:1", "mlp:2"}));
}

TEST(UnitSets, AllOfAKindPassesOverLayersWithoutOne) {
  EXPECT_EQ(sets("mlp:*"), (Names{"mlp:1", "mlp:2"}));
  EXPECT_EQ(sets("neuron:*").size(), 24U);
  EXPECT_EQ(all_units(UnitKind::mlp, kSizes).size(), 2U);
  EXPECT_EQ(all_units(UnitKind::attention, kSizes).size(), 3U);
  EXPECT_EQ(all_units(UnitKind::kv_group, kSizes).size(), 8U);
  EXPECT_EQ(unit_set_name(all_units(UnitKind::head, kSizes).back()), "2.3");
}

TEST(UnitSets, ErrorsNameThePartTheRangeAndTheNearestKind) {
  const auto text = [](const char* list) { return error_text([&] { sets(list); }); };
  EXPECT_NE(text("3.0").find("layer 0 to 2"), std::string::npos);
  EXPECT_NE(text("0.2").find("head 0 to 1"), std::string::npos);
  EXPECT_NE(text("kv:2.3").find("kv head 0 to 1"), std::string::npos);
  EXPECT_NE(text("neuron:1.12").find("neuron 0 to 11"), std::string::npos);
  EXPECT_NE(text("1.1,nueron:1.3").find("\"nueron:1.3\""), std::string::npos);
  EXPECT_NE(text("1.1,nueron:1.3").find("neuron:1.3"), std::string::npos);
  EXPECT_NE(text("mlp:0").find("layer 0 has none"), std::string::npos);
  EXPECT_NE(text("5").find("no head after its layer"), std::string::npos);
  EXPECT_NE(text("mlp:1.2").find("has a number after its layer"), std::string::npos);
  EXPECT_NE(text("enc:1.1").find("only one"), std::string::npos);
  for (const char* bad : {"", "1.1,", "1.1++1.2", "+1.1", "1.", ".1", "1.x", "1,1", "1.2-1", "-1.0",
                          "1.1@", "1.1@x", "1.1@-1", "mlp:", ":1", "zzz:1", "1.1@1@2", "1.1.q"}) {
    EXPECT_NE(text(bad).find("--heads"), std::string::npos) << bad;
  }
}

TEST(UnitSets, PositionsAreCheckedWhereTheyAreKnown) {
  UnitSizes sizes = kSizes;
  sizes.positions = 8;
  const auto parse = [&](const char* list) {
    return parse_unit_sets(list, sizes, UnitKind::head, "--heads");
  };
  EXPECT_EQ(parse("1.1@0-7").size(), 8U);
  EXPECT_EQ(parse("1.*@*").size(), 32U);
  EXPECT_NE(error_text([&] { parse("1.1@8"); }).find("position 0 to 7"), std::string::npos);
}

TEST(Receivers, AreSortedByTheForwardPass) {
  EXPECT_EQ(receivers("logits,mlp:2,2.1.v,1.3.k,1.0.q,2.1.q,1.0.q"),
            (Names{"1.0.q", "1.3.k", "2.1.q", "2.1.v", "mlp:2", "logits"}));
  EXPECT_EQ(receivers("1.*.q"), (Names{"1.0.q", "1.1.q", "1.2.q", "1.3.q"}));
  EXPECT_EQ(receivers("mlp:*"), (Names{"mlp:1", "mlp:2"}));
}

TEST(Receivers, KeysAndValuesCountKeyValueHeads) {
  EXPECT_EQ(receivers("2.3.q,2.1.k"), (Names{"2.3.q", "2.1.k"}));
  EXPECT_NE(error_text([] { receivers("2.2.k"); }).find("kv head 0 to 1"), std::string::npos);
}

TEST(Receivers, RefuseTheRest) {
  for (const char* bad : {"", "1.1", "1.1.z", "attn:1", "kv:1.1", "kv:1.1.k", "logit", "1.1.q@3",
                          "mlp:1@2", "mlp:0", "logits,", "9.1.q", "q", "1.q"}) {
    EXPECT_NE(error_text([&] { receivers(bad); }).find("--receivers"), std::string::npos) << bad;
  }
}

}  // namespace
}  // namespace attnscope
