#include <string>

#include "attnscope/support/error.h"
#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope {

std::string format_chat(ChatStyle style, std::string_view user_text) {
  const std::string text(user_text);
  switch (style) {
    case ChatStyle::chatml:
      return "<|im_start|>user\n" + text + "<|im_end|>\n<|im_start|>assistant\n";
    case ChatStyle::llama3:
      return "<|start_header_id|>user<|end_header_id|>\n\n" + text +
             "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n";
    case ChatStyle::gemma:
      return "<start_of_turn>user\n" + text + "<end_of_turn>\n<start_of_turn>model\n";
  }
  throw Error(ErrorKind::internal, "TK99", {.where = "format_chat", .what = "unknown chat style"});
}

}  // namespace attnscope
