// A compiled vocabulary as bytes: what `unspool export-vocabulary` writes, for hosts without
// Python.
//
// Little endian; a text is its length (u32) and its bytes.
//   "unspoolV", version u32, flags u32, strip: text, u32 at the start, u32 at the end
//   count u32 of ids, for each: u8 flags, its text; then, where the flags say so, the text that it
//     has as the first token, and as the last
//   count u32 of added tokens, for each: id u32, u8 is special, content, what the decoder is given
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "vocabulary/vocabulary.h"

namespace unspool {

void write_vocabulary(const Vocabulary& vocabulary, std::string& out);

/// Throws VocabularyError: the bytes are no vocabulary, of another version, cut off or damaged.
/// Takes memory in proportion to them.
std::shared_ptr<const Vocabulary> read_vocabulary(std::string_view bytes);

}  // namespace unspool
