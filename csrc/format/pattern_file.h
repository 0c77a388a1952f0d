// A format's file in the notation: each key's patterns, as they are written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/pattern.h"
#include "text/json_value.h"

namespace unspool {

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
  std::vector<std::string> leftovers;  // alternatives without a hole: markup wherever they stand

  /// Throws FormatError with the key's name: an unknown key, a value that is no text, a pattern
  /// that cannot be read, a hole that the key does not have.
  static PatternFile read(const JsonValue& file);

 private:
  void read_key(std::string_view key, const std::vector<std::string>& values);
};

}  // namespace unspool
