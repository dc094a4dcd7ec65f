#include "token_bytes.h"

#include "attnscope/support/utf8.h"

namespace attnscope {
namespace {

// The byte that GPT-2's byte-level alphabet writes as `code_point`: printable Latin-1 stands for
// itself, the other 68 bytes follow from U+0100 on.
std::optional<char> byte_of(char32_t code_point) {
  const auto printable = [](unsigned b) {
    return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
  };
  if (code_point < 0x100) {
    if (!printable(static_cast<unsigned>(code_point))) return std::nullopt;
    return static_cast<char>(code_point);
  }
  unsigned next = 0x100;
  for (unsigned b = 0; b < 0x100; ++b) {
    if (!printable(b) && next++ == code_point) return static_cast<char>(b);
  }
  return std::nullopt;
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

// A vocabulary may lack some bytes, which then vanish from its tokens.
bool is_subsequence(std::string_view part, std::string_view whole) {
  std::size_t at = 0;
  for (const char c : whole) at += at < part.size() && part[at] == c ? 1 : 0;
  return at == part.size();
}

}  // namespace

std::optional<std::string> bytes_of_piece(std::string_view piece) {
  if (piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with('>')) {
    const auto high = hex_digit(piece[3]);
    const auto low = hex_digit(piece[4]);
    if (high && low) return std::string(1, static_cast<char>(*high * 16 + *low));
  }
  std::string bytes;
  for (std::size_t pos = 0; pos < piece.size();) {
    const auto byte = byte_of(next_code_point(piece, pos));
    if (!byte) return std::nullopt;
    bytes += *byte;
  }
  return bytes;
}

std::vector<std::string> split_into_bytes(const std::vector<std::string>& pieces,
                                          const std::string& text) {
  std::vector<std::string> parts;
  std::string joined;
  for (const std::string& piece : pieces) {
    auto bytes = bytes_of_piece(piece);
    if (!bytes) return {};
    joined += *bytes;
    parts.push_back(std::move(*bytes));
  }
  if (!is_subsequence(joined, text)) parts.clear();
  return parts;
}

}  // namespace attnscope
