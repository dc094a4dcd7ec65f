// Post-processors: special tokens around the encoded text, and trimmed offsets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "attnscope/support/json.h"
#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope::tok {

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  // `parts` holds one encoding a text (one or two); gives the parts that are joined in order.
  virtual std::vector<Encoding> apply(std::vector<Encoding> parts,
                                      SpecialTokens specials) const = 0;
  // Whether it is a template, that is, decides which special tokens are added.
  virtual bool is_template() const { return true; }
  // The first token that the template of a single text adds in front of it, if it does.
  virtual std::optional<std::int64_t> first_token() const { return std::nullopt; }
};

// Whether an id has a piece.
using IdCheck = std::function<bool(std::int64_t)>;

// Reads "post_processor" of `file`; null when there is none. Throws TK04 for a type that is not
// known, TK11 for a template that names a token that does not exist.
std::unique_ptr<PostProcessor> make_post_processor(const JsonObject& file, const IdCheck& exists);

Encoding join_encodings(std::vector<Encoding> parts);

}  // namespace attnscope::tok
