// A word in a text.
#pragma once

#include <cstddef>
#include <string_view>

namespace unspool {

/// Whether `text` contains `word` as a whole word. `is_edge`: whether a byte may stand beside it.
template <typename IsEdge>
bool has_word(std::string_view text, std::string_view word, IsEdge&& is_edge) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || is_edge(text[at - 1])) && (end == text.size() || is_edge(text[end])))
      return true;
  }
  return false;
}

}  // namespace unspool
