#include "text/json_escape.h"

#include <array>
#include <cstdint>
#include <cstring>

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

// The first bytes of the three line breaks above U+007F stop the scan too.
constexpr std::array<bool, 256> kMayBreakLine = [] {
  std::array<bool, 256> table = kNeedsEscape;
  table[0xC2] = table[0xE2] = true;
  return table;
}();

// The line break that begins here, as JSON; empty where another character does.
std::string_view escaped_line_break(std::string_view text) {
  if (text.starts_with("\xC2\x85")) return "\\u0085";
  if (text.starts_with("\xE2\x80\xA8")) return "\\u2028";
  if (text.starts_with("\xE2\x80\xA9")) return "\\u2029";
  return {};
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

namespace {

/// Whether a byte of these eight means something inside a JSON string, or is above U+007F.
bool may_escape(std::uint64_t word) { return ((json_special_bits(word) | word) & kHighBits) != 0; }

// Where the text has a byte that may have to be escaped, at the earliest.
std::size_t skip_plain(std::string_view text) {
  std::size_t at = 0;
  std::uint64_t word = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::memcpy(&word, text.data() + at, 8);
    if (may_escape(word)) return at;
  }
  if (at == text.size() || text.size() < 8) return at;
  std::memcpy(&word, text.data() + text.size() - 8, 8);  // with bytes that were seen
  return may_escape(word) ? at : text.size();
}

}  // namespace

void append_json_line_escaped(std::string_view text, std::string& out) {
  std::size_t run = 0;
  for (std::size_t i = skip_plain(text); i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (!kMayBreakLine[byte]) continue;
    if (byte < 0x80) {
      out.append(text, run, i - run);
      append_escape(byte, out);
      run = i + 1;
      continue;
    }
    const std::string_view escaped = escaped_line_break(text.substr(i));
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
