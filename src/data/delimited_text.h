// File: delimited_text.h
// Records of .csv and .tsv files (RFC 4180).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "line_reader.h"

namespace attnscope {

class DelimitedText {
 public:
  DelimitedText(LineReader& lines, char separator) : lines_(lines), separator_(separator) {}

  // The next record, over several lines where a quoted field holds line breaks; blank lines are
  // passed over. False at the end. On a malformed record `problem` says what is wrong and the
  // fields are empty.
  bool next(std::vector<std::string>& fields, std::string& problem);
  std::int64_t line_number() const { return first_line_; }  // where the last record began

 private:
  LineReader& lines_;
  char separator_;
  std::int64_t first_line_ = 0;
};

}  // namespace attnscope
