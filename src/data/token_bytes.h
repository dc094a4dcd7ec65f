// File: token_bytes.h
// The exact bytes of tokens that hold only part of a character.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

// Bytes that a piece stands for in a byte-level vocabulary ("Ġcat", every byte written as one
// printable character) or as a byte-fallback piece ("<0xE2>"); nothing if it is neither.
std::optional<std::string> bytes_of_piece(std::string_view piece);

// Bytes of each of `pieces`, which together are `text` but for bytes that the vocabulary lacks;
// empty if the pieces are not of such a vocabulary.
std::vector<std::string> split_into_bytes(const std::vector<std::string>& pieces,
                                          const std::string& text);

}  // namespace attnscope
