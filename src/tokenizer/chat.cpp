#include <algorithm>
#include <array>
#include <string>

#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"
#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope {
namespace {

// What stands before and after the user's text, and the tokens that both are written with.
struct ChatFormat {
  const char* name;
  std::string_view opening;
  std::string_view closing;
  std::array<std::string_view, 3> tokens;
};

const ChatFormat& format_of(ChatStyle style) {
  static constexpr ChatFormat kChatml = {"chatml",
                                         "<|im_start|>user\n",
                                         "<|im_end|>\n<|im_start|>assistant\n",
                                         {"<|im_start|>", "<|im_end|>"}};
  static constexpr ChatFormat kLlama3 = {
      "llama3",
      "<|start_header_id|>user<|end_header_id|>\n\n",
      "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
      {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}};
  static constexpr ChatFormat kGemma = {"gemma",
                                        "<start_of_turn>user\n",
                                        "<end_of_turn>\n<start_of_turn>model\n",
                                        {"<start_of_turn>", "<end_of_turn>"}};
  switch (style) {
    case ChatStyle::chatml:
      return kChatml;
    case ChatStyle::llama3:
      return kLlama3;
    case ChatStyle::gemma:
      break;
  }
  return kGemma;
}

}  // namespace

std::string_view chat_opening(ChatStyle style) {
  return format_of(style).opening;
}

std::string format_chat(ChatStyle style, std::string_view user_text) {
  const ChatFormat& format = format_of(style);
  return std::string(format.opening) + std::string(user_text) + std::string(format.closing);
}

void check_chat_tokens(const Tokenizer& tokenizer, ChatStyle style) {
  const ChatFormat& format = format_of(style);
  const std::string text = format_chat(style, "x");
  const Encoding encoding =
      tokenizer.encode(text, {.specials = SpecialTokens::skip, .bos = BosMode::off});
  for (const std::string_view token : format.tokens) {
    if (token.empty()) continue;
    std::ptrdiff_t written = 0;
    for (std::size_t at = 0; (at = text.find(token, at)) != std::string::npos; at += token.size()) {
      ++written;
    }
    const std::optional<std::int64_t> id = tokenizer.id(token);
    if (id && std::count(encoding.ids.begin(), encoding.ids.end(), *id) == written) continue;
    throw Error(ErrorKind::input, "TK54",
                {.where = std::string("--chat ") + format.name,
                 .what = "the tokenizer of this model has no token " + quote(token),
                 .next = "leave --chat out, or use a model that was trained on this format"});
  }
}

}  // namespace attnscope
