// Counts the calls that allocate memory (malloc, calloc, realloc, memalign), for counts.py.
#define _GNU_SOURCE
#include <stddef.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static unsigned long count;

unsigned long unspool_bench_allocations(void) { return __atomic_load_n(&count, __ATOMIC_RELAXED); }

static void add(void) { __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED); }

void* malloc(size_t size) {
  add();
  return __libc_malloc(size);
}

void* calloc(size_t number, size_t size) {
  add();
  return __libc_calloc(number, size);
}

void* realloc(void* memory, size_t size) {
  add();
  return __libc_realloc(memory, size);
}

void* memalign(size_t alignment, size_t size) {
  add();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  add();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** memory, size_t alignment, size_t size) {
  add();
  *memory = __libc_memalign(alignment, size);
  return *memory == NULL ? 12 : 0;
}
