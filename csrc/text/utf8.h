// Bytes in, valid UTF-8 out: holds at most the 3 bytes of an unfinished character.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace unspool {

class Archive;

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// True where all of `text` is well-formed UTF-8.
bool is_valid_utf8(std::string_view text);

/// Whether the byte is part of a character and not its first.
inline bool is_utf8_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// Appends the UTF-8 of a code point; a surrogate becomes three bytes.
void append_utf8(std::uint32_t code_point, std::string& out);

/// How many U+FFFD stand for bytes that are no character.
enum class Replacement : std::uint8_t {
  per_subpart,  // one for each maximal subpart, as Python's errors="replace" and Rust's lossy do
  per_byte,     // one for each byte, as SentencePiece does
};

/// A stream of bytes made valid; what is invalid is replaced as soon as that is known.
class Utf8Stream {
 public:
  explicit Utf8Stream(Replacement replacement = Replacement::per_subpart)
      : replacement_(replacement) {}

  /// Appends to `out` what became certain.
  void put(std::string_view bytes, std::string& out);

  /// Appends U+FFFD for an unfinished character; ready for a new stream afterwards.
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
  std::uint8_t needed_ = 0;  // continuation bytes still to come
  // The range that the next continuation byte must be in: narrower than 80..BF after E0, ED, F0,
  // F4.
  std::uint8_t lower_ = 0x80;
  std::uint8_t upper_ = 0xBF;
};

}  // namespace unspool
