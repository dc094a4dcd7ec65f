#include "facts.h"

#include <algorithm>

namespace attnscope {

HeadBuilder::HeadBuilder(const KnownAnswerSizes& sizes)
    : sizes_(sizes), at_(sizes), d_head_(std::max(sizes.n_positions, sizes.n_tokens + 1)) {}

HeadWeights HeadBuilder::previous_token() const {
  HeadWeights head = empty();
  for (int p = 1; p < sizes_.n_positions; ++p) {
    head.q.at(p - 1, at_.position(p)) = sizes_.sharpness;
  }
  for (int p = 0; p < sizes_.n_positions; ++p) head.k.at(p, at_.position(p)) = 1;
  for (int t = 0; t < sizes_.n_tokens; ++t) {
    head.v.at(t, at_.token(t)) = 1;
    head.o.at(at_.previous(t), t) = 1;
  }
  return head;
}

HeadWeights HeadBuilder::loud_on_bos() const {
  HeadWeights head = empty();
  attend_to_bos(head, sizes_.sharpness);
  return head;
}

HeadWeights HeadBuilder::loud_on_equal_tokens() const {
  HeadWeights head = empty();
  for (int t = 0; t < sizes_.n_tokens; ++t) {
    head.q.at(t, at_.token(t)) = sizes_.sharpness;
    head.k.at(t, at_.token(t)) = 1;
  }
  return head;
}

HeadWeights HeadBuilder::induction(std::span<const double> gains) const {
  HeadWeights head = empty();
  match_previous_token(head);
  attend_to_bos(head, sizes_.sharpness / 2);
  raise_logits(head, gains);
  return head;
}

HeadWeights HeadBuilder::backup_induction(std::span<const double> gains, double threshold) const {
  HeadWeights head = induction(gains);
  for (int t = 0; t < sizes_.n_tokens; ++t) {
    head.q.at(sizes_.n_tokens, at_.logit(t)) = sizes_.sharpness / threshold;
  }
  return head;
}

HeadWeights HeadBuilder::even(std::span<const double> gains) const {
  HeadWeights head = empty();
  raise_logits(head, gains);
  return head;
}

// Every query scores `score` on BOS. A token's one-hot adds up to the constant 1 that this needs.
void HeadBuilder::attend_to_bos(HeadWeights& head, double score) const {
  const int dim = sizes_.n_tokens;
  for (int t = 0; t < sizes_.n_tokens; ++t) head.q.at(dim, at_.token(t)) = score;
  head.k.at(dim, at_.token(kKnownBos)) = 1;
}

void HeadBuilder::match_previous_token(HeadWeights& head) const {
  for (int t = 0; t < sizes_.n_tokens; ++t) {
    head.q.at(t, at_.token(t)) = sizes_.sharpness;
    head.k.at(t, at_.previous(t)) = 1;
  }
}

// BOS raises no logit.
void HeadBuilder::raise_logits(HeadWeights& head, std::span<const double> gains) const {
  for (int t = 0; t < sizes_.n_tokens; ++t) {
    if (t == kKnownBos) continue;
    head.v.at(t, at_.token(t)) = 1;
    head.o.at(at_.logit(t), t) = gains[static_cast<std::size_t>(t)];
  }
}

std::vector<double> equal_gains(const KnownAnswerSizes& sizes, double gain) {
  return std::vector<double>(static_cast<std::size_t>(sizes.n_tokens), gain);
}

Checkpoint make_fact_model(const std::string& name, const KnownAnswerSizes& sizes,
                           std::vector<HeadList> layers) {
  const Facts at(sizes);
  Circuit circuit;
  circuit.name = name;
  circuit.n_context = sizes.n_positions;
  circuit.tokens = Matrix(sizes.n_tokens, at.size());
  circuit.positions = Matrix(sizes.n_positions, at.size());
  circuit.unembed = Matrix(sizes.n_tokens, at.size());
  for (int t = 0; t < sizes.n_tokens; ++t) {
    circuit.tokens.at(t, at.token(t)) = 1;
    circuit.unembed.at(t, at.logit(t)) = 1;
  }
  for (int p = 0; p < sizes.n_positions; ++p) circuit.positions.at(p, at.position(p)) = 1;
  circuit.layers = std::move(layers);
  return make_checkpoint(circuit);
}

}  // namespace attnscope
