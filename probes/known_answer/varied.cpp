// The induction model with gains that differ from token to token.
#include "attnscope/probes/known_answer_varied.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "attnscope/support/error.h"
#include "attnscope/support/philox.h"
#include "facts.h"

namespace attnscope {
namespace {

constexpr int kDistinct = 10;  // tokens of a prompt
constexpr int kRepeated = 5;   // of them come again

// Streams of the generator.
constexpr std::uint64_t kPromptStream = 0;
constexpr std::uint64_t kGainStream = 1;  // + the head's number

// Heads of layer 1 that write logits, in order of their gains' streams.
enum Writer : std::uint64_t { kInduction, kQuiet, kStrong, kWeak };

// The gain of each token, size · uniform in [0.5, 1.5].
std::vector<double> gains_of(const VariedSizes& sizes, Writer writer) {
  const double size = std::array{sizes.base.gain, sizes.base.quiet_gain, sizes.strong_effect,
                                 sizes.weak_effect}[writer];
  Philox random(sizes.seed, kGainStream + writer);
  std::vector<double> gains;
  for (int t = 0; t < sizes.base.n_tokens; ++t) gains.push_back(size * (0.5 + random.uniform()));
  return gains;
}

void expect_room(const VariedSizes& sizes) {
  if (sizes.base.n_tokens > kDistinct && sizes.base.n_positions > kDistinct + kRepeated) return;
  throw Error(ErrorKind::internal, "KA02",
              {.where = "varied induction model",
               .what = "prompts do not fit",
               .expected = "at least 11 tokens and 16 positions"});
}

// The first `count` of `values` become a random choice of them, in random order.
void shuffle_first(std::vector<std::int64_t>& values, std::size_t count, Philox& random) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto rest = static_cast<std::uint32_t>(values.size() - i);
    std::swap(values[i], values[i + random.below(rest)]);
  }
}

VariedPrompt make_prompt(std::vector<std::int64_t> tokens, int cluster, Philox& random) {
  shuffle_first(tokens, tokens.size(), random);
  // The repeated tokens end at `last`, which the answer follows.
  const int last = kRepeated - 1 + static_cast<int>(random.below(kDistinct - kRepeated));
  const int answer = last + 1;
  std::vector<int> others;  // neither repeated nor the answer
  for (int i = 0; i < kDistinct; ++i) {
    if (i <= last - kRepeated || i > answer) others.push_back(i);
  }
  const int wrong = others[random.below(static_cast<std::uint32_t>(others.size()))];
  VariedPrompt prompt;
  prompt.cluster = cluster;
  prompt.answer = tokens[static_cast<std::size_t>(answer)];
  prompt.wrong = tokens[static_cast<std::size_t>(wrong)];
  const auto assemble = [&] {
    std::vector<std::int64_t> ids = {kKnownBos};
    ids.insert(ids.end(), tokens.begin(), tokens.end());
    ids.insert(ids.end(), tokens.begin() + last - kRepeated + 1, tokens.begin() + answer);
    return ids;
  };
  prompt.clean = assemble();
  std::swap(tokens[static_cast<std::size_t>(answer)], tokens[static_cast<std::size_t>(wrong)]);
  prompt.corrupt = assemble();
  return prompt;
}

// Softmax of the scores of one row.
std::vector<double> softmax(std::vector<double> scores) {
  const double highest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - highest);
  for (double& score : scores) score /= sum;
  return scores;
}

// How much of token `t` the previous-token head has copied to position j.
double copied(const VariedSizes& sizes, std::span<const std::int64_t> ids, std::size_t j,
              std::int64_t t) {
  std::vector<double> scores(j + 1, 0.0);
  if (j > 0) scores[j - 1] = sizes.base.sharpness;
  const std::vector<double> weights = softmax(scores);
  double sum = 0;
  for (std::size_t k = 0; k <= j; ++k) sum += ids[k] == t ? weights[k] : 0.0;
  return sum;
}

// Σ_j weights[j] · gain of the token at j, counted for the answer and against the wrong answer.
double written(std::span<const std::int64_t> ids, const std::vector<double>& weights,
               const std::vector<double>& gains, const VariedPrompt& prompt) {
  double sum = 0;
  for (std::size_t j = 0; j < ids.size(); ++j) {
    const double sign = (ids[j] == prompt.answer ? 1 : 0) - (ids[j] == prompt.wrong ? 1 : 0);
    sum += sign * weights[j] * gains[static_cast<std::size_t>(ids[j])];
  }
  return sum;
}

}  // namespace

Checkpoint varied_induction_model(const VariedSizes& sizes) {
  expect_room(sizes);
  const HeadBuilder head(sizes.base);
  const HeadList first = {head.previous_token(), head.loud_on_bos()};
  const HeadList second = {head.induction(gains_of(sizes, kInduction)), head.loud_on_equal_tokens(),
                           head.even(gains_of(sizes, kQuiet)),
                           head.induction(gains_of(sizes, kStrong)),
                           head.induction(gains_of(sizes, kWeak))};
  return make_fact_model("known-answer varied induction", sizes.base, {first, second});
}

std::vector<VariedPrompt> varied_induction_prompts(const VariedSizes& sizes) {
  expect_room(sizes);
  Philox random(sizes.seed, kPromptStream);
  std::vector<std::int64_t> vocabulary(static_cast<std::size_t>(sizes.base.n_tokens) - 1);
  std::iota(vocabulary.begin(), vocabulary.end(), 1);
  std::vector<VariedPrompt> prompts;
  for (int cluster = 0; cluster < sizes.clusters; ++cluster) {
    shuffle_first(vocabulary, kDistinct, random);
    const std::vector<std::int64_t> tokens(vocabulary.begin(), vocabulary.begin() + kDistinct);
    for (int i = 0; i < sizes.prompts_per_cluster; ++i) {
      prompts.push_back(make_prompt(tokens, cluster, random));
    }
  }
  return prompts;
}

double varied_metric(const VariedSizes& sizes, std::span<const std::int64_t> ids,
                     const VariedPrompt& prompt, const std::vector<VariedHead>& removed) {
  const auto there = [&](int layer, int head) {
    return std::find(removed.begin(), removed.end(), VariedHead{layer, head}) == removed.end();
  };
  std::vector<double> scores(ids.size(), 0.0);
  scores[0] = sizes.base.sharpness / 2;  // BOS
  if (there(0, 0)) {
    for (std::size_t j = 0; j < ids.size(); ++j) {
      scores[j] += sizes.base.sharpness * copied(sizes, ids, j, ids.back());
    }
  }
  const std::vector<double> induction = softmax(scores);
  const std::vector<double> even(ids.size(), 1.0 / static_cast<double>(ids.size()));
  double metric = 0;
  if (there(1, 0)) metric += written(ids, induction, gains_of(sizes, kInduction), prompt);
  if (there(1, 2)) metric += written(ids, even, gains_of(sizes, kQuiet), prompt);
  if (there(1, 3)) metric += written(ids, induction, gains_of(sizes, kStrong), prompt);
  if (there(1, 4)) metric += written(ids, induction, gains_of(sizes, kWeak), prompt);
  return metric;
}

}  // namespace attnscope
