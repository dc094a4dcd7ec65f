# Warnings as a private interface target: they apply to this project's sources only.
# GCC 12 reports overlapping copies inside std::string's operator+ that cannot happen (GCC bug
# 105651). Clang's sanitizers keep it from vectorising loops that ask for it.
add_library(attnscope_warnings INTERFACE)
target_compile_options(attnscope_warnings INTERFACE -Wall -Wextra -Wpedantic
  $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>
  -Wno-missing-field-initializers
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>
  $<$<BOOL:${ATTNSCOPE_WERROR}>:-Werror>)
