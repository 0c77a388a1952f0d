// The patterns of a format file, key by key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/pattern.h"
#include "text/error.h"
#include "text/json_value.h"

namespace unspool {

/// An error in the value at a path such as "call" or "call[1]".
struct PatternError : FormatError {
  PatternError(std::string where, const std::string& what)
      : FormatError(where + ": " + what), path(std::move(where)) {}
  std::string path;
};

struct PatternFile {
  std::string name;
  std::vector<std::string> turn;       // the last text of the prompt
  std::vector<std::string> end;        // the markers that end an answer
  std::vector<Pattern> reasoning;      // alternatives, like all members below
  std::vector<Pattern> content;        // the markup around an answer's text
  std::vector<Pattern> calls;          // the markup around all calls
  std::vector<Pattern> call;           // one call
  std::vector<Pattern> parameter;      // one parameter of a tagged call
  std::vector<Pattern> object;         // the JSON of a call with other keys
  std::vector<Pattern> string;         // how a string is quoted among bare keys
  std::vector<Pattern> header;         // the header of a message
  std::vector<Pattern> id;             // the shape of a call's id
  std::uint64_t fingerprint = 0;       // of the name and all patterns
  bool call_ends_reasoning = false;    // an alternative of the reasoning has no closer
  std::vector<std::string> leftovers;  // alternatives without a hole: markup wherever they occur

  /// Reads the keys that describe the model's output, and skips the others. Throws PatternError for
  /// an unknown key, an invalid pattern, or a hole that the key does not allow.
  static PatternFile read(const JsonValue& file);

  /// Whether messages have headers.
  bool has_messages() const;
  bool opens_message(std::string_view literal) const;
  /// Whether a header opens in the literal and does not close in it, so that what follows is in
  /// the header.
  bool ends_in_header(std::string_view literal) const;
  /// The literal without the turn at its beginning.
  std::string_view without_turn(std::string_view literal) const;

 private:
  void check_use() const;
  void read_key(std::string_view key, const JsonValue& value);
  void read_alternatives(const std::string& key, const JsonValue& value);
  void read_pattern(std::string_view key, const std::string& text);
  std::vector<Pattern>& patterns_of(std::string_view key);
};

}  // namespace unspool
