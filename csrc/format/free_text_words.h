// The words that free text of a grammar must not hold, because the parser looks for them.
#pragma once

#include <string>
#include <vector>

#include "format/format_facts.h"
#include "format/shape.h"

namespace unspool {

/// Each is a marker or an equally rare part of one: text without the part is text without the
/// marker. The automaton of a grammar is small for short words with one unusual character each.
struct FreeTextWords {
  std::vector<std::string> content;
  std::vector<std::string> value;  // those of `content`, and those that count in a tagged value
};

FreeTextWords free_text_words(const Shape& shape, const FormatFacts& facts);

}  // namespace unspool
