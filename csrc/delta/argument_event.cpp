#include "delta/argument_event.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "text/json_escape.h"

namespace unspool {

namespace {

std::vector<const ArgumentPath*> steps_of(const ArgumentPath* path) {
  std::vector<const ArgumentPath*> steps;
  for (; path != nullptr; path = path->parent.get()) steps.push_back(path);
  std::reverse(steps.begin(), steps.end());
  return steps;
}

bool is_letter(char byte) {
  const char lower = static_cast<char>(byte | 0x20);
  return byte == '_' || (lower >= 'a' && lower <= 'z');
}

// Whether a key needs no quotes in a JSONPath.
bool is_plain(std::string_view key) {
  const auto is_plain_byte = [](char byte) {
    return is_letter(byte) || (byte >= '0' && byte <= '9');
  };
  return !key.empty() && is_letter(key[0]) && std::all_of(key.begin(), key.end(), is_plain_byte);
}

void append_quoted(std::string_view key, std::string& out) {
  // Single quotes, as RFC 9535 writes normalized paths.
  out += "['";
  std::string escaped;
  append_json_escaped(key, escaped);
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const bool is_quote = escaped[i] == '\\' && i + 1 < escaped.size() && escaped[i + 1] == '"';
    if (is_quote) continue;  // only the path's own quotes are escaped
    if (escaped[i] == '\\') {
      out += escaped[i++];
    } else if (escaped[i] == '\'') {
      out += '\\';
    }
    out += escaped[i];
  }
  out += "']";
}

}  // namespace

const char* to_string(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::object: return "object";
    case ArgumentKind::array: return "array";
    case ArgumentKind::string: return "string";
    case ArgumentKind::number: return "number";
    case ArgumentKind::boolean: return "boolean";
    case ArgumentKind::null: return "null";
  }
  return "";
}

std::string to_json_pointer(const ArgumentPath* path) {
  std::string out;
  for (const ArgumentPath* step : steps_of(path)) {
    out += '/';
    if (step->index >= 0) {
      out += std::to_string(step->index);
      continue;
    }
    for (const char byte : step->key) {
      if (byte == '~') {
        // RFC 6901: `~` is written first as `~0`, so that `~1` can mean `/`.
        out += "~0";
      } else if (byte == '/') {
        out += "~1";
      } else {
        out += byte;
      }
    }
  }
  return out;
}

std::string to_json_path(const ArgumentPath* path) {
  std::string out = "$";
  for (const ArgumentPath* step : steps_of(path)) {
    if (step->index >= 0) {
      out.append("[").append(std::to_string(step->index)).append("]");
    } else if (is_plain(step->key)) {
      out.append(".").append(step->key);
    } else {
      append_quoted(step->key, out);
    }
  }
  return out;
}

}  // namespace unspool
