// Decoders: pieces back to text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/support/json.h"

namespace attnscope::tok {

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Rewrites the pieces; the text is what they join to.
  virtual void apply(std::vector<std::string>& pieces) const = 0;
};

// Reads "decoder" of `file`; null when there is none. Throws TK04 for a type that is not known.
std::unique_ptr<Decoder> make_decoder(const JsonObject& file);

// Takes out the spaces before punctuation and contractions that tokenisation made
// (clean_up_tokenization_spaces).
std::string clean_up_spaces(std::string text);

}  // namespace attnscope::tok
