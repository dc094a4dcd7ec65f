// File: error_code.h
// The code of the error that an action ends in.
#pragma once

#include <functional>
#include <string>

#include "attnscope/support/error.h"

namespace attnscope::testing {

// Empty when it throws no Error.
inline std::string code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

}  // namespace attnscope::testing
