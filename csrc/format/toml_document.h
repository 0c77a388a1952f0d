// TOML as a tree of JSON values that knows where each value stands.
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

  JsonValue value;  // tables keep the order in which their keys stand
  /// Where a value stands, by its path: "call", "call[1]", "detect.names[0]". A table's key is the
  /// place of its value.
  std::map<std::string, Place, std::less<>> places;

  /// Throws FormatError, "source:line:column: what": the text is no TOML, or holds a date, or is
  /// longer than 1 MiB.
  static TomlDocument read(std::string_view text, std::string_view source);
};

}  // namespace unspool
