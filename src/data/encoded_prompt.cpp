#include "attnscope/data/encoded_prompt.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attnscope/data/prompt_reader.h"
#include "attnscope/support/error.h"
#include "attnscope/support/utf8.h"
#include "token_bytes.h"

namespace attnscope {
namespace {

// Byte offset of every code point, and the size at the end.
std::vector<std::size_t> code_point_starts(std::string_view text) {
  std::vector<std::size_t> starts;
  for (std::size_t pos = 0; pos < text.size(); next_code_point(text, pos)) starts.push_back(pos);
  starts.push_back(text.size());
  return starts;
}

class TextSlices {
 public:
  explicit TextSlices(std::string_view text) : text_(text), starts_(code_point_starts(text)) {}
  std::string slice(CharSpan span) const {
    const std::size_t last = starts_.size() - 1;
    const std::size_t begin = starts_[std::min(span.begin, last)];
    const std::size_t end = starts_[std::min(span.end, last)];
    return std::string(text_.substr(begin, end - begin));
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
};

// Offsets count from the start of the text a token belongs to. Token types tell the texts apart
// where the template sets them; elsewhere the second text begins after the separators that follow
// the first, or where the offsets start again.
std::vector<std::uint8_t> second_text_tokens(const Encoding& e) {
  const std::size_t n = e.size();
  std::vector<std::uint8_t> second(n, 0);
  const bool typed = std::any_of(e.token_types.begin(), e.token_types.end(),
                                 [](std::int64_t type) { return type == 1; });
  bool seen_text = false;
  bool in_second = false;
  std::size_t last_begin = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (typed) {
      second[i] = e.token_types[i] == 1 ? 1 : 0;
      continue;
    }
    if (e.special[i] != 0) {
      in_second = in_second || seen_text;
    } else {
      in_second = in_second || (seen_text && e.offsets[i].begin < last_begin);
      seen_text = true;
      last_begin = e.offsets[i].begin;
    }
    second[i] = in_second ? 1 : 0;
  }
  return second;
}

bool overlap(CharSpan a, CharSpan b) {
  return a.begin < b.end && b.begin < a.end;
}

// Tokens that share a character have its whole text so far: gives each its own bytes.
void split_shared_characters(EncodedPrompt& prompt, const TextSlices& first,
                             const TextSlices& second) {
  prompt.token_bytes = prompt.token_texts;
  std::size_t i = 0;
  while (i < prompt.size()) {
    std::size_t end = i + 1;
    while (end < prompt.size() && prompt.special[end] == 0 && prompt.special[i] == 0 &&
           prompt.in_second[end] == prompt.in_second[i] &&
           overlap(prompt.offsets[end - 1], prompt.offsets[end])) {
      ++end;
    }
    if (end - i > 1) {
      const TextSlices& source = prompt.in_second[i] != 0 ? second : first;
      const CharSpan whole{prompt.offsets[i].begin, prompt.offsets[end - 1].end};
      const auto parts =
          split_into_bytes({prompt.pieces.begin() + static_cast<std::ptrdiff_t>(i),
                            prompt.pieces.begin() + static_cast<std::ptrdiff_t>(end)},
                           source.slice(whole));
      for (std::size_t part = 0; part < parts.size(); ++part) {
        prompt.token_bytes[i + part] = parts[part];
        prompt.token_texts[i + part] = replace_invalid_utf8(parts[part]);
      }
    }
    i = end;
  }
}

EncodedPrompt from_text(const Prompt& prompt, const Tokenizer& tokenizer,
                        const EncodePromptOptions& options) {
  EncodedPrompt out;
  const bool replace = options.encode.invalid_utf8 == InvalidUtf8::replace;
  out.text = replace ? replace_invalid_utf8(prompt.text) : prompt.text;
  if (options.chat) {
    out.text = format_chat(*options.chat, out.text);
    out.user_begin = count_code_points(chat_opening(*options.chat));
  }
  Encoding encoding;
  if (prompt.pair) {
    out.pair = replace ? replace_invalid_utf8(*prompt.pair) : *prompt.pair;
    encoding = tokenizer.encode_pair(out.text, *out.pair, options.encode);
    out.in_second = second_text_tokens(encoding);
  } else {
    encoding = tokenizer.encode(out.text, options.encode);
    out.in_second.assign(encoding.size(), 0);
  }
  const TextSlices first(out.text);
  const TextSlices second(out.pair ? std::string_view(*out.pair) : std::string_view());
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const TextSlices& source = out.in_second[i] != 0 ? second : first;
    out.token_texts.push_back(encoding.special[i] != 0 ? encoding.pieces[i]
                                                       : source.slice(encoding.offsets[i]));
  }
  out.ids = std::move(encoding.ids);
  out.token_types = std::move(encoding.token_types);
  out.pieces = std::move(encoding.pieces);
  out.offsets = std::move(encoding.offsets);
  out.special = std::move(encoding.special);
  split_shared_characters(out, first, second);
  return out;
}

// What a token adds to the text of the one before it, so that a leading space is not lost.
std::string text_of_id(const Tokenizer& tokenizer, std::int64_t previous, std::int64_t id) {
  const std::array<std::int64_t, 2> both = {previous, id};
  const std::string before = tokenizer.decode(std::span(both).first(1), SpecialTokens::add);
  const std::string after = tokenizer.decode(both, SpecialTokens::add);
  return after.starts_with(before) ? after.substr(before.size())
                                   : tokenizer.decode(std::span(both).last(1), SpecialTokens::add);
}

EncodedPrompt from_ids(const Prompt& prompt, const Tokenizer* tokenizer) {
  EncodedPrompt out;
  out.ids = *prompt.ids;
  const std::size_t n = out.ids.size();
  out.token_types = prompt.token_types;
  out.token_types.resize(n, 0);
  out.offsets.resize(n);
  out.special.assign(n, 1);
  out.in_second.assign(n, 0);
  bool all_known = tokenizer != nullptr;
  for (std::size_t i = 0; i < n; ++i) {
    const auto piece = tokenizer == nullptr ? std::nullopt : tokenizer->piece(out.ids[i]);
    all_known = all_known && piece.has_value();
    out.pieces.push_back(piece.value_or("#" + std::to_string(out.ids[i])));
    const bool decodable = all_known && !tokenizer->is_special(out.ids[i]);
    out.token_texts.push_back(decodable
                                  ? text_of_id(*tokenizer, out.ids[i == 0 ? 0 : i - 1], out.ids[i])
                                  : out.pieces.back());
  }
  out.token_bytes = out.token_texts;
  if (all_known) out.text = tokenizer->decode(out.ids, SpecialTokens::add);
  return out;
}

}  // namespace

