// A format as its file describes it: the keys as written, their patterns and what these compile to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/format_facts.h"
#include "format/pattern_file.h"
#include "format/program.h"
#include "format/shape.h"
#include "text/json_value.h"

namespace unspool {

/// Immutable once made; `Format` is compiled from it.
struct FormatSource {
  JsonValue keys;  // all keys, as written
  PatternFile patterns;
  Shape shape;  // what the patterns mean
  Program program;
  FormatFacts facts;
  std::string source;                        // the file's name, for errors
  std::vector<std::uint32_t> example_lines;  // the line of each example in the file

  /// Reads a file. Throws FormatError, "source:line:column: message", if the text is not valid
  /// TOML, a key is unknown or has a value of the wrong type, or a pattern is incomplete.
  static FormatSource read(std::string_view toml, std::string_view source);
  /// Compiles keys that no file has. Throws FormatError.
  static FormatSource of(JsonValue keys);

  const std::string& name() const { return patterns.name; }
  bool has_tools() const { return !patterns.call.empty(); }
  bool has_reasoning() const { return !patterns.reasoning.empty(); }
  /// The texts of a key, as written: one, a list, or none if the file lacks the key.
  std::vector<std::string> texts(std::string_view key) const;
  /// The format with another one's reasoning in place of its own; null: without reasoning.
  FormatSource with_reasoning(const FormatSource* other) const;

  bool operator==(const FormatSource& other) const { return keys == other.keys; }
};

}  // namespace unspool
