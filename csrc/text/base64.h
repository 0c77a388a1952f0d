// Writes Base64 with padding, in the alphabet with `+` and `/`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace unspool {

inline void append_base64(std::string_view bytes, std::string& out) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t three = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      three <<= 8;
      if (at + i < bytes.size()) three |= static_cast<unsigned char>(bytes[at + i]);
    }
    for (std::size_t i = 0; i < 4; ++i)
      out += at + i > bytes.size() ? '=' : letters[(three >> (18 - 6 * i)) & 63];
  }
}

}  // namespace unspool
