// File: responder.h
// From a request to its answer. The order of the checks is the order of the README.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "access.h"
#include "answer.h"
#include "attnscope/serve/page.h"
#include "data_files.h"
#include "rules.h"

namespace attnscope::serve {

class Responder {
 public:
  Responder(std::uint16_t port, std::span<const PageAsset> assets, std::vector<std::string> files);

  Answer answer(const Request& request, Clock::time_point now);
  Access& access() { return access_; }

 private:
  // Nothing if the request may be answered.
  std::optional<Answer> refusal(const Request& request, const Target& target) const;
  // The answer to the right token at "/": a cookie, and on to "/" without it.
  std::optional<Answer> admission(const Request& request, const Target& target,
                                  Clock::time_point now);
  Answer content(const Request& request, const Target& target) const;
  Answer file_content(const Request& request, std::size_t index) const;

  std::vector<std::string> hosts_;
  std::span<const PageAsset> assets_;
  DataFiles files_;
  Access access_;
};

}  // namespace attnscope::serve
