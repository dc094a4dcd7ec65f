#include "unicode.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>

#include <algorithm>
#include <array>

#include "attnscope/support/error.h"

namespace attnscope::tok {
namespace {

constexpr int kCategoriesVersion = 8;
constexpr int kNormalFormsVersion = 9;

UChar32 icu(char32_t c) {
  return static_cast<UChar32>(c);
}

bool in_category(char32_t c, std::uint32_t mask) {
  return (U_GET_GC_MASK(icu(c)) & mask) != 0;
}

// Whether `c` was assigned in Unicode `major`.0.
bool assigned_in(char32_t c, int major) {
  if (c < 0x300) return true;
  UVersionInfo age;
  u_charAge(icu(c), age);
  return age[0] < major || (age[0] == major && age[1] == 0);
}

const UNormalizer2* normal_form(bool compatibility) {
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2* form =
      compatibility ? unorm2_getNFKCInstance(&status) : unorm2_getNFCInstance(&status);
  if (U_FAILURE(status)) {
    throw Error(ErrorKind::output, "TK70",
                {.where = "ICU", .what = std::string("no normal forms: ") + u_errorName(status)});
  }
  return form;
}

}  // namespace

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return u_isUWhiteSpace(icu(c)) != 0;
}

bool is_letter(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return in_category(c, U_GC_L_MASK);
}

bool is_number(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return in_category(c, U_GC_N_MASK);
}

bool is_mark(char32_t c) {
  return c >= 0x300 && in_category(c, U_GC_M_MASK);
}

bool is_upper_class(char32_t c) {
  return in_category(c, U_GC_LU_MASK | U_GC_LT_MASK | U_GC_LM_MASK | U_GC_LO_MASK | U_GC_M_MASK);
}

bool is_lower_class(char32_t c) {
  return in_category(c, U_GC_LL_MASK | U_GC_LM_MASK | U_GC_LO_MASK | U_GC_M_MASK);
}

bool is_word(char32_t c) {
  if (c < 0x80) return is_letter(c) || is_number(c) || c == '_';
  return u_isUAlphabetic(icu(c)) != 0 || c == 0x200C || c == 0x200D ||
         in_category(c, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK);
}

bool is_bert_control(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  if (c < 0x80) return c < 0x20 || c == 0x7F;
  return in_category(c, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK) &&
         assigned_in(c, kCategoriesVersion);
}

bool is_bert_accent(char32_t c) {
  if (c < 0x300) return false;
  // Code points whose category changed after Unicode 8.
  if (c == 0x1734) return true;
  if (c == 0x1885 || c == 0x1886 || c == 0xA9BD) return false;
  return in_category(c, U_GC_MN_MASK) && assigned_in(c, kCategoriesVersion);
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) {
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
           (c >= 123 && c <= 126);
  }
  // Code points whose category changed after Unicode 8.
  if (c == 0x166D || c == 0x111C9) return true;
  return in_category(c, U_GC_P_MASK) && assigned_in(c, kCategoriesVersion);
}

bool is_combining_mark(char32_t c) {
  if (c < 0x300) return false;
  if (c == 0x1CF2 || c == 0x1CF3) return true;  // marks until Unicode 11
  return in_category(c, U_GC_M_MASK) && assigned_in(c, kNormalFormsVersion);
}

bool is_cjk(char32_t c) {
  constexpr std::array<std::array<char32_t, 2>, 8> kBlocks = {{{0x4E00, 0x9FFF},
                                                               {0x3400, 0x4DBF},
                                                               {0x20000, 0x2A6DF},
                                                               {0x2A700, 0x2B73F},
                                                               {0x2B740, 0x2B81F},
                                                               {0x2B920, 0x2CEAF},
                                                               {0xF900, 0xFAFF},
                                                               {0x2F800, 0x2FA1F}}};
  return c >= 0x3400 && std::any_of(kBlocks.begin(), kBlocks.end(), [c](const auto& block) {
           return c >= block[0] && c <= block[1];
         });
}

LowerCase lower_case(char32_t c) {
  if (c < 0x80) return {c >= 'A' && c <= 'Z' ? c + 32 : c, 0};
  if (c == 0x130) return {U'i', 0x307};
  return {static_cast<char32_t>(u_tolower(icu(c))), 0};
}

std::u32string decompose(char32_t c, bool compatibility) {
  if (c < 0x80 || !assigned_in(c, kNormalFormsVersion)) return std::u32string(1, c);
  std::array<UChar, 64> units;
  UErrorCode status = U_ZERO_ERROR;
  const std::int32_t n = unorm2_getDecomposition(normal_form(compatibility), icu(c), units.data(),
                                                 static_cast<std::int32_t>(units.size()), &status);
  if (n < 0 || U_FAILURE(status)) return std::u32string(1, c);
  std::u32string out;
  for (std::int32_t i = 0; i < n;) {
    UChar32 unit = 0;
    U16_NEXT(units.data(), i, n, unit);
    out.push_back(static_cast<char32_t>(unit));
  }
  return out;
}

std::uint8_t combining_class(char32_t c) {
  if (c < 0x300 || !assigned_in(c, kNormalFormsVersion)) return 0;
  return u_getCombiningClass(icu(c));
}

char32_t compose(char32_t first, char32_t second) {
  const UChar32 pair = unorm2_composePair(normal_form(false), icu(first), icu(second));
  if (pair < 0) return 0;
  const auto c = static_cast<char32_t>(pair);
  return assigned_in(c, kNormalFormsVersion) ? c : 0;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char b) { return static_cast<unsigned char>(b) < 0x80; });
}

}  // namespace attnscope::tok
