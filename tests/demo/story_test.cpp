// The words of the demo follow its numbers, also where the model is wrong.
#include "../../probes/demo/story.h"

#include <gtest/gtest.h>

namespace attnscope::demo {
namespace {

bool says(const std::string& story, const std::string& words) {
  return story.find(words) != std::string::npos;
}

TEST(StoryWords, TheSentenceIsJudgedByItsAnswer) {
  SentenceFacts facts{.prompt = "Tom gave it to",
                      .answer = " Anna",
                      .receiver = " Anna",
                      .giver = " Tom",
                      .probability = 0.75,
                      .giver_probability = 0.125,
                      .look = {.head = {.layer = 2, .head = 1}, .weight = 0.5}};
  const std::string right = tell_sentence(facts);
  EXPECT_TRUE(says(right, "who gives is not who receives")) << right;
  EXPECT_TRUE(says(right, "(75 %; \" Tom\" gets 12.5 %)")) << right;
  EXPECT_TRUE(says(right, "head 2.1 looks hardest at \" Anna\": 50 %")) << right;
  facts.answer = " Tom";
  const std::string wrong = tell_sentence(facts);
  EXPECT_FALSE(says(wrong, "who gives is not who receives")) << wrong;
  EXPECT_TRUE(says(wrong, "though \" Anna\" would be right")) << wrong;
}

// Two induction heads; silencing the better one, 1.1, leaves `after` of 10.
std::string story_of_two(double after, double all_silenced) {
  const std::vector<DemoHead> heads = {
      {.head = {.layer = 0, .head = 0}, .loudness = 0.9, .before = 10, .after = 10},
      {.head = {.layer = 1, .head = 0}, .induction = 0.7, .before = 10, .after = 9},
      {.head = {.layer = 1, .head = 1}, .induction = 0.8, .before = 10, .after = after}};
  return tell_trained_test({.heads = heads,
                            .answer = " Kate",
                            .other = " cup",
                            .induction_heads = 2,
                            .all_silenced = all_silenced});
}

TEST(StoryWords, OneHeadIsComparedWithAllOfItsKind) {
  const std::string spare = story_of_two(9, 0);
  EXPECT_TRUE(says(spare, "Silencing 1.1 alone does 10 %")) << spare;
  EXPECT_TRUE(says(spare, "one is hardly missed")) << spare;
  const std::string shared = story_of_two(5, 0);
  EXPECT_TRUE(says(shared, "alone does 50 %")) << shared;
  EXPECT_TRUE(says(shared, "they share")) << shared;
  const std::string alone = story_of_two(1, 0);
  EXPECT_TRUE(says(alone, "alone does 90 %")) << alone;
  EXPECT_FALSE(says(alone, "hardly missed") || says(alone, "they share")) << alone;
  // Nothing to compare with where silencing all of them changes nothing.
  EXPECT_FALSE(says(story_of_two(10, 10), "alone does"));
}

}  // namespace
}  // namespace attnscope::demo
