# attnscope_module(NAME SOURCES ... HEADERS ... LINK ... [PRIVATE_LINK ...] [TORCH])
# One static library a folder of src/ (or probes/), with its public headers as a file set, so that
# each header is checked to compile on its own and is installed.
function(attnscope_module name)
  cmake_parse_arguments(M "TORCH" "" "SOURCES;HEADERS;LINK;PRIVATE_LINK" ${ARGN})
  set(target attnscope_${name})
  add_library(${target} STATIC)
  add_library(attnscope::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  list(TRANSFORM M_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/attnscope/)
  target_sources(${target}
    PRIVATE ${M_SOURCES}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${M_HEADERS})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${target} PUBLIC ${M_LINK}
    PRIVATE ${M_PRIVATE_LINK} $<BUILD_INTERFACE:attnscope_warnings>)
  if(M_TORCH)
    target_link_libraries(${target} PUBLIC attnscope::torch)
    attnscope_torch_pch(${target})
  endif()
  install(TARGETS ${target} EXPORT attnscopeTargets FILE_SET HEADERS)
endfunction()

# attnscope_test(NAME SOURCES ... LINK ... [TORCH] [LABELS ...])
# One test binary a module: a process that loads LibTorch costs a third of a second, so one ctest
# entry per TEST() would not scale.
function(attnscope_test name)
  cmake_parse_arguments(T "TORCH" "" "SOURCES;LINK;LABELS" ${ARGN})
  set(target ${name}_tests)
  add_executable(${target} ${T_SOURCES})
  target_link_libraries(${target} PRIVATE ${T_LINK} attnscope::testing GTest::gtest_main
    attnscope_warnings)
  target_compile_definitions(${target} PRIVATE ATTNSCOPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # Of the time to compile a test, a quarter goes into optimising what runs once.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(T_TORCH)
    target_link_libraries(${target} PRIVATE attnscope::torch)
    attnscope_torch_pch(${target})
  endif()
  add_test(NAME ${name} COMMAND ${target})
  set_tests_properties(${name} PROPERTIES TIMEOUT 900 LABELS "${T_LABELS}")
endfunction()
