// Writes text as the inside of a JSON string.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace unspool {

/// The highest bit of each of eight bytes.
inline constexpr std::uint64_t kHighBits = 0x8080808080808080;

/// Of eight bytes, the highest bit of some is set if one of them is a quote, a backslash or
/// a control character; the other bits mean nothing.
inline std::uint64_t json_special_bits(std::uint64_t word) {
  constexpr std::uint64_t kEach = 0x0101010101010101;
  const std::uint64_t quote = word ^ (kEach * '"');
  const std::uint64_t slash = word ^ (kEach * '\\');
  // A byte's highest bit is set where the byte is below what is taken from it.
  const std::uint64_t low = (word - kEach * 0x20) & ~word;
  const std::uint64_t same = ((quote - kEach) & ~quote) | ((slash - kEach) & ~slash);
  return low | same;
}

/// The place of the first byte from `at` on that means something inside a JSON string: a quote, a
/// backslash or a control character; the text's size where none is left.
inline std::size_t find_json_special(std::string_view text, std::size_t at) {
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    if ((json_special_bits(word) & kHighBits) != 0) break;
  }
  while (at < text.size()) {
    const char byte = text[at];
    if (byte == '"' || byte == '\\' || static_cast<unsigned char>(byte) < 0x20) break;
    ++at;
  }
  return at;
}

/// Appends `text`, valid UTF-8, escaped as the inside of a JSON string: quote, backslash and
/// U+0000 to U+001F; everything else as it is. Escapes byte by byte, so `text` may be cut anywhere.
void append_json_escaped(std::string_view text, std::string& out);

/// The same, with the quotes around it.
void append_json_string(std::string_view text, std::string& out);

/// `append_json_escaped` for what goes over a wire in lines: also U+0085, U+2028 and U+2029, at
/// which many clients' line readers break (Python's splitlines does). `text` is whole characters.
void append_json_line_escaped(std::string_view text, std::string& out);

/// The same, with the quotes around it.
void append_json_line_string(std::string_view text, std::string& out);

/// JSON text that is one line already, with those three characters escaped too.
void append_json_as_line(std::string_view json, std::string& out);

}  // namespace unspool
