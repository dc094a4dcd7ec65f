#include "attnscope/support/error.h"

#include <utility>

namespace attnscope {
namespace {

std::string one_line(const std::string& code, const ErrorDetail& d) {
  std::string text = "error [" + code + "] ";
  if (!d.where.empty()) text += d.where + ": ";
  text += d.what;
  if (!d.expected.empty()) text += "; expected " + d.expected;
  if (!d.got.empty()) text += (d.expected.empty() ? "; got " : ", got ") + d.got;
  if (!d.next.empty()) text += "; " + d.next;
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, std::string code, ErrorDetail detail)
    : std::runtime_error(one_line(code, detail)),
      kind_(kind),
      code_(std::move(code)),
      detail_(std::move(detail)) {}

int Error::exit_code() const {
  switch (kind_) {
    case ErrorKind::input:
      return 2;
    case ErrorKind::output:
      return 3;
    case ErrorKind::limit:
      return 4;
    case ErrorKind::interrupted:
      return 130;
    case ErrorKind::internal:
      break;
  }
  return 1;
}

void rethrow_at(const Error& error, std::string where) {
  ErrorDetail detail = error.detail();
  detail.where = std::move(where);
  throw Error(error.kind(), error.code(), std::move(detail));
}

}  // namespace attnscope
