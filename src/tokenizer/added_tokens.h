// Tokens that are found in the text itself, before the model sees it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/support/json.h"
#include "byte_trie.h"
#include "normalizers.h"
#include "split_text.h"
#include "vocabulary.h"

namespace attnscope::tok {

struct AddedToken {
  std::int64_t id = 0;
  std::string content;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the spaces before it
  bool rstrip = false;       // takes the spaces after it
  bool normalized = true;    // looked for in the normalised text
  bool special = false;
};

class AddedTokens {
 public:
  // Reads the list "added_tokens" of `file`. Throws TK09 when a token is empty, too long, listed
  // twice, or has another id than the vocabulary gives it.
  AddedTokens(const JsonObject& file, const Vocabulary& vocabulary, const Normalizer* normalizer);

  // Finds tokens of the text as given, normalises what is between them, finds the others there.
  SplitText split(std::string_view text, const Normalizer* normalizer) const;

  const AddedToken* find(std::int64_t id) const;
  const AddedToken* find(std::string_view content) const;
  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  // Leftmost-longest search for a set of tokens.
  struct Finder {
    ByteTrie trie;  // values: places in tokens_
    bool empty = true;
  };
  void check(const JsonObject& entry, const AddedToken& token, const Vocabulary& vocabulary,
             std::int64_t next_free) const;
  void add_to(Finder& finder, const std::string& content, std::size_t place);
  // Calls `part(begin, end, token or null)` for consecutive parts of `text`.
  template <typename Part>
  void scan(std::string_view text, const Finder& finder, Part part) const;

  std::vector<AddedToken> tokens_;
  std::map<std::int64_t, std::size_t> by_id_;
  std::map<std::string, std::size_t, std::less<>> by_content_;
  Finder raw_;
  Finder normalized_;
};

}  // namespace attnscope::tok
