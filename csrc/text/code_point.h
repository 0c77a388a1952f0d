// Code points one at a time, and the character classes of patterns, as of Unicode 16.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace unspool {

/// The first code point of `text` (valid UTF-8, not empty), and its length in bytes.
struct CodePoint {
  char32_t value;
  std::size_t size;
};

inline CodePoint first_code_point(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < size) return {0xFFFD, text.size()};
  char32_t value = lead & (0x3F >> (size - 1));
  for (std::size_t i = 1; i < size; ++i) value = (value << 6) | (at(i) & 0x3F);
  return {value, size};
}

/// The last code point of `text`; U+0000 if it is empty.
CodePoint last_code_point(std::string_view text);

/// The classes `\w`, `\d` and `\s`.
bool is_word(char32_t value);
bool is_digit(char32_t value);
bool is_pattern_space(char32_t value);

/// Characters that Python's `str.strip` removes.
bool is_strip_space(char32_t value);

/// `text` without white space at its ends, as with Python's `str.strip`.
std::string_view strip(std::string_view text);

/// The number of bytes of white space at the beginning or end of `text`.
std::size_t leading_space(std::string_view text);
std::size_t trailing_space(std::string_view text);

}  // namespace unspool
