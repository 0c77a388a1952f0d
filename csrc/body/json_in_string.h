// JSON that stands inside a JSON string: "{\"city\": \"Paris\"}", decoded and scanned as it
// arrives.
#pragma once

#include <string>
#include <string_view>

#include "body/json_string.h"
#include "body/value_reader.h"

namespace unspool {

/// Starts after the opening quote. White space may stand around the object, and nothing at all
/// means {}.
class JsonInString {
 public:
  struct Result {
    std::size_t consumed = 0;  // on a fault: the bytes before the one that cannot be
    bool is_end = false;       // the closing quote was read
    const char* problem = "";
  };

  /// Appends the object's text to `out`.
  Result put(std::string_view text, std::string& out);

  void reset() { *this = JsonInString(); }

 private:
  std::size_t read(std::string_view text, std::string& out);

  JsonStringDecoder decoder_;
  ValueReader reader_;
};

}  // namespace unspool
