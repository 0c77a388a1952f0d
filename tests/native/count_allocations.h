// Counts the program's allocations. Include it in the one file of a test.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace unspool::test {

inline std::atomic<std::size_t> allocations = 0;

}  // namespace unspool::test

void* operator new(std::size_t size) {
  ++unspool::test::allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
