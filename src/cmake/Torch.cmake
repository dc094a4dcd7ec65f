# An imported target made from a LibTorch folder. The wheel's own TorchConfig.cmake is not used:
# with a CUDA wheel it wants a whole toolkit and stops at CMake 3.25.
set(torch_candidates ${ATTNSCOPE_TORCH} $ENV{ATTNSCOPE_TORCH})
file(GLOB torch_venvs ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
list(APPEND torch_candidates ${torch_venvs})
unset(ATTNSCOPE_TORCH_DIR CACHE)
set(ATTNSCOPE_TORCH_DIR "")
foreach(candidate IN LISTS torch_candidates)
  if(EXISTS ${candidate}/include/ATen/ATen.h AND EXISTS ${candidate}/lib/libtorch_cpu.so)
    set(ATTNSCOPE_TORCH_DIR ${candidate})
    break()
  endif()
endforeach()
if(NOT ATTNSCOPE_TORCH_DIR)
  message(FATAL_ERROR "No LibTorch found. Run ./run setup, or pass -DATTNSCOPE_TORCH=DIR "
    "(DIR holds include/ and lib/, as in the torch wheel).")
endif()
message(STATUS "LibTorch: ${ATTNSCOPE_TORCH_DIR}")
set(ATTNSCOPE_TORCH_DIR ${ATTNSCOPE_TORCH_DIR} CACHE INTERNAL "LibTorch folder in use")

add_library(attnscope_torch INTERFACE IMPORTED GLOBAL)
add_library(attnscope::torch ALIAS attnscope_torch)
target_include_directories(attnscope_torch SYSTEM INTERFACE ${ATTNSCOPE_TORCH_DIR}/include)
# libtorch.so finds the CUDA libraries of a CUDA build at run time, so it must stay linked even
# though nothing refers to it.
target_link_libraries(attnscope_torch INTERFACE
  -Wl,--no-as-needed ${ATTNSCOPE_TORCH_DIR}/lib/libtorch.so -Wl,--as-needed
  ${ATTNSCOPE_TORCH_DIR}/lib/libtorch_cpu.so ${ATTNSCOPE_TORCH_DIR}/lib/libc10.so)
set(CMAKE_INSTALL_RPATH ${ATTNSCOPE_TORCH_DIR}/lib)

# The first TORCH target builds the precompiled header (about 20 s), the others reuse it.
function(attnscope_torch_pch target)
  get_property(owner GLOBAL PROPERTY ATTNSCOPE_PCH_OWNER)
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE <ATen/ATen.h> <memory> <optional> <span> <string>
      <string_view> <vector>)
    set_property(GLOBAL PROPERTY ATTNSCOPE_PCH_OWNER ${target})
  endif()
endfunction()
