// Bytes in, valid UTF-8 out: holds at most the 3 bytes of an unfinished character.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace unspool {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// True where all of `text` is well-formed UTF-8.
bool is_valid_utf8(std::string_view text);

/// A stream of bytes made valid, as Python's errors="replace" and Rust's from_utf8_lossy do it:
/// one U+FFFD for each maximal invalid subpart, written as soon as it is known to be invalid.
class Utf8Stream {
 public:
  /// Appends to `out` what became certain.
  void put(std::string_view bytes, std::string& out);

  /// Appends U+FFFD for an unfinished character; ready for a new stream afterwards.
  void end(std::string& out);

  /// The bytes of an unfinished character; valid until the next call.
  std::string_view held() const { return {held_.data(), held_count_}; }

 private:
  void put_slow(unsigned char byte, std::string& out);

  std::array<char, 3> held_{};
  std::uint8_t held_count_ = 0;
  std::uint8_t needed_ = 0;  // continuation bytes still to come
  // The range that the next continuation byte must be in: narrower than 80..BF after E0, ED, F0, F4.
  std::uint8_t lower_ = 0x80;
  std::uint8_t upper_ = 0xBF;
};

}  // namespace unspool
