// Pre-tokenizers: where a normalised text is cut into words.
#pragma once

#include <memory>

#include "attnscope/support/json.h"
#include "split_text.h"

namespace attnscope::tok {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(SplitText& text) const = 0;
};

// Reads the object under `key`; null when there is none. Throws TK04 for a type that is not known.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonObject& object, std::string_view key);

}  // namespace attnscope::tok
