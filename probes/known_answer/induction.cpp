#include <string>

#include "attnscope/support/error.h"
#include "facts.h"

namespace attnscope {
namespace {

constexpr int kDistinct = 10;  // tokens of the prompt before they repeat

}  // namespace

Checkpoint known_induction_model(const KnownAnswerSizes& sizes) {
  const HeadBuilder head(sizes);
  const HeadList first = {head.previous_token(), head.loud_on_bos()};
  const HeadList second = {head.induction(equal_gains(sizes, sizes.gain)),
                           head.loud_on_equal_tokens(),
                           head.even(equal_gains(sizes, sizes.quiet_gain))};
  return make_fact_model("known-answer induction", sizes, {first, second});
}

Checkpoint known_quiet_model(const KnownAnswerSizes& sizes) {
  const HeadBuilder head(sizes);
  const HeadList only = {head.loud_on_bos(), head.even(equal_gains(sizes, sizes.quiet_gain))};
  return make_fact_model("known-answer quiet head", sizes, {only});
}

Checkpoint known_backup_model(const KnownAnswerSizes& sizes) {
  const HeadBuilder head(sizes);
  const std::vector<double> gains = equal_gains(sizes, sizes.gain);
  return make_fact_model("known-answer backup head", sizes,
                         {{head.previous_token()},
                          {head.induction(gains)},
                          {head.backup_induction(gains, sizes.gain)}});
}

std::vector<std::int64_t> known_induction_prompt() {
  std::vector<std::int64_t> ids = {kKnownBos};
  for (int copy = 0; copy < 2; ++copy) {
    for (int t = 1; t <= kDistinct; ++t) ids.push_back(t);
  }
  return ids;
}

double known_induction_metric(std::span<const double> logits, int n_tokens) {
  const std::vector<std::int64_t> ids = known_induction_prompt();
  if (logits.size() != ids.size() * static_cast<std::size_t>(n_tokens)) {
    throw Error(ErrorKind::internal, "KA01",
                {.where = "known-answer metric",
                 .what = "logits of the whole prompt",
                 .expected = std::to_string(ids.size()) + " x " + std::to_string(n_tokens),
                 .got = std::to_string(logits.size()) + " values"});
  }
  double total = 0;
  for (int i = kKnownFirstRow; i <= kKnownLastRow; ++i) {
    const auto row =
        logits.subspan(static_cast<std::size_t>(i * n_tokens), static_cast<std::size_t>(n_tokens));
    const auto next = ids[static_cast<std::size_t>(i) + 1];
    double others = 0;
    for (int t = 1; t < n_tokens; ++t) {
      if (t != next) others += row[static_cast<std::size_t>(t)];
    }
    total += row[static_cast<std::size_t>(next)] - others / (n_tokens - 2);
  }
  return total / (kKnownLastRow - kKnownFirstRow + 1);
}

}  // namespace attnscope
