// File: error.h
// The one exception type of attnscope and its exit codes.
//
// Example:
//   throw Error(ErrorKind::input, "ST20",
//               {.where = path,
//                .what = "tensor \"wte\": data_offsets 0..9",
//                .expected = "7077888 bytes for F32 [768,2304]",
//                .got = "9",
//                .next = "download the file again"});
// prints
//   attnscope: error [ST20] PATH: tensor "wte": data_offsets 0..9; expected …, got …; download …
#pragma once

#include <stdexcept>
#include <string>

namespace attnscope {

// What the caller can do about it; decides the exit code.
enum class ErrorKind {
  input,        // a bad argument or bad input file: exit 2
  output,       // output or environment (exists, read-only, full, locked, device lost): exit 3
  limit,        // over a limit or out of memory: exit 4
  internal,     // a bug of ours: exit 1
  interrupted,  // stopped by a signal, committed work kept: exit 130 or 143
};

// Each part is plain text. Text that came from a file or a user must be passed through
// escape_untrusted() first.
struct ErrorDetail {
  std::string where;     // file, option or site the error is about
  std::string what;      // what is wrong, with the name of the thing
  std::string expected;  // may be empty
  std::string got;       // may be empty
  std::string next;      // what the user can do; may be empty
};

class Error : public std::runtime_error {
 public:
  // `code` is stable: two letters of the area and two digits, e.g. "ST07".
  Error(ErrorKind kind, std::string code, ErrorDetail detail);

  ErrorKind kind() const { return kind_; }
  const std::string& code() const { return code_; }
  const ErrorDetail& detail() const { return detail_; }
  // The process's exit status for this error (design of the command line: 1, 2, 3, 4, 130).
  int exit_code() const;

 private:
  ErrorKind kind_;
  std::string code_;
  ErrorDetail detail_;
};

// The same error about another place: a parser knows what is wrong, its caller knows where.
[[noreturn]] void rethrow_at(const Error& error, std::string where);

}  // namespace attnscope
