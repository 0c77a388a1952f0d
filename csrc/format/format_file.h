// A format's file: TOML that says what a model writes, with holes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "format/program.h"
#include "text/json_value.h"

namespace unspool {

struct FormatFile {
  JsonValue value;  // all keys, as they are written
  Program program;
  std::vector<std::uint32_t> example_lines;

  /// Throws FormatError, "source:line:column: what": the text is no TOML, a key is unknown or has a
  /// value of another type, a pattern does not say enough.
  static FormatFile read(std::string_view toml, std::string_view source);
};

}  // namespace unspool
