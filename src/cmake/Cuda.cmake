# The CUDA kernels: compiled by the machine's nvcc, linked with the static CUDA runtime, so that a
# program needs nothing but a driver.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90)
endif()
enable_language(CUDA)
find_package(CUDAToolkit 12.0 REQUIRED)

# attnscope_cuda_sources(TARGET FILE ...): the files become part of the static library TARGET.
# C++17, for CMake 3.25 knows no later one for nvcc. The project's warnings are for the host's
# compiler: nvcc passes them on, but for those that its own generated code does not keep.
function(attnscope_cuda_sources target)
  set(objects ${target}_cuda)
  add_library(${objects} OBJECT ${ARGN})
  set_target_properties(${objects} PROPERTIES
    COMPILE_OPTIONS "-Xcompiler=-fPIC,-Wall,-Wextra;-Xptxas=-warn-spills;$<$<BOOL:${ATTNSCOPE_WERROR}>:-Werror=all-warnings>"
    CUDA_STANDARD 17
    CUDA_STANDARD_REQUIRED ON)
  target_include_directories(${objects} PRIVATE ${PROJECT_SOURCE_DIR}/include
    ${CMAKE_CURRENT_SOURCE_DIR})
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  # By its path: a project that uses the installed library needs no CUDA package of CMake's.
  target_link_libraries(${target} PRIVATE ${CUDA_cudart_static_LIBRARY} Threads::Threads
    ${CMAKE_DL_LIBS} rt)
endfunction()
