// A name as markup writes it: bare, or in quotes with attributes behind.
#pragma once

#include <string_view>

namespace unspool {

/// The name without the quotes around it; `behind` is what follows the closing quote.
inline std::string_view unquote(std::string_view text, std::string_view& behind) {
  behind = {};
  if (text.size() < 2 || (text[0] != '"' && text[0] != '\'')) return text;
  const std::size_t end = text.find(text[0], 1);
  if (end == std::string_view::npos) return text;
  behind = text.substr(end + 1);
  return text.substr(1, end - 1);
}

}  // namespace unspool
