// File: selectors.h
// Parsing of layers, heads and positions as the command line and specs write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/sites/site.h"

namespace attnscope {

struct HeadId {
  int layer = 0;
  int head = 0;
  Stack stack = Stack::self;
  auto operator<=>(const HeadId&) const = default;
};

// "5.1"; "enc:3.1", "dec:3.1", "cross:3.1" outside the `self` stack.
std::string head_name(HeadId head);

// "0-3,7" → {0,1,2,3,7}, sorted, without duplicates; "*" or "all" → all. Errors name `option`, the
// bad part and the valid range: out of range, "3-1", "1-", an empty part.
std::vector<int> parse_ranges(std::string_view text, int count, std::string_view option);

// "5.1,6.*,0-2.3" → heads, sorted, without duplicates. `heads_per_layer[l]` is the number of query
// heads of layer l.
std::vector<HeadId> parse_heads(std::string_view text, const std::vector<int>& heads_per_layer,
                                std::string_view option);

// One token as positions see it.
struct TokenText {
  int char_begin = -1;  // code points of the prompt; −1 for special tokens
  int char_end = -1;
};

// A part of the prompt under a name: a column of the prompt file.
struct NamedSpan {
  std::string name;
  std::string value;  // words of the prompt, or "[begin, end]" in code points from char_offset
};

// One prompt as positions see it.
struct PromptText {
  std::string text;
  std::vector<TokenText> tokens;
  std::vector<NamedSpan> spans = {};
  int char_offset = 0;  // where the text begins whose code points the spans count
};

// The parts of such a list: cut at commas outside quotes, without blanks around them. Throws Error
// SE20 that names `option` where a quote is left open.
std::vector<std::string> position_parts(std::string_view list, std::string_view option);

// "3,5-7,-1,last,\"Mary\",\"Mary#2\",subject": stored ids count from 0 (BOS = 0); a quoted word is
// every occurrence of it in the text (whole words), all its tokens; "#2" picks the second
// occurrence; a name without quotes is the span of that name. Sorted, without duplicates. A word
// that does not occur and a name that the prompt lacks are errors.
std::vector<int> parse_positions(std::string_view list, const PromptText& prompt,
                                 std::string_view option);

}  // namespace attnscope
