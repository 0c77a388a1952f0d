// Counts the program's allocations and the bytes that it holds. Include it in the one file of a
// test.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace unspool::test {

inline std::atomic<std::size_t> allocations = 0;
inline std::atomic<std::size_t> held_bytes = 0;

/// Before each block: its size, in as many bytes as keep the block aligned.
constexpr std::size_t kHeader = alignof(std::max_align_t);

inline void release(void* memory) noexcept {
  if (!memory) return;
  char* const block = static_cast<char*>(memory) - kHeader;
  held_bytes -= *reinterpret_cast<std::size_t*>(block);
  std::free(block);
}

}  // namespace unspool::test

void* operator new(std::size_t size) {
  using namespace unspool::test;
  auto* const block = static_cast<char*>(std::malloc(size + kHeader));
  if (!block) throw std::bad_alloc();
  ++allocations;
  held_bytes += size;
  *reinterpret_cast<std::size_t*>(block) = size;
  return block + kHeader;
}
void operator delete(void* memory) noexcept { unspool::test::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { unspool::test::release(memory); }
