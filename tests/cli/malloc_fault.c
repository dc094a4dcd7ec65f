/* For LD_PRELOAD: lets an allocation of the command fail. Counted from the start of main.
 *
 *   MALLOC_FAULT_AT=n       the n-th allocation fails (0: none)
 *   MALLOC_FAULT_LASTING=1  so does every one after it
 *   MALLOC_FAULT_COUNT=FILE the number of allocations is written there at the end of main
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static volatile int armed;
static long calls, fails_at, lasting;

static int fails(void) {
  if (!armed) return 0;
  const long call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  if (fails_at == 0 || call < fails_at || (call > fails_at && !lasting)) return 0;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t bytes) { return fails() ? NULL : __libc_malloc(bytes); }
void* calloc(size_t n, size_t bytes) { return fails() ? NULL : __libc_calloc(n, bytes); }
void* realloc(void* old, size_t bytes) { return fails() ? NULL : __libc_realloc(old, bytes); }
void* memalign(size_t alignment, size_t bytes) {
  return fails() ? NULL : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  void* block = memalign(alignment, bytes);
  if (block == NULL) return ENOMEM;
  *out = block;
  return 0;
}

typedef int (*main_function)(int, char**, char**);
typedef int (*start_function)(main_function, int, char**, void (*)(void), void (*)(void),
                              void (*)(void), void*);
static main_function real_main;

static long number_of(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? 0 : strtol(text, NULL, 10);
}

static int counted_main(int argc, char** argv, char** environment) {
  fails_at = number_of("MALLOC_FAULT_AT");
  lasting = number_of("MALLOC_FAULT_LASTING");
  const char* path = getenv("MALLOC_FAULT_COUNT");
  armed = 1;
  const int code = real_main(argc, argv, environment);
  armed = 0;
  if (path != NULL) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || dprintf(fd, "%ld", calls) < 0) _exit(99);
    close(fd);
  }
  return code;
}

int __libc_start_main(main_function real, int argc, char** argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void* stack_end) {
  const start_function start = (start_function)dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = real;
  return start(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
