// tokenizer_config.json and its companions: roles of tokens, the begin-token switch, the chat
// template.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope::tok {

struct TokenizerConfig {
  // Pieces of the tokens with a role; empty = not named.
  struct Roles {
    std::string bos, eos, pad, unk, cls, sep, mask;
  } roles;
  std::optional<bool> add_bos_token;
  bool clean_up_spaces = false;
  std::string chat_template;
};

// An empty `text` gives the defaults. Throws TK14.
TokenizerConfig parse_tokenizer_config(std::string_view text, const std::string& where);

// Looks the roles up; a role that the configuration does not name goes to a special token of a
// customary spelling ("<s>", "[CLS]", …), if there is one. `special_id` gives the id of a piece
// that is a special token.
SpecialIds find_special_ids(
    const TokenizerConfig& config,
    const std::function<std::optional<std::int64_t>(std::string_view)>& id,
    const std::function<std::optional<std::int64_t>(std::string_view)>& special_id);

}  // namespace attnscope::tok
