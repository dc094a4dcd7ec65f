// File: pair_columns.h
// What the columns of a pairs file mean, and a pair from the values of one line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "attnscope/data/pairs.h"

namespace attnscope {

// Throws BadLine if two columns mean the same, if a clean prompt is missing or what `options` asks
// for; Error PA07 if the answers are ids of another tokenizer.
void check_columns(const std::vector<std::string>& names, const PairOptions& options);

// The pair of one line: an object whose values are texts, numbers or lists. Throws BadLine.
Pair pair_of_record(const nlohmann::json& record, const PairOptions& options);

}  // namespace attnscope
