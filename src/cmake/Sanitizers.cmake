if(ATTNSCOPE_SANITIZE)
  add_compile_options(-fsanitize=${ATTNSCOPE_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ATTNSCOPE_SANITIZE})
endif()
add_compile_definitions(_GLIBCXX_ASSERTIONS)
