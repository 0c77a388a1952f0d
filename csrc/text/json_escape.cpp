#include "text/json_escape.h"

#include <array>

namespace unspool {

namespace {

constexpr std::array<bool, 256> kNeedsEscape = [] {
  std::array<bool, 256> table{};
  for (int byte = 0; byte < 0x20; ++byte) table[static_cast<std::size_t>(byte)] = true;
  table['"'] = table['\\'] = true;
  return table;
}();
static_assert(kNeedsEscape['\n'] && kNeedsEscape['"'] && !kNeedsEscape['/'] && !kNeedsEscape[0xC3]);

void append_escape(unsigned char byte, std::string& out) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (byte) {
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

}  // namespace

void append_json_escaped(std::string_view text, std::string& out) {
  std::size_t run = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (!kNeedsEscape[byte]) continue;
    out.append(text, run, i - run);
    append_escape(byte, out);
    run = i + 1;
  }
  out.append(text, run, text.size() - run);
}

void append_json_string(std::string_view text, std::string& out) {
  out += '"';
  append_json_escaped(text, out);
  out += '"';
}

}  // namespace unspool
