// File: known_answer_varied.h
// The induction model with effects that differ from prompt to prompt, many prompts for it, and the
// truth of each head: a positive control for statistics of heads.
//
// Every head that writes logits has a gain of its own for each token, drawn in [0.5, 1.5] and
// multiplied by the head's size. Two heads more are planted beside the induction head: they look
// at the same place and add a chosen number of logits, one that is meant to be found and one that
// is meant to be too small to matter.
//
// Example:
//   const VariedSizes sizes;
//   const Checkpoint model = varied_induction_model(sizes);
//   for (const VariedPrompt& prompt : varied_induction_prompts(sizes)) {
//     varied_metric(sizes, prompt.clean, prompt, {});         // what the model must say
//     varied_metric(sizes, prompt.clean, prompt, {{1, 0}});   // and without head 1.0
//   }
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/probes/known_answer.h"

namespace attnscope {

struct VariedSizes {
  KnownAnswerSizes base = {.n_tokens = 24};
  double strong_effect = 0.6;  // mean logits that head 1.3 adds
  double weak_effect = 0.06;   // and head 1.4
  int clusters = 40;           // of prompts; those of a cluster share their ten tokens
  int prompts_per_cluster = 5;
  std::uint64_t seed = 1;  // of gains and prompts
};

// Layer 0: previous token, loud decoy. Layer 1: induction, loud decoy, quiet head, strong and weak
// planted head. The heads are those of known_induction_model() but for the gains.
Checkpoint varied_induction_model(const VariedSizes& sizes = {});

// BOS, ten tokens, and five in a row of them again; the answer is what followed the last of the
// five the first time. In the corrupt prompt the answer and the wrong answer, another of the ten
// that is not repeated, have changed places.
struct VariedPrompt {
  std::vector<std::int64_t> clean;
  std::vector<std::int64_t> corrupt;
  std::int64_t answer = 0;
  std::int64_t wrong = 0;
  int cluster = 0;
};
std::vector<VariedPrompt> varied_induction_prompts(const VariedSizes& sizes = {});

struct VariedHead {
  int layer = 0;
  int head = 0;
  bool operator==(const VariedHead&) const = default;
};

// logit(answer) − logit(wrong) at the last position of `ids` when z of the heads in `removed` is
// zero everywhere, worked out from the definition of the heads in plain float64 loops.
double varied_metric(const VariedSizes& sizes, std::span<const std::int64_t> ids,
                     const VariedPrompt& prompt, const std::vector<VariedHead>& removed);

// What a sound verdict says of a head when the smallest effect of interest lies between the sizes
// of the planted heads' effects and well below the gain.
enum class KnownVerdict { causal, no_effect };

struct VariedTruth {
  VariedHead head;
  std::string_view what;  // for people
  KnownVerdict verdict{};
};

// Heads in order. Setting 0.0 to its corrupt value changes nothing (the swap leaves the previous
// tokens where the query looks as they were), setting it to zero or to its mean takes everything.
inline constexpr std::array<VariedTruth, 7> kVariedTruth = {{
    {{0, 0}, "previous token: copies it for the induction heads", KnownVerdict::causal},
    {{0, 1}, "loud decoy: all its attention on BOS, writes nothing", KnownVerdict::no_effect},
    {{1, 0}, "induction: finds what followed the token before", KnownVerdict::causal},
    {{1, 1}, "loud decoy: attends to equal tokens, writes nothing", KnownVerdict::no_effect},
    {{1, 2}, "quiet: attends evenly, adds a little", KnownVerdict::no_effect},
    {{1, 3}, "planted: a small effect that is real", KnownVerdict::causal},
    {{1, 4}, "planted: an effect too small to matter", KnownVerdict::no_effect},
}};

}  // namespace attnscope
