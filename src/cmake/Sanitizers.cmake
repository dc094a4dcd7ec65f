if(ATTNSCOPE_SANITIZE)
  add_compile_options(-fsanitize=${ATTNSCOPE_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ATTNSCOPE_SANITIZE})
endif()
if(ATTNSCOPE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "ATTNSCOPE_FUZZ needs Clang, whose libFuzzer it links; use the preset fuzz")
  endif()
  # The libraries count the edges that are taken; the fuzzer itself is linked by tests/fuzz only.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
add_compile_definitions(_GLIBCXX_ASSERTIONS)
