// File: status.h
// Every status that this server answers with.
#pragma once

namespace attnscope::serve {

enum class Status {
  ok = 200,
  partial_content = 206,
  not_modified = 304,
  bad_request = 400,
  unauthorized = 401,
  forbidden = 403,
  not_found = 404,
  method_not_allowed = 405,
  request_timeout = 408,
  length_required = 411,
  content_too_large = 413,
  uri_too_long = 414,
  range_not_satisfiable = 416,
  misdirected_request = 421,
  header_fields_too_large = 431,
};

const char* reason_phrase(Status status);
// One plain sentence for a person who sees it in a browser.
const char* explanation(Status status);

}  // namespace attnscope::serve
