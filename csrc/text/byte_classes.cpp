#include "text/byte_classes.h"

#include <array>
#include <cstddef>

#include "text/white_space.h"

namespace unspool {

namespace {

constexpr std::array<ByteClasses, 256> kClassOf = [] {
  std::array<ByteClasses, 256> table{};
  for (std::size_t byte = 0; byte < 256; ++byte) table[byte] = class_of(static_cast<char>(byte));
  return table;
}();

// Whether text that begins inside a JSON string also ends there, with no escape open. `\u` has
// states of its own and is left out.
bool is_json_piece(std::string_view text) {
  bool is_escape = false;
  for (const char byte : text) {
    if (is_escape) {
      if (std::string_view("\"\\/bfnrt").find(byte) == std::string_view::npos) return false;
      is_escape = false;
    } else if (byte == '\\') {
      is_escape = true;
    } else if (byte == '"' || static_cast<unsigned char>(byte) < 0x20) {
      return false;
    }
  }
  return !is_escape;
}

bool has_wide_break(std::string_view text) {
  for (const std::string_view character : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"}) {
    if (text.find(character) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

ByteClasses classes_of(std::string_view text) {
  if (text.empty()) return kUnplain;
  ByteClasses classes = 0;
  for (const char byte : text) classes |= kClassOf[static_cast<unsigned char>(byte)];
  const std::string_view space = text.substr(text.find_last_not_of(kSpace) + 1);
  if (!space.empty()) classes |= kEndsInSpace;
  if (space.find_first_of("\r\n") != std::string_view::npos) classes |= kEndsInOpenLine;
  if (text.back() == '\n') classes |= kEndsInLineBreak;
  if (!is_json_piece(text)) classes |= kCutsJson;
  if ((classes & kAnyWide) != 0 && has_wide_break(text)) classes |= kWideBreak;
  return classes;
}

}  // namespace unspool
