// Text for a tokenizer: a byte that chooses one of the tokenizers of tests/fixtures/tokenizers, a
// byte of options, the text, and for a pair a NUL and the second text.
#include <map>
#include <nlohmann/json.hpp>

#include "attnscope/support/file.h"
#include "attnscope/support/utf8.h"
#include "attnscope/tokenizer/tokenizer.h"
#include "target.h"

using namespace attnscope;        // NOLINT
using namespace attnscope::fuzz;  // NOLINT

namespace {

nlohmann::json read_fixture(const std::string& name) {
  return nlohmann::json::parse(
      read_text_file(ATTNSCOPE_SOURCE_DIR "/tests/fixtures/" + name, "FZ01", 1 << 30));
}

// GPT-2's stand-ins for the 256 bytes: printable Latin-1 for itself, the rest from U+0100 on.
void add_missing_bytes(nlohmann::json& file) {
  nlohmann::json& vocabulary = file["model"]["vocab"];
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool itself = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    std::string piece;
    append_utf8(piece, itself ? byte : next++);
    if (!vocabulary.contains(piece)) vocabulary[piece] = 100'000 + static_cast<int>(byte);
  }
}

// Tokenizers of every kind, each made when it is first asked for. The first is byte-level BPE with
// every byte in its vocabulary, which loses nothing.
class Tokenizers {
 public:
  Tokenizers()
      : tiny_(read_fixture("models/tiny-random-gpt2/tokenizer.json")),
        cases_(read_fixture("tokenizers/cases.json")),
        count_(cases_["cases"].size() + 1) {}

  const Tokenizer& get(std::size_t choice) {
    choice %= count_;
    const auto found = made_.find(choice);
    return found != made_.end() ? found->second : made_.emplace(choice, make(choice)).first->second;
  }

 private:
  Tokenizer make(std::size_t choice) const {
    nlohmann::json file = tiny_;
    if (choice == 0) {
      add_missing_bytes(file);
    } else {
      const nlohmann::json& one = cases_["cases"][choice - 1];
      if (one["base"] != "tiny-random-gpt2") file = cases_["bases"][one["base"].get<std::string>()];
      file.update(one["changes"]);
    }
    return Tokenizer::parse(file.dump(), "", "fixture");
  }

  nlohmann::json tiny_;
  nlohmann::json cases_;
  std::size_t count_;
  std::map<std::size_t, Tokenizer> made_;
};

EncodeOptions options_of(std::uint8_t bits) {
  return {.specials = (bits & 1) != 0 ? SpecialTokens::skip : SpecialTokens::add,
          .bos = (bits & 2) != 0   ? BosMode::on
                 : (bits & 4) != 0 ? BosMode::off
                                   : BosMode::automatic,
          .invalid_utf8 = (bits & 8) != 0 ? InvalidUtf8::replace : InvalidUtf8::error};
}

void check_encoding(const Tokenizer& tokenizer, const Encoding& encoding, std::size_t code_points) {
  const std::size_t n = encoding.size();
  check(encoding.pieces.size() == n && encoding.offsets.size() == n &&
            encoding.token_types.size() == n && encoding.special.size() == n,
        "one entry a token");
  for (std::size_t i = 0; i < n; ++i) {
    const CharSpan span = encoding.offsets[i];
    check(span.begin <= span.end && span.end <= code_points, "a span outside the text");
    check(tokenizer.piece(encoding.ids[i]).has_value(), "an id without a piece");
  }
  check(!first_invalid_utf8(tokenizer.decode(encoding.ids)), "decoded text that is not UTF-8");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static Tokenizers tokenizers;
  const Tokenizer& tokenizer = tokenizers.get(data[0]);
  const EncodeOptions options = options_of(data[1]);
  const std::string_view input = as_text(data, size).substr(2);
  const bool pair = (data[1] & 16) != 0;
  const std::size_t border = pair ? std::min(input.find('\0'), input.size()) : input.size();
  const std::string_view first = input.substr(0, border);
  const std::string_view second = input.substr(std::min(border + 1, input.size()));
  const bool valid = !first_invalid_utf8(first) && !first_invalid_utf8(second);
  Encoding encoding;
  const bool accepted = accepts([&] {
    encoding =
        pair ? tokenizer.encode_pair(first, second, options) : tokenizer.encode(first, options);
  });
  const bool readable = valid || options.invalid_utf8 == InvalidUtf8::replace;
  check(readable || !accepted, "a text that is not UTF-8 was taken");
  // Only a tokenizer that has no begin token may refuse a text, when it is asked for one.
  check(accepted || !readable || options.bos == BosMode::on, "a text was refused");
  if (!accepted) return 0;
  check_encoding(tokenizer, encoding, input.size());
  if (data[0] == 0 && !pair && valid && options.bos != BosMode::on) {
    check(tokenizer.decode(encoding.ids, SpecialTokens::add) == first, "a text that comes back");
  }
  return 0;
}
