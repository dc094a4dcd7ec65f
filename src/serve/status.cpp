#include "status.h"

#include <algorithm>
#include <array>

namespace attnscope::serve {
namespace {

struct Words {
  Status status;
  const char* phrase;
  const char* explanation;
};

constexpr std::array kWords = {
    Words{Status::ok, "OK", ""},
    Words{Status::partial_content, "Partial Content", ""},
    Words{Status::not_modified, "Not Modified", ""},
    Words{Status::bad_request, "Bad Request", "This is not a request that attnscope answers."},
    Words{Status::unauthorized, "Unauthorized",
          "This page needs the address that attnscope printed in the terminal: open that one, with "
          "all that stands behind the question mark. Each start of attnscope makes a new address."},
    Words{Status::forbidden, "Forbidden",
          "Another web page asked for this. Open the address that attnscope printed yourself."},
    Words{Status::not_found, "Not Found", "There is nothing here."},
    Words{Status::method_not_allowed, "Method Not Allowed", "Only GET and HEAD are answered."},
    Words{Status::request_timeout, "Request Timeout", "The request took too long to arrive."},
    Words{Status::length_required, "Length Required", "A request with a body must say its length."},
    Words{Status::content_too_large, "Content Too Large", "The request is too large."},
    Words{Status::uri_too_long, "URI Too Long", "The address is too long."},
    Words{Status::range_not_satisfiable, "Range Not Satisfiable",
          "The file does not have these bytes."},
    Words{Status::misdirected_request, "Misdirected Request",
          "This server answers under the address that attnscope printed and no other name."},
    Words{Status::header_fields_too_large, "Request Header Fields Too Large",
          "The request has too many header fields, or too long ones."},
};

const Words& words_of(Status status) {
  return *std::find_if(kWords.begin(), kWords.end(),
                       [status](const Words& words) { return words.status == status; });
}

}  // namespace

const char* reason_phrase(Status status) {
  return words_of(status).phrase;
}

const char* explanation(Status status) {
  return words_of(status).explanation;
}

}  // namespace attnscope::serve
