// File: lens_record.h
// Lens and attribution of one prompt as arrays of a file, and their means over prompts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/data/pairs.h"
#include "attnscope/probes/attribution.h"
#include "attnscope/storage/experiment.h"
#include "attnscope/tokenizer/tokenizer.h"
#include "logit_lens.h"

namespace attnscope {

// What was computed of one prompt.
struct PromptLens {
  LogitLens lens;
  std::vector<int> reads;                  // positions of the attribution
  std::optional<Attribution> attribution;  // nothing where it is not defined or not asked
  std::string direction;                   // what it is of, for people
};

// Texts of ids: of a classifier its labels, else the tokenizer's pieces, else "#17".
class IdNames {
 public:
  IdNames(const ModelConfig& config, const Tokenizer* tokenizer)
      : config_(config), tokenizer_(tokenizer) {}
  std::string operator()(std::int64_t id) const;

 private:
  const ModelConfig& config_;
  const Tokenizer* tokenizer_;
};

// lens/p000003
ExperimentRecord record_of_prompt(const PromptLens& prompt, const EncodedPair& pair, int index,
                                  const IdNames& names);

// Means over prompts at their last read.
class LensSummary {
 public:
  void add(const PromptLens& prompt);
  // `lens`
  ExperimentRecord record() const;

 private:
  int prompts_ = 0;
  int attributed_ = 0;
  at::Tensor kl_, log_prob_, first_;  // [s] sums
  at::Tensor heads_, mlp_, attention_bias_, ends_;
};

}  // namespace attnscope
