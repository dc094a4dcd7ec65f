// File: known_answer.h
// Models built by hand whose true circuit is known, so that every claim about a head can be checked
// against the truth: heads that attend loudly and do nothing, a quiet head that does something, and
// an induction circuit (Elhage et al. 2021, Olsson et al. 2022) that does nearly everything.
//
// The residual stream has one coordinate per fact, d = 3V + n: T token, P position, R the previous
// token, O the logits. There is no norm, no MLP and no score scale; attention is causal; token 0 is
// BOS.
//
// Example:
//   const Checkpoint model = known_induction_model();
//   const std::vector<std::int64_t> ids = known_induction_prompt();
//   // run it, ablate head 0.1: it puts all its attention on BOS, and the metric does not move
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

struct KnownAnswerSizes {
  int n_tokens = 16;      // V, BOS included
  int n_positions = 24;   // n
  double sharpness = 20;  // β, the score of what a head looks for
  double gain = 5;        // g, what the induction head adds to the logit of the token it sees
  double quiet_gain = 1;  // g_q, the same of the quiet head
};

// Two layers. 0.0 attends to the previous token and copies it to R; 0.1 attends to BOS and writes
// nothing; 1.0 attends where the previous token is the query's token (else to BOS) and raises the
// logit of the token it finds; 1.1 attends to equal tokens and writes nothing; 1.2 attends evenly
// and raises the logits of all it sees a little.
Checkpoint known_induction_model(const KnownAnswerSizes& sizes = {});

// One layer: 0.0 attends to BOS and writes nothing; 0.1 attends evenly, and all that the model
// says comes from it.
Checkpoint known_quiet_model(const KnownAnswerSizes& sizes = {.quiet_gain = 60});

// Three layers with one head each: 0.0 copies the previous token, 1.0 is the induction head, and
// 2.0 is its backup: an induction head that attends to BOS as long as 1.0 has written g logits.
// Removing either alone changes next to nothing; removing both takes everything.
Checkpoint known_backup_model(const KnownAnswerSizes& sizes = {});

// BOS, ten different tokens, the same ten again.
std::vector<std::int64_t> known_induction_prompt();
// Rows where the next token can be known: the second copy but its last token.
inline constexpr int kKnownFirstRow = 11;
inline constexpr int kKnownLastRow = 19;

// The mean over those rows of logit(next token) − mean logit of the other tokens but BOS.
// `logits` [q v] of known_induction_prompt().
double known_induction_metric(std::span<const double> logits, int n_tokens);

struct KnownHead {
  int layer = 0;
  int head = 0;
  std::string_view what;       // for people
  double ablation_effect = 0;  // change of the metric when the head's z is set to zero
};

// What is true of known_induction_model() with the default sizes, to the digits written.
struct KnownInductionTruth {
  double metric = 5.001724;
  std::array<KnownHead, 5> heads = {{
      {0, 0, "previous token: copies it for the induction head", -4.999773},
      {0, 1, "loud decoy: all its attention on BOS, writes nothing", 0},
      {1, 0, "induction: finds what followed the token before", -4.999773},
      {1, 1, "loud decoy: attends to equal tokens, writes nothing", 0},
      {1, 2, "quiet: attends evenly, adds a little", -0.001951},
  }};
  double prefix_score = 0.999955;           // of 1.0: attention to the token after an earlier copy
  double k_composition = 0.223607;          // 0.0 into the keys of 1.0: 1/√(1.25 V)
  double q_composition = 0;                 // 0.0 into its queries
  double v_composition = 0;                 // 0.0 into its values
  double composition_of_chance = 0.117851;  // 1/√d
  double copying_score = 1;  // of 1.0: Re Σλ / Σ|λ| of its token-to-logit circuit
};

// What is true of known_backup_model() with the default sizes on known_induction_prompt(). Without
// the other keys, whose weights are of order e^−20, and with x = e^−10: the main head writes
// 5/(1 + x), the backup 5·x/(1 + x) while the main head is there and 5/(1 + x) when it is not.
struct KnownBackupTruth {
  double metric = 5.000000051;         // of the whole model
  double main_removed = -0.000227195;  // 1.0 set to zero: the backup takes over
  double backup_removed = -0.000227195;
  double both_removed = -5.000000051;
  double previous_removed = -4.999999945;  // 0.0 set to zero
  double main_direct = -4.999772856;       // 1.0 set to zero while 2.0 keeps what it wrote
  double backup_on_bos = 0.999954561;      // mean over the rows: attention of 2.0 to BOS
};

}  // namespace attnscope
