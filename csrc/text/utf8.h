// Turns bytes into valid UTF-8; holds at most the 3 bytes of an unfinished character.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace unspool {

class Archive;

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// Whether all of `text` is well-formed UTF-8.
bool is_valid_utf8(std::string_view text);

/// Whether the byte continues a character.
inline bool is_utf8_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// The first bytes of a text: `size` of them, and the rest of the last character.
inline std::string_view first_bytes(std::string_view text, std::size_t size) {
  while (size < text.size() && is_utf8_continuation(text[size])) ++size;
  return text.substr(0, size);
}

/// Appends a code point as UTF-8; a surrogate becomes three bytes.
void append_utf8(std::uint32_t code_point, std::string& out);

/// How many U+FFFD replace invalid bytes.
enum class Replacement : std::uint8_t {
  per_subpart,  // one per maximal subpart, as in Python's errors="replace" and Rust's
                // from_utf8_lossy
  per_byte,     // one per byte, as in SentencePiece
};

/// A stream of bytes made valid; invalid bytes are replaced as soon as they are known to be
/// invalid.
class Utf8Stream {
 public:
  explicit Utf8Stream(Replacement replacement = Replacement::per_subpart)
      : replacement_(replacement) {}

  /// Appends the text that became certain to `out`.
  void put(std::string_view bytes, std::string& out);

  /// Appends U+FFFD for an unfinished character; the object is then ready for a new stream.
  void end(std::string& out);

  /// The bytes of an unfinished character; valid until the next call.
  std::string_view held() const { return {held_.data(), held_count_}; }

  void visit(Archive& archive);

 private:
  void put_slow(unsigned char byte, std::string& out);
  void give_up(std::string& out);

  Replacement replacement_;
  std::array<char, 3> held_{};
  std::uint8_t held_count_ = 0;
  std::uint8_t needed_ = 0;  // continuation bytes still expected
  // Valid range of the next continuation byte: narrower than 80..BF after E0, ED, F0 and F4.
  std::uint8_t lower_ = 0x80;
  std::uint8_t upper_ = 0xBF;
};

}  // namespace unspool
