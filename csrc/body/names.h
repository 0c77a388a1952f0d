// Names and keys in markup and in objects.
#pragma once

#include <string>
#include <string_view>

#include "text/json_escape.h"

namespace unspool {

/// Maximum length of names and keys; bounds the memory of a stream.
inline constexpr std::size_t kMaxNameBytes = 1024;

/// Whether a name in Python may begin or go on with this byte.
inline bool begins_name(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
         static_cast<unsigned char>(byte) >= 0x80;
}
inline bool continues_name(char byte) { return begins_name(byte) || (byte >= '0' && byte <= '9'); }

/// The name without surrounding quotes; `after` receives the text after the closing quote.
inline std::string_view unquote(std::string_view text, std::string_view& after) {
  after = {};
  if (text.size() < 2 || (text[0] != '"' && text[0] != '\'')) return text;
  const std::size_t end = text.find(text[0], 1);
  // Half a quoted text stays as it is: the quote may belong to the name.
  if (end == std::string_view::npos) return text;
  after = text.substr(end + 1);
  return text.substr(1, end - 1);
}

/// What may stand between two calls of a list, behind a faulty one.
inline constexpr std::string_view kBetweenCalls = " \t\r\n,;)]}";

/// Begins an object member: the brace or comma, the key, the colon.
inline void begin_member(std::string_view key, bool is_first, std::string& out) {
  out += is_first ? "{" : ", ";
  append_json_string(key, out);
  out += ": ";
}

}  // namespace unspool
