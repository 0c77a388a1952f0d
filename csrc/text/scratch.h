// Buffers that are reused from chunk to chunk.
#pragma once

#include <cstddef>

namespace unspool {

/// How much memory a reused buffer keeps; it keeps more only while a chunk needs it.
constexpr std::size_t kKeptBytes = std::size_t{1} << 14;
/// The limit for a stream's own buffers, of which a server has thousands: enough for most tokens.
constexpr std::size_t kKeptInStream = 255;

/// Frees memory that one long chunk needed, once little of it is in use.
template <std::size_t kKept = kKeptBytes, typename... Buffers>
void shrink_scratch(Buffers&... buffers) {
  const auto shrink = []<typename Buffer>(Buffer& buffer) {
    const std::size_t bytes = buffer.capacity() * sizeof(typename Buffer::value_type);
    // Not while much of it is in use: it would be allocated again at once.
    if (bytes > kKept && buffer.capacity() > 4 * buffer.size()) buffer.shrink_to_fit();
  };
  (shrink(buffers), ...);
}

}  // namespace unspool
