// File: pair_reader.h
// Pairs files as a stream of pairs that are not tokenised yet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "attnscope/data/pairs.h"

namespace attnscope {

class PairReader {
 public:
  // Throws Error PA01 (exit 2) on an unknown kind of file, a bad header or missing columns, PA07 on
  // ids of another tokenizer that PairOptions::foreign_ids does not allow.
  PairReader(const std::string& path, const PairOptions& options);
  ~PairReader();
  PairReader(const PairReader&) = delete;
  PairReader& operator=(const PairReader&) = delete;

  // False at the end of the file. Throws Error PA02 without a place on a bad line, and has then
  // moved past it.
  bool next(Pair& pair);
  // Where the last pair stands: "FILE:12", in a .json "FILE: prompt 12".
  std::string place() const;

  class Format;

 private:
  PairOptions options_;
  std::string path_;
  std::unique_ptr<Format> format_;
};

}  // namespace attnscope
