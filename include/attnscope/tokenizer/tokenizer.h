// File: tokenizer.h
// Text to token ids and back, as Hugging Face's tokenizers do, from a tokenizer.json.
//
// Example:
//   const Tokenizer tokenizer = Tokenizer::load(folder + "/tokenizer.json",
//                                               folder + "/tokenizer_config.json");
//   const Encoding encoding = tokenizer.encode("The cat");
//   encoding.ids;      // {464, 3797}
//   encoding.offsets;  // {{0, 3}, {3, 7}}: code points of the text
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

// Half-open range of Unicode code points of the text as it was given, also where the tokenizer
// normalised it. {0, 0} for a token that a template added.
struct CharSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const CharSpan&) const = default;
};

// One entry a token in each vector.
struct Encoding {
  std::vector<std::int64_t> ids;
  std::vector<std::string> pieces;  // as in the vocabulary, e.g. "Ġcat", "##ing", "▁the", "<0x0A>"
  std::vector<CharSpan> offsets;
  std::vector<std::int64_t> token_types;  // as the template says; without one 0, then 1
  // 1 = not from the text: a template or BosMode added it. A special token that the text itself
  // spells has 0.
  std::vector<std::uint8_t> special;

  std::size_t size() const { return ids.size(); }
};

// Whether the tokenizer's template adds its special tokens ([CLS] …, <s> …).
enum class SpecialTokens { add, skip };

// What happens to the token that begins a text: the bos token, else the cls token.
enum class BosMode {
  automatic,  // as the file's post-processor says; where that has no template,
              // tokenizer_config.json's add_bos_token
  on,         // one at the front, whoever puts it there: the text, the template or this option
  off,        // the template's is left out; one that the text itself spells stays, and so does what
              // else the template adds (separators, an end token)
};

enum class InvalidUtf8 {
  error,    // Error TK50 with the byte offset
  replace,  // each maximal invalid sequence becomes U+FFFD; offsets count it as one code point
};

struct EncodeOptions {
  SpecialTokens specials = SpecialTokens::add;
  BosMode bos = BosMode::automatic;  // on and off hold even with SpecialTokens::skip
  InvalidUtf8 invalid_utf8 = InvalidUtf8::error;
};

// Ids of the tokens with a role: as tokenizer_config.json names them, else a special token of a
// customary spelling ("<s>", "[CLS]", …), else nothing.
struct SpecialIds {
  std::optional<std::int64_t> bos;
  std::optional<std::int64_t> eos;
  std::optional<std::int64_t> pad;
  std::optional<std::int64_t> unk;
  std::optional<std::int64_t> cls;
  std::optional<std::int64_t> sep;
  std::optional<std::int64_t> mask;
};

// Which kind of pieces a tokenizer has, for inspection.
enum class TokenizerKind { bpe, wordpiece, unigram, wordlevel };

// Immutable once loaded; every const member may be called from several threads at once.
class Tokenizer {
 public:
  // Of one text, before it is encoded: some millions of tokens, more than any model's context.
  static constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20;

  // `tokenizer_json` and `tokenizer_config` are paths; an empty `tokenizer_config` means there is
  // none. A chat_template.jinja beside tokenizer.json is read too. Throws Error TKnn (exit 2, or 4
  // above 256 MB) that names file and cause: anything this version does not know is refused.
  static Tokenizer load(const std::string& tokenizer_json, const std::string& tokenizer_config);
  // The same from texts in memory; `where` names them in messages.
  static Tokenizer parse(std::string_view tokenizer_json, std::string_view tokenizer_config,
                         const std::string& where);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // `text` is UTF-8. Nothing is ever cut or padded, whatever the file asks for. Throws Error TK52
  // (exit 4) above kMaxTextBytes.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode_pair(std::string_view first, std::string_view second,
                       const EncodeOptions& options = {}) const;

  // With SpecialTokens::skip, special tokens leave no trace. An id without a piece (a model can
  // have more rows than its tokenizer has tokens) gives no text.
  std::string decode(std::span<const std::int64_t> ids,
                     SpecialTokens specials = SpecialTokens::skip) const;

  TokenizerKind kind() const;
  // Number of distinct ids, added tokens included.
  std::size_t vocab_size() const;
  // Largest id plus one; above vocab_size() where the file leaves gaps. The rows an embedding
  // needs.
  std::int64_t id_limit() const;
  // Nothing where the id or piece is unknown.
  std::optional<std::string> piece(std::int64_t id) const;
  std::optional<std::int64_t> id(std::string_view piece) const;
  // Whether the file marks the token as special (decode can leave it out).
  bool is_special(std::int64_t id) const;

  const SpecialIds& special_ids() const;
  // Whether BosMode::automatic puts the begin token in front of a text.
  bool adds_bos() const;
  // The chat template's text, never executed; empty when there is none.
  const std::string& chat_template() const;

 private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<const Parts> parts);
  std::unique_ptr<const Parts> parts_;
};

// Chat formats that are written out by hand, since templates are programs and are never run.
enum class ChatStyle { chatml, llama3, gemma };

// One user turn followed by the opening of the model's turn, by the published format. The begin
// token is no part of it: BosMode decides about that when the text is encoded.
std::string format_chat(ChatStyle style, std::string_view user_text);
// What format_chat puts before the user's text.
std::string_view chat_opening(ChatStyle style);
// Throws Error TK54 (exit 2) that names the first token of the format that `tokenizer` does not
// have as a token of its own: the format would be read as ordinary text.
void check_chat_tokens(const Tokenizer& tokenizer, ChatStyle style);

}  // namespace attnscope
