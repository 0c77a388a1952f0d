// The words of format files: keys, holes and their options. The reader, its errors, the JSON Schema
// for editors and the tables of the docs are all made from this one table.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "format/pattern.h"

namespace unspool {

/// A set of hole kinds.
class HoleSet {
 public:
  constexpr HoleSet(std::initializer_list<HoleKind> kinds = {}) {
    for (const HoleKind kind : kinds) bits_ |= 1U << static_cast<unsigned>(kind);
  }
  constexpr bool has(HoleKind kind) const {
    return (bits_ >> static_cast<unsigned>(kind) & 1U) != 0;
  }

 private:
  std::uint32_t bits_ = 0;
};

/// The type of a key's value.
enum class KeyType : std::uint8_t {
  text,
  texts,         // a list of texts
  alternatives,  // a list; each item is a text, or a list of texts of which one is required
  literals,      // a text without holes, or a list of such texts
  patterns,      // a pattern, or a list of alternatives
  flag,
  list,  // of anything
  detect,
  examples,
};

struct FileKey {
  std::string_view name;
  KeyType type;
  std::string_view meaning;
  HoleSet must_have_one = {};
  HoleSet may_have = {};
  bool may_be_text = false;  // an alternative without a hole is markup
};

/// Whether a key's value is text that the model writes.
constexpr bool is_patterns(const FileKey& key) {
  return key.type == KeyType::patterns || key.type == KeyType::literals;
}

struct HoleWord {
  std::string_view name;
  HoleKind kind;
  std::string_view meaning;
};

struct OptionWord {
  std::string_view name;
  std::string_view meaning;
};

std::span<const FileKey> file_keys();
std::span<const FileKey> detect_keys();
std::span<const FileKey> example_keys();
std::span<const HoleWord> hole_words();
std::span<const OptionWord> option_words();

/// A hole as a file writes it.
std::string_view name_of(HoleKind kind);

/// The key with this name, or null.
const FileKey* find_key(std::span<const FileKey> keys, std::string_view name);

/// The names of words, for an error message: "a, b, c".
template <typename Word>
std::string listed(std::span<const Word> words) {
  std::string names;
  for (const Word& word : words) names.append(names.empty() ? "" : ", ").append(word.name);
  return names;
}

/// All words as JSON, for the docs and the JSON Schema.
std::string file_words_json();

}  // namespace unspool
