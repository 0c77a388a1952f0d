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

/// `append_json_escaped` for what goes over a wire in lines: also U+0085, U+2028 and U+2029, at
/// which many clients' line readers break (Python's splitlines does). `text` is whole characters.
void append_json_line_escaped(std::string_view text, std::string& out);

/// The same, with the quotes around it.
void append_json_line_string(std::string_view text, std::string& out);

/// JSON text that is one line already, with those three characters escaped too.
void append_json_as_line(std::string_view json, std::string& out);

}  // namespace unspool
