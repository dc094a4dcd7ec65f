// File: pair_source.h
// From the options about pairs to the encoded pairs; for every experiment.
#pragma once

#include <cstdint>
#include <string>

#include "attnscope/data/pairs.h"
#include "attnscope/spec/experiment_specs.h"

namespace attnscope {

// What a metric reads of each pair.
AnswerUse answer_use(MetricChoice metric);

// What an experiment needs of its pairs.
struct PairNeeds {
  CorruptUse corrupt = CorruptUse::optional;
  AnswerUse answers = AnswerUse::answer_and_wrong;
  std::int64_t vocabulary = 0;  // the model's, to check ids against; 0 = not known
};

// The pair of --prompt or --ids.
Pair inline_pair(const PairSource& source);

// The pairs of the options, encoded. `tokenizer` may be null where everything is ids. Errors PA…
// (exit 2).
PairSet load_pairs(const PairSource& source, const EncodingOptions& encoding,
                   const Tokenizer* tokenizer, const PairNeeds& needs, Warnings& warnings);

// "--prompt", "--ids" or "FILE:12", for messages; line 0 is no line of a file.
std::string pair_place(const PairSource& source, std::int64_t line);

}  // namespace attnscope
