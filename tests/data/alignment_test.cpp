#include <gtest/gtest.h>

#include "attnscope/data/encoded_prompt.h"

namespace attnscope {
namespace {

using Tokens = std::vector<int>;

TEST(TokensOfSpan, EveryTokenThatTouches) {
  // "[CLS] un|happi|ness  ok [SEP]": template tokens have the span {0, 0}.
  const std::vector<CharSpan> offsets = {{0, 0}, {0, 2}, {2, 7}, {7, 11}, {13, 15}, {0, 0}};
  EXPECT_EQ(tokens_of_span(offsets, {0, 11}), (Tokens{1, 2, 3}));
  EXPECT_EQ(tokens_of_span(offsets, {2, 7}), (Tokens{2}));
  EXPECT_EQ(tokens_of_span(offsets, {6, 8}), (Tokens{2, 3}));
  EXPECT_EQ(tokens_of_span(offsets, {11, 13}), Tokens{});
  EXPECT_EQ(tokens_of_span(offsets, {0, 0}), Tokens{});
  EXPECT_EQ(tokens_of_span(offsets, {14, 99}), (Tokens{4}));
}

}  // namespace
}  // namespace attnscope
