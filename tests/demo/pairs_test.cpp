// The pairs that ship with the demo, through our own tokenizer and runtime.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "attnscope/model/model.h"
#include "attnscope/probes/demo.h"
#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope {
namespace {

struct Pair {
  std::string clean, corrupt, answer, wrong, group;
};

std::vector<Pair> read_pairs(const std::string& task) {
  std::ifstream file(demo_data_folder() + "/pairs/" + task + ".jsonl");
  std::vector<Pair> pairs;
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    pairs.push_back({json.at("clean"), json.at("corrupt"), json.at("answer"), json.at("wrong"),
                     json.at("group")});
  }
  return pairs;
}

class Pairs : public ::testing::TestWithParam<const char*> {
 protected:
  Pairs()
      : folder_(demo_data_folder() + "/tiny-english"),
        tokenizer_(
            Tokenizer::load(folder_ + "/tokenizer.json", folder_ + "/tokenizer_config.json")),
        model_(Model::load(open_checkpoint(folder_, {}, warnings_), {}, warnings_)) {}

  std::int64_t token(const std::string& text) const {
    const auto ids = tokenizer_.encode(text, {.specials = SpecialTokens::skip}).ids;
    EXPECT_EQ(ids.size(), 1U) << text;
    return ids.front();
  }

  at::Tensor last_logits(const std::vector<std::int64_t>& ids) const {
    return model_.run(make_batch({{.ids = ids}}), {}, {.logits = {.at = LogitsAt::last}})
        .logits.flatten();
  }

  Warnings warnings_;
  std::string folder_;
  Tokenizer tokenizer_;
  Model model_;
};

TEST_P(Pairs, AlignAndAreSolved) {
  const std::vector<Pair> pairs = read_pairs(GetParam());
  ASSERT_EQ(pairs.size(), 200U);
  std::set<std::string> groups;
  int held_out = 0, first = 0, follows = 0;
  for (const Pair& pair : pairs) {
    groups.insert(pair.group);
    held_out += pair.group.starts_with("held-out/");
    const std::vector<std::int64_t> clean = tokenizer_.encode(pair.clean).ids;
    const std::vector<std::int64_t> corrupt = tokenizer_.encode(pair.corrupt).ids;
    ASSERT_EQ(clean.size(), corrupt.size()) << pair.clean;
    int changed = 0;
    for (std::size_t i = 0; i < clean.size(); ++i) changed += clean[i] != corrupt[i];
    EXPECT_EQ(changed, 1) << pair.clean;
    EXPECT_EQ(clean.front(), 0) << "no begin token";
    const std::int64_t answer = token(pair.answer), wrong = token(pair.wrong);
    first += last_logits(clean).argmax().item<std::int64_t>() == answer;
    const at::Tensor on_corrupt = last_logits(corrupt);
    follows += on_corrupt[wrong].item<float>() > on_corrupt[answer].item<float>();
  }
  EXPECT_GE(groups.size(), 40U);
  EXPECT_GE(held_out, 100);
  EXPECT_GE(first, 190);
  EXPECT_GE(follows, 190);
}

INSTANTIATE_TEST_SUITE_P(Tasks, Pairs,
                         ::testing::Values("indirect_object", "induction", "agreement",
                                           "brackets"));

}  // namespace
}  // namespace attnscope
