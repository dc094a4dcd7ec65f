// A prompt file: a byte that chooses its kind and the options, then its content.
#include <array>

#include "attnscope/data/prompt_reader.h"
#include "attnscope/support/utf8.h"
#include "scratch.h"
#include "target.h"

using namespace attnscope;        // NOLINT
using namespace attnscope::fuzz;  // NOLINT

namespace {

constexpr std::array<const char*, 4> kNames{"p.txt", "p.jsonl", "p.csv", "p.tsv"};

void check_prompt(const Prompt& prompt) {
  check(!first_invalid_utf8(prompt.text), "a prompt that is not UTF-8");
  check(!prompt.pair || !first_invalid_utf8(*prompt.pair), "a pair that is not UTF-8");
  check(prompt.text.empty() || !prompt.ids, "both text and ids");
  if (prompt.ids) {
    check(!prompt.ids->empty(), "a list of ids without an id");
    check(prompt.token_types.empty() || prompt.token_types.size() == prompt.ids->size(),
          "one token type an id");
    for (const std::int64_t id : *prompt.ids) check(id >= 0, "an id below zero");
  }
  for (const Column& column : prompt.columns) {
    check(!first_invalid_utf8(column.name) && !first_invalid_utf8(column.value),
          "a column that is not UTF-8");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const Scratch scratch;
  const std::uint8_t bits = data[0];
  const PromptReadOptions options{
      .invalid_utf8 = (bits & 4) != 0 ? InvalidUtf8::replace : InvalidUtf8::error,
      .bad_lines = (bits & 8) != 0 ? BadLines::skip : BadLines::stop,
      .max_line_bytes = (bits & 16) != 0 ? 64 : 1U << 20};
  const std::string path = scratch.write(kNames[bits % 4], as_text(data + 1, size - 1));
  accepts([&] {
    PromptReader reader(path, options);
    Prompt prompt;
    std::int64_t line = 0;
    while (reader.next(prompt)) {
      check(prompt.line > line, "lines that do not go up");
      line = prompt.line;
      check_prompt(prompt);
    }
  });
  return 0;
}
