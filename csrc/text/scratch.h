// Buffers that are reused from chunk to chunk.
#pragma once

#include <cstddef>

namespace unspool {

/// A reused buffer keeps this much; more only while a chunk needs it.
constexpr std::size_t kKeptBytes = std::size_t{1} << 14;
/// The same of a stream's own, of which a server has thousands: as much as most tokens need.
constexpr std::size_t kKeptInStream = 255;

/// Gives memory that one long chunk took back, once little of it is in use.
template <std::size_t kKept = kKeptBytes, typename... Buffers>
void shrink_scratch(Buffers&... buffers) {
  const auto shrink = []<typename Buffer>(Buffer& buffer) {
    const std::size_t bytes = buffer.capacity() * sizeof(typename Buffer::value_type);
    if (bytes > kKept && buffer.capacity() > 4 * buffer.size()) buffer.shrink_to_fit();
  };
  (shrink(buffers), ...);
}

}  // namespace unspool
