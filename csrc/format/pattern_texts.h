// Helpers for the literal texts of patterns.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/markers.h"
#include "text/white_space.h"

namespace unspool {

using Texts = std::vector<std::string>;

inline constexpr std::size_t npos = std::string_view::npos;

template <typename List, typename Test>
bool has_any(const List& list, Test&& test) {
  return std::any_of(std::begin(list), std::end(list), test);
}

/// Removes an opening or closing quote around a name from a literal.
inline std::string_view without_quote_at_end(std::string_view text) {
  const bool has = !text.empty() && (text.back() == '"' || text.back() == '\'');
  return has ? text.substr(0, text.size() - 1) : text;
}
inline std::string_view without_quote(std::string_view text) {
  const bool has = !text.empty() && (text[0] == '"' || text[0] == '\'');
  return has ? text.substr(1) : text;
}

/// The literal without a list bracket at its edge.
inline std::string_view without_bracket(std::string_view literal) {
  const std::string_view text = trim(literal);
  if (text.starts_with(']')) return text.substr(1);
  return text.ends_with('[') ? literal.substr(0, literal.rfind('[')) : literal;
}

/// The tags of a text; if `with_text`, each with the text before it.
inline Texts tags_in(std::string_view text, bool with_text = false) {
  Texts tags;
  for (std::size_t begin = 0;;) {
    const std::size_t open = text.find('<', begin);
    const std::size_t end = text.find('>', open);
    if (end == std::string_view::npos) return tags;
    if (!with_text) begin = open;
    tags.emplace_back(text.substr(begin, end + 1 - begin));
    begin = end + 1;
  }
}

/// The text before `${name}` in a header, in three parts.
struct Recipient {
  std::string_view before;  // other words
  std::string_view word;    // the word that ends with "="; empty if there is none
  std::string_view prefix;  // of the name
};
inline Recipient split_recipient(std::string_view literal) {
  const std::size_t equals = literal.rfind('=');
  if (equals == std::string_view::npos) return {literal, {}, {}};
  const std::size_t begin = literal.find_last_of(" \n", equals) + 1;
  return {literal.substr(0, begin), literal.substr(begin, equals + 1 - begin),
          literal.substr(equals + 1)};
}

}  // namespace unspool
