#include "text/json_escape.h"

#include <array>

#include "text/find_byte.h"

namespace unspool {

namespace {

void append_escape(unsigned char byte, std::string& out) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (byte) {
    // The short escapes, as Python's `json` writes them.
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    default: break;
  }
  out += "\\u00";
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

// The scan also stops at the first bytes of the three line breaks above U+007F.
constexpr std::array<bool, 256> kMayBreakLine = [] {
  std::array<bool, 256> table{};
  for (std::size_t byte = 0; byte < 0x20; ++byte) table[byte] = true;
  table['"'] = table['\\'] = table[0xC2] = table[0xE2] = true;
  return table;
}();

constexpr auto kMayHaveToBeEscaped = [](const auto& block) {
  return kJsonSpecial(block) | kAboveAscii(block);
};

// The JSON escape of a line break at the start of `text`; empty for other characters.
std::string_view escaped_line_break(std::string_view text) {
  if (text.starts_with("\xC2\x85")) return "\\u0085";
  if (text.starts_with("\xE2\x80\xA8")) return "\\u2028";
  if (text.starts_with("\xE2\x80\xA9")) return "\\u2029";
  return {};
}

}  // namespace

void append_json_escaped(std::string_view text, std::string& out) {
  std::size_t run = 0;
  // Runs are appended as a whole; a byte by itself is rare.
  for (std::size_t i = find_json_special(text, 0); i < text.size();
       i = find_json_special(text, run)) {
    out.append(text, run, i - run);
    append_escape(static_cast<unsigned char>(text[i]), out);
    run = i + 1;
  }
  out.append(text, run, text.size() - run);
}

void append_json_string(std::string_view text, std::string& out) {
  out += '"';
  append_json_escaped(text, out);
  out += '"';
}

void append_json_line_escaped(std::string_view text, std::string& out) {
  std::size_t run = 0;
  // Most tokens are too short for blocks to pay off.
  std::size_t i = text.size() < 8 ? 0 : find_byte(text, 0, kMayHaveToBeEscaped);
  for (; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (!kMayBreakLine[byte]) continue;
    if (byte < 0x80) {
      out.append(text, run, i - run);
      append_escape(byte, out);
      run = i + 1;
      continue;
    }
    const std::string_view escaped = escaped_line_break(text.substr(i));
    // Another character with the same first byte.
    if (escaped.empty()) continue;
    out.append(text, run, i - run).append(escaped);
    i += byte == 0xC2 ? 1 : 2;
    run = i + 1;
  }
  out.append(text, run, text.size() - run);
}

void append_json_as_line(std::string_view json, std::string& out) {
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view escaped = escaped_line_break(json.substr(i));
    if (escaped.empty()) {
      out += json[i];
    } else {
      out += escaped;
      i += json[i] == '\xC2' ? 1 : 2;
    }
  }
}

void append_json_line_string(std::string_view text, std::string& out) {
  out += '"';
  append_json_line_escaped(text, out);
  out += '"';
}

}  // namespace unspool
