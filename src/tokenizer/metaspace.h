// The visible mark that stands for a space, as pre-tokenizer and decoder share it.
#pragma once

#include "attnscope/support/json.h"

namespace attnscope::tok {

struct Metaspace {
  enum class Prepend { always, first, never };
  char32_t replacement = 0x2581;  // ▁
  Prepend scheme = Prepend::always;
  bool split = true;
};

Metaspace read_metaspace(const JsonObject& object);

}  // namespace attnscope::tok
