// File: prompt_reader.h
// Prompt files, read as a stream.
//
//   .txt          a line is a prompt
//   .jsonl        a line is an object: text (or prompt), pair; or ids, token_types; the other keys
//                 are columns
//   .csv, .tsv    a header line names the columns: text (or prompt), pair, ids, token_types,
//   others;
//                 fields may be quoted, with "" for a quote and line breaks inside
//
// Lines end at LF or CRLF only (U+2028 and a lone CR are text). A byte order mark at the start of
// the file is dropped. NUL is kept. A lone surrogate escape in JSON is an error. In .jsonl, .csv
// and .tsv blank lines are passed over; in .txt a blank line is an empty prompt.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attnscope/data/prompt.h"
#include "attnscope/tokenizer/tokenizer.h"

namespace attnscope {

enum class BadLines { stop, skip };

struct PromptReadOptions {
  InvalidUtf8 invalid_utf8 = InvalidUtf8::error;
  BadLines bad_lines = BadLines::stop;
  std::uint64_t max_file_bytes = std::uint64_t{1} << 30;
  std::uint64_t max_line_bytes = std::uint64_t{64} << 20;
};

// A line that was passed over under BadLines::skip.
struct SkippedLine {
  std::int64_t line = 0;
  std::string reason;
};

class PromptReader {
 public:
  // Throws Error PR01 (exit 2) on an unknown suffix, a missing file or a bad header; exit 4 on a
  // file above the limit.
  PromptReader(const std::string& path, const PromptReadOptions& options);
  ~PromptReader();
  PromptReader(PromptReader&&) noexcept;
  PromptReader& operator=(PromptReader&&) = delete;

  // False at the end of the file. Throws Error PR02 (exit 2) with the line number on a bad line,
  // unless bad lines are skipped, and PR03 (exit 2) at the end of a file that had no prompt.
  bool next(Prompt& prompt);
  const std::vector<SkippedLine>& skipped() const;

 private:
  class Format;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

struct PromptFile {
  std::vector<Prompt> prompts;
  std::vector<SkippedLine> skipped;
  std::string sha256;  // of the file
};

// The whole file. A file without any prompt is an error (PR03).
PromptFile read_prompt_file(const std::string& path, const PromptReadOptions& options);

// Throws PR03: no line of the file is left to work on.
[[noreturn]] void fail_no_prompts(const std::string& path, const std::vector<SkippedLine>& skipped);

// "2 bad lines of the prompt file are left out; the first is line 7: …"; there must be one.
std::string describe_skipped(const std::vector<SkippedLine>& skipped);

// Python's rule: each maximal invalid part becomes U+FFFD.
std::string replace_invalid_utf8(std::string_view text);

}  // namespace attnscope
