#include <gtest/gtest.h>

#include "attnscope/spec/capture_spec.h"
#include "attnscope/support/error.h"

namespace attnscope {
namespace {

TEST(ParseBytes, BinaryUnits) {
  EXPECT_EQ(parse_bytes("1", "--budget"), 1u);
  EXPECT_EQ(parse_bytes("500", "--budget"), 500u);
  EXPECT_EQ(parse_bytes("300M", "--budget"), 300u * 1024 * 1024);
  EXPECT_EQ(parse_bytes("300MB", "--budget"), 300u * 1024 * 1024);
  EXPECT_EQ(parse_bytes("1.5GiB", "--budget"), 1'610'612'736u);
  EXPECT_EQ(parse_bytes("2T", "--budget"), 2'199'023'255'552u);
}

TEST(ParseBytes, RefusesTheRest) {
  for (const char* text : {"", "0", "-1", "1,5G", "nan", "inf", "1e999", "0x10", "G", "iB", "5iB",
                           "9999999999T", "1 G", "+3"}) {
    EXPECT_THROW(parse_bytes(text, "--budget"), Error) << text;
  }
}

TEST(ParseShard, OneBasedParts) {
  EXPECT_EQ(parse_shard("3/8"), (ShardChoice{3, 8}));
  for (const char* text : {"", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3", "-1/2", "1/", "/2"}) {
    EXPECT_THROW(parse_shard(text), Error) << text;
  }
}

TEST(ParseIds, ListOfIntegers) {
  EXPECT_EQ(parse_id_list("5, 17,3", "--ids"), (std::vector<std::int64_t>{5, 17, 3}));
  for (const char* text : {"", "5,,3", "-1", "1.5", "x", "99999999999999999999"}) {
    EXPECT_THROW(parse_id_list(text, "--ids"), Error) << text;
  }
}

TEST(Choices, NamesAndSuggestions) {
  EXPECT_EQ(parse_choice<MapFormat>("r10", "--map-dtype"), MapFormat::r10);
  EXPECT_EQ(parse_choice<BosMode>("auto", "--bos"), BosMode::automatic);
  EXPECT_EQ(choice_name(LayoutChoice::packed), "packed");
  EXPECT_EQ(choice_names<ComputeDType>(), (std::vector<std::string>{"f32", "f64", "bf16", "f16"}));
  try {
    parse_choice<EngineChoice>("referense", "--engine");
    FAIL();
  } catch (const Error& e) {
    const std::string message = e.what();
    EXPECT_NE(message.find("--engine"), std::string::npos);
    EXPECT_NE(message.find("did you mean \"reference\""), std::string::npos);
  }
}

}  // namespace
}  // namespace attnscope
