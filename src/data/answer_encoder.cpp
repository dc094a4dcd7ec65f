#include "answer_encoder.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "attnscope/data/prompt_reader.h"
#include "attnscope/support/error.h"
#include "attnscope/support/text.h"
#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

using Ids = std::vector<std::int64_t>;

// Without what the template adds after the text (a separator, an end token).
Ids without_end(const Ids& ids, const std::vector<std::uint8_t>& special) {
  std::size_t end = ids.size();
  while (end > 0 && special[end - 1] != 0) --end;
  return {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(end)};
}

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

// After these a word of its own begins with a space.
bool ends_a_word(char c) {
  return is_letter(c) || std::string_view(".,;:!?").find(c) != std::string_view::npos;
}

}  // namespace

EncodedAnswer AnswerEncoder::encode(const std::string& answer) const {
  const bool replace = options_.encode.invalid_utf8 == InvalidUtf8::replace;
  const std::string text = replace ? replace_invalid_utf8(answer) : answer;
  const auto ids = added_ids(text);
  if (!ids) fail_seam(text);
  const auto unknown = tokenizer_.special_ids().unk;
  if (ids->empty() || (unknown && ids->front() == *unknown)) fail_no_token(text);
  return {.ids = *ids, .with_space = mask_ < 0 ? with_space(text) : std::nullopt};
}

std::optional<Ids> AnswerEncoder::added_ids(const std::string& answer) const {
  return mask_ < 0 ? continuation(answer) : filling(answer);
}

std::optional<Ids> AnswerEncoder::continuation(const std::string& answer) const {
  const Encoding joined = tokenizer_.encode(prompt_.text + answer, options_.encode);
  const Ids before = without_end(prompt_.ids, prompt_.special);
  const Ids after = without_end(joined.ids, joined.special);
  if (after.size() < before.size() || !std::equal(before.begin(), before.end(), after.begin())) {
    return std::nullopt;
  }
  return Ids(after.begin() + static_cast<std::ptrdiff_t>(before.size()), after.end());
}

std::optional<Ids> AnswerEncoder::filling(const std::string& answer) const {
  const auto at = static_cast<std::size_t>(mask_);
  const std::string piece = tokenizer_.piece(prompt_.ids[at]).value_or("");
  const std::size_t begin = prompt_.text.find(piece);
  if (piece.empty() || begin == std::string::npos) return std::nullopt;
  std::string text = prompt_.text;
  // The prompt's own space before the mask is the answer's.
  const bool spaced = begin > 0 && text[begin - 1] == ' ';
  text.replace(begin, piece.size(), spaced ? std::string(trim(answer)) : answer);
  const Ids filled = tokenizer_.encode(text, options_.encode).ids;
  const std::size_t rest = prompt_.ids.size() - at - 1;
  const bool kept =
      filled.size() >= at + rest &&
      std::equal(prompt_.ids.begin(), prompt_.ids.begin() + static_cast<std::ptrdiff_t>(at),
                 filled.begin()) &&
      std::equal(prompt_.ids.rbegin(), prompt_.ids.rbegin() + static_cast<std::ptrdiff_t>(rest),
                 filled.rbegin());
  if (!kept) return std::nullopt;
  return Ids(filled.begin() + static_cast<std::ptrdiff_t>(at),
             filled.end() - static_cast<std::ptrdiff_t>(rest));
}

std::optional<std::int64_t> AnswerEncoder::with_space(const std::string& answer) const {
  const bool joined = !answer.empty() && is_letter(answer.front()) && !prompt_.text.empty() &&
                      ends_a_word(prompt_.text.back());
  if (!joined) return std::nullopt;
  const auto ids = continuation(" " + answer);
  if (!ids || ids->size() != 1) return std::nullopt;
  return ids->front();
}

void AnswerEncoder::fail_seam(const std::string& answer) const {
  std::string next;
  if (mask_ < 0 && prompt_.text.ends_with(' ')) {
    next = "leave out the space at the end of the prompt and begin the answer with it";
  } else if (mask_ < 0 && !answer.starts_with(' ')) {
    const auto spaced = continuation(" " + answer);
    if (spaced && !spaced->empty()) next = "did you mean " + quote(" " + answer) + "?";
  }
  const std::string seam = mask_ < 0 ? "the end of the prompt" : "the place of the mask";
  throw Error(
      ErrorKind::input, "PA05",
      {.what = "the answer " + quote(answer) + " joins the text at " + seam +
               ", so that the prompt's own tokens change",
       .expected = "an answer that begins with a token of its own",
       .got = mask_ < 0 ? "a prompt that ends in the token " +
                              quote(prompt_.token_texts.empty() ? "" : prompt_.token_texts.back())
                        : "",
       .next = next});
}

void AnswerEncoder::fail_no_token(const std::string& answer) const {
  throw Error(ErrorKind::input, "PA05",
              {.what = "the answer " + quote(answer) + " is no token of this model",
               .expected = "a text that the tokenizer knows"});
}

}  // namespace attnscope
