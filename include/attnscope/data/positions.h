// File: positions.h
// Positions of a prompt as people write them: numbers, words of the text, columns.
#pragma once

#include <string_view>
#include <vector>

#include "attnscope/data/encoded_prompt.h"

namespace attnscope {

// `list` as parse_positions() of sites/selectors.h takes it: "3,-1,last,\"Mary#2\",subject". Words
// are looked for in both texts of a pair; a name is a column of the prompt.
std::vector<int> positions_of(const EncodedPrompt& prompt, std::string_view list,
                              std::string_view option);

}  // namespace attnscope
