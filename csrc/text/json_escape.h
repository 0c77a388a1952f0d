// Writes text as the inside of a JSON string.
#pragma once

#include <string>
#include <string_view>

namespace unspool {

/// Appends `text` (valid UTF-8), escaped for a JSON string: quote, backslash and U+0000 to U+001F.
/// Other characters are unchanged. Works byte by byte, so `text` may be split anywhere.
void append_json_escaped(std::string_view text, std::string& out);

/// The same, with the quotes around it.
void append_json_string(std::string_view text, std::string& out);

/// `append_json_escaped` for line-based wire formats. Also escapes U+0085, U+2028 and U+2029, where
/// many clients' line readers split (Python's splitlines does). `text` must consist of whole
/// characters.
void append_json_line_escaped(std::string_view text, std::string& out);

/// The same, with the quotes around it.
void append_json_line_string(std::string_view text, std::string& out);

/// Escapes those three characters in JSON text that is already one line.
void append_json_as_line(std::string_view json, std::string& out);

}  // namespace unspool
