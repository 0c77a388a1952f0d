// Buffers that are reused from chunk to chunk.
#pragma once

#include <cstddef>

namespace unspool {

/// A reused buffer keeps this much; more only while a chunk needs it.
constexpr std::size_t kKeptBytes = std::size_t{1} << 14;

/// Gives memory that one long chunk took back, once little of it is in use.
template <typename Buffer>
void shrink_scratch(Buffer& buffer) {
  constexpr std::size_t kItemBytes = sizeof(typename Buffer::value_type);
  if (buffer.capacity() * kItemBytes > kKeptBytes && buffer.size() * kItemBytes <= kKeptBytes)
    buffer.shrink_to_fit();
}

}  // namespace unspool
