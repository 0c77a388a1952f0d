// Writes text as the inside of a JSON string.
#pragma once

#include <string>
#include <string_view>

namespace unspool {

/// Appends `text`, valid UTF-8, escaped as the inside of a JSON string: quote, backslash and
/// U+0000 to U+001F; everything else as it is. Escapes byte by byte, so `text` may be cut anywhere.
void append_json_escaped(std::string_view text, std::string& out);

/// The same, with the quotes around it.
void append_json_string(std::string_view text, std::string& out);

}  // namespace unspool
