// TOML as a tree of JSON values, with the position of each value.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "text/json_value.h"

namespace unspool {

struct TomlDocument {
  struct Place {
    std::uint32_t line = 1;
    std::uint32_t column = 1;
  };

  JsonValue value;  // tables keep the order of their keys
  /// The position of each value by its path: "call", "call[1]", "detect.names[0]". For a table's
  /// member it is the position of the key's value.
  std::map<std::string, Place, std::less<>> places;

  /// Throws FormatError, "source:line:column: message", if the text is not valid TOML, contains a
  /// date, or is longer than 1 MiB.
  static TomlDocument read(std::string_view text, std::string_view source);
};

}  // namespace unspool
