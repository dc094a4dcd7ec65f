// File: line_reader.h
// The lines of a file, read in pieces.
#pragma once

#include <cstdint>
#include <string>

#include "attnscope/support/file.h"

namespace attnscope {

class LineReader {
 public:
  // Drops a byte order mark at the start. Throws (exit 4) on a line above `max_line_bytes`.
  LineReader(const std::string& path, std::uint64_t max_line_bytes);

  // The next line without its LF; a CR before it is kept. False at the end of the file; the part
  // after the last LF counts as a line unless it is empty.
  bool next(std::string& line);
  std::int64_t line_number() const { return line_number_; }  // of the last line, from 1
  const InputFile& file() const { return file_; }

 private:
  bool fill();

  InputFile file_;
  std::uint64_t max_line_bytes_;
  std::uint64_t offset_ = 0;
  std::string buffer_;
  std::size_t position_ = 0;
  std::int64_t line_number_ = 0;
};

}  // namespace attnscope
