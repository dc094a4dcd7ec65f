#include "attnscope/data/positions.h"

#include "attnscope/sites/selectors.h"
#include "attnscope/support/utf8.h"

namespace attnscope {

std::vector<int> positions_of(const EncodedPrompt& prompt, std::string_view list,
                              std::string_view option) {
  PromptText text{.text = prompt.text,
                  .tokens = {},
                  .spans = {},
                  .char_offset = static_cast<int>(prompt.user_begin)};
  std::size_t shift = 0;
  if (prompt.pair) {
    shift = count_code_points(text.text) + 1;
    text.text += "\n" + *prompt.pair;
  }
  for (const Column& column : prompt.columns) text.spans.push_back({column.name, column.value});
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    TokenText token;
    if (prompt.special[i] == 0) {
      const std::size_t base = prompt.in_second[i] != 0 ? shift : 0;
      token.char_begin = static_cast<int>(prompt.offsets[i].begin + base);
      token.char_end = static_cast<int>(prompt.offsets[i].end + base);
    }
    text.tokens.push_back(token);
  }
  return parse_positions(list, text, option);
}

}  // namespace attnscope
