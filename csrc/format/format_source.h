// A format file: TOML that shows what a model writes, with holes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "format/program.h"
#include "text/json_value.h"

namespace unspool {

struct FormatFile {
  JsonValue value;  // all keys, as written
  Program program;
  std::vector<std::uint32_t> example_lines;

  /// Throws FormatError, "source:line:column: message", if the text is not valid TOML, a key is
  /// unknown or has a value of the wrong type, or a pattern is incomplete.
  static FormatFile read(std::string_view toml, std::string_view source);
};

}  // namespace unspool
