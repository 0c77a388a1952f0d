// What a format's file says: each key's patterns, as they are written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/pattern.h"
#include "text/error.h"
#include "text/json_value.h"

namespace unspool {

/// A fault in the value at a path such as "call" or "call[1]".
struct PatternError : FormatError {
  PatternError(std::string where, const std::string& what)
      : FormatError(where + ": " + what), path(std::move(where)) {}
  std::string path;
};

struct PatternFile {
  std::string name;
  std::vector<std::string> turn;       // what the prompt writes last
  std::vector<std::string> end;        // what ends an answer
  std::vector<Pattern> reasoning;      // alternatives, as all below
  std::vector<Pattern> content;        // around an answer's text
  std::vector<Pattern> calls;          // around all calls
  std::vector<Pattern> call;           // one of them
  std::vector<Pattern> parameter;      // one of a tagged call's
  std::vector<Pattern> object;         // the JSON of a call, where its keys are others
  std::vector<Pattern> string;         // how a string is quoted among bare keys
  std::vector<Pattern> header;         // what a message's header is
  std::vector<Pattern> id;             // the shape of a call's id
  std::uint64_t fingerprint = 0;       // of all keys
  std::vector<std::string> leftovers;  // alternatives without a hole: markup wherever they stand

  /// Reads the keys that say what the model writes, and skips the others. Throws PatternError: an
  /// unknown key, a pattern that cannot be read, a hole that the key does not have.
  static PatternFile read(const JsonValue& file);

  /// Messages have headers.
  bool has_messages() const;
  bool opens_message(std::string_view literal) const;
  /// A literal without the turn that it begins with.
  std::string_view without_turn(std::string_view literal) const;

 private:
  void check_use() const;
  void read_key(std::string_view key, const JsonValue& value);
  void read_alternatives(const std::string& key, const JsonValue& value);
  void read_pattern(std::string_view key, const std::string& text);
  std::vector<Pattern>& patterns_of(std::string_view key);
};

}  // namespace unspool