EncodedPrompt encode_prompt(const Prompt& prompt, const Tokenizer* tokenizer,
                            const EncodePromptOptions& options) {
  if (!prompt.ids && tokenizer == nullptr) {
    throw Error(ErrorKind::input, "PR04",
                {.where = "--prompt",
                 .what = "the model has no tokenizer.json, so text cannot be encoded",
                 .next = "give token ids instead: --ids 5,17,3"});
  }
  if (options.chat && (prompt.ids || prompt.pair)) {
    throw Error(ErrorKind::input, "PR05",
                {.where = "--chat",
                 .what = "a chat format takes one text",
                 .got = prompt.ids ? "token ids" : "a pair of texts"});
  }
  EncodedPrompt out =
      prompt.ids ? from_ids(prompt, tokenizer) : from_text(prompt, *tokenizer, options);
  if (out.ids.empty()) {
    throw Error(ErrorKind::input, "PR04",
                {.where = "--prompt",
                 .what = "an empty prompt has no tokens",
                 .next = "--bos on puts the begin token there, where the tokenizer has one"});
  }
  out.columns = prompt.columns;
  out.line = prompt.line;
  return out;
}

std::vector<int> tokens_of_span(std::span<const CharSpan> offsets, CharSpan span) {
  std::vector<int> tokens;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const CharSpan& token = offsets[i];
    if (token.begin < token.end && token.begin < span.end && span.begin < token.end) {
      tokens.push_back(static_cast<int>(i));
    }
  }
  return tokens;
}

}  // namespace attnscope
