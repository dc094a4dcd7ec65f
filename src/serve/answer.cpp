#include "answer.h"

namespace attnscope::serve {
namespace {

// h5wasm compiles WebAssembly, starts its worker from a blob and maps are drawn into blob images.
// The hash is that of kOnward.
constexpr std::string_view kPolicy =
    "default-src 'self'; "
    "script-src 'self' 'wasm-unsafe-eval' 'sha256-0yMeKivUAEocyfVCJVDG8BNp1MhIsXppRG0eC6pKPvQ='; "
    "worker-src 'self' blob:; "
    "img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "form-action 'none'";

void add(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

std::uint64_t body_bytes(const Body& body) {
  if (const auto* text = std::get_if<std::string>(&body)) return text->size();
  if (const auto* bytes = std::get_if<std::string_view>(&body)) return bytes->size();
  return std::get<FilePart>(body).bytes;
}

std::string head_of(const Answer& answer, After after) {
  std::string head = "HTTP/1.1 " + std::to_string(static_cast<int>(answer.status)) + " " +
                     reason_phrase(answer.status) + "\r\n";
  add(head, "Content-Security-Policy", kPolicy);
  add(head, "X-Content-Type-Options", "nosniff");
  add(head, "Referrer-Policy", "no-referrer");
  add(head, "Cross-Origin-Resource-Policy", "same-origin");
  add(head, "Cross-Origin-Opener-Policy", "same-origin");
  add(head, "Cache-Control", "no-store");
  for (const Field& field : answer.fields) add(head, field.name, field.value);
  if (!answer.type.empty()) add(head, "Content-Type", answer.type);
  if (answer.status != Status::not_modified) {
    add(head, "Content-Length", std::to_string(body_bytes(answer.body)));
  }
  add(head, "Connection", after == After::close ? "close" : "keep-alive");
  head += "\r\n";
  return head;
}

Answer plain_page(Status status) {
  const std::string phrase = reason_phrase(status);
  return {.status = status,
          .type = "text/html; charset=utf-8",
          .fields = {},
          .body =
              "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<link rel=\"icon\" "
              "href=\"data:,\">\n<title>attnscope: " +
              phrase + "</title>\n<h1>" + phrase + "</h1>\n<p>" + explanation(status) + "</p>\n"};
}

}  // namespace attnscope::serve
