// File: vector_clones.h
// Loops over values in versions for several instruction sets, chosen when the program is loaded.
#pragma once

// Put before a function whose loops are to be vectorised. Sanitizers run before the loader may
// resolve a cloned function, so they get the plain one.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ATTNSCOPE_CLONES \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define ATTNSCOPE_CLONES
#endif

// Put before what a cloned function calls, so that it is compiled for the same instructions.
#define ATTNSCOPE_INLINE inline __attribute__((always_inline))
