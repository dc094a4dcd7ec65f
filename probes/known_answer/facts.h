// File: facts.h
// Heads of the induction circuits, on a residual stream with one coordinate a fact.
#pragma once

#include <span>
#include <string>

#include "attnscope/probes/known_answer.h"
#include "circuit.h"

namespace attnscope {

inline constexpr int kKnownBos = 0;

// Where the facts lie in the residual stream, d = 3V + n: the token, the position, the previous
// token, the logits.
class Facts {
 public:
  explicit Facts(const KnownAnswerSizes& sizes) : v_(sizes.n_tokens), n_(sizes.n_positions) {}
  int token(int t) const { return t; }
  int position(int p) const { return v_ + p; }
  int previous(int t) const { return v_ + n_ + t; }
  int logit(int t) const { return 2 * v_ + n_ + t; }
  int size() const { return 3 * v_ + n_; }

 private:
  int v_;
  int n_;
};

class HeadBuilder {
 public:
  explicit HeadBuilder(const KnownAnswerSizes& sizes);

  // Attends to the previous position and copies its token.
  HeadWeights previous_token() const;
  // All attention on BOS, writes nothing.
  HeadWeights loud_on_bos() const;
  // All attention on equal tokens, writes nothing.
  HeadWeights loud_on_equal_tokens() const;
  // Attends where the previous token is the query's token, else to BOS, and adds gains[t] to the
  // logit of the token t it sees; `gains` [v].
  HeadWeights induction(std::span<const double> gains) const;
  // The same, but it attends to BOS as soon as the logits hold `threshold` in total.
  HeadWeights backup_induction(std::span<const double> gains, double threshold) const;
  // Attends evenly and adds gains[t] to the logit of each token t it sees.
  HeadWeights even(std::span<const double> gains) const;

 private:
  HeadWeights empty() const { return {d_head_, at_.size()}; }
  void attend_to_bos(HeadWeights& head, double score) const;
  void match_previous_token(HeadWeights& head) const;
  void raise_logits(HeadWeights& head, std::span<const double> gains) const;

  KnownAnswerSizes sizes_;
  Facts at_;
  int d_head_;
};

// `gain` for every token.
std::vector<double> equal_gains(const KnownAnswerSizes& sizes, double gain);

// The checkpoint of heads over these facts.
Checkpoint make_fact_model(const std::string& name, const KnownAnswerSizes& sizes,
                           std::vector<HeadList> layers);

}  // namespace attnscope
