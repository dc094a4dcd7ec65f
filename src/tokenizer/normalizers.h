// Normalizers: what happens to a text before it is cut into words.
#pragma once

#include <memory>

#include "aligned_text.h"
#include "attnscope/support/json.h"

namespace attnscope::tok {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(AlignedText& text) const = 0;
};

// Reads the object under `key`; null when there is none. Throws TK04 for a type that is not known.
std::unique_ptr<Normalizer> make_normalizer(const JsonObject& object, std::string_view key);

}  // namespace attnscope::tok
