# Warnings as a private interface target: they apply to this project's sources only.
add_library(attnscope_warnings INTERFACE)
target_compile_options(attnscope_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow=local
  -Wno-missing-field-initializers $<$<BOOL:${ATTNSCOPE_WERROR}>:-Werror>)
