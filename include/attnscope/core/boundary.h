// File: boundary.h
// The one place where errors of LibTorch and of the allocator become Error.
#pragma once

#include <c10/util/Exception.h>

#include <new>
#include <string_view>
#include <utility>

#include "attnscope/support/error.h"

namespace attnscope {

// `doing` says what was going on ("forward pass"). Memory that ran out is ErrorKind::limit, all
// else is a bug of ours; the message is one line without a backtrace.
[[noreturn]] void throw_library_error(std::string_view doing, const c10::Error& error);
[[noreturn]] void throw_out_of_memory(std::string_view doing);

template <typename Function>
decltype(auto) at_boundary(std::string_view doing, Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const c10::Error& error) {
    throw_library_error(doing, error);
  } catch (const std::bad_alloc&) {
    throw_out_of_memory(doing);
  }
}

}  // namespace attnscope
