// tokenizer.json, a NUL, tokenizer_config.json; what loads also encodes and decodes a text.
#include "attnscope/tokenizer/tokenizer.h"
#include "target.h"

using namespace attnscope;        // NOLINT
using namespace attnscope::fuzz;  // NOLINT

namespace {

constexpr std::string_view kText =
    "The cat\u2019s  42 h\u00E4ts\n<s> [MASK] \u4E2D\u6587 e\u0301 \uFB01 \U0001F600\t.";

void use(const Tokenizer& tokenizer) {
  const Encoding encoding = tokenizer.encode_pair(kText, "b a");
  check(encoding.pieces.size() == encoding.size() && encoding.offsets.size() == encoding.size(),
        "one piece and one span a token");
  for (const std::int64_t id : encoding.ids) {
    check(id >= 0 && id < tokenizer.id_limit(), "an id outside the vocabulary");
  }
  tokenizer.decode(encoding.ids);
  tokenizer.decode(encoding.ids, SpecialTokens::add);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = as_text(data, size);
  const std::size_t border = std::min(input.find('\0'), input.size());
  const std::string_view config = input.substr(std::min(border + 1, input.size()));
  accepts([&] { use(Tokenizer::parse(input.substr(0, border), config, "file")); });
  return 0;
}
