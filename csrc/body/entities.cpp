#include "body/entities.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "text/utf8.h"

namespace unspool {

namespace {

constexpr std::size_t kMaxReference = 10;  // &#x10FFFF;

bool may_go_on(std::string_view held, char byte) {
  const bool is_word =
      (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
  // `a & b` and `x&y=1` are text: the reference must be one to its end, or it is given up.
  return held.size() < kMaxReference && (is_word || (byte == '#' && held.size() == 1));
}

// The text of `reference` (without & and ;); empty if it is not a reference.
std::string decode(std::string_view reference) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNames{
      {{"lt", "<"}, {"gt", ">"}, {"amp", "&"}, {"quot", "\""}, {"apos", "'"}}};
  for (const auto& [name, text] : kNames) {
    if (reference == name) return std::string(text);
  }
  if (!reference.starts_with('#')) return {};
  reference.remove_prefix(1);
  const bool is_hex = reference.starts_with('x') || reference.starts_with('X');
  if (is_hex) reference.remove_prefix(1);
  std::uint32_t code = 0;
  const char* end = reference.data() + reference.size();
  const auto result = std::from_chars(reference.data(), end, code, is_hex ? 16 : 10);
  // UTF-8 cannot encode these.
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  if (result.ptr != end || reference.empty() || code == 0 || code > 0x10FFFF || is_surrogate) {
    return {};
  }
  std::string text;
  append_utf8(code, text);
  return text;
}

}  // namespace

void EntityDecoder::put(std::string_view text, std::string& out) {
  if (is_off_) {
    out += text;
    return;
  }
  for (const char byte : text) {
    if (held_.empty()) {
      (byte == '&' ? held_ : out) += byte;
      continue;
    }
    if (byte == ';') {
      const std::string decoded = decode(std::string_view(held_).substr(1));
      // An unknown name, such as `&nbsp;`, stays as it is.
      out += decoded.empty() ? held_ + ';' : decoded;
      held_.clear();
    } else if (may_go_on(held_, byte)) {
      held_ += byte;
    } else {
      out += held_;
      held_.clear();
      (byte == '&' ? held_ : out) += byte;
    }
  }
}

std::string without_entities(std::string_view text) {
  EntityDecoder decoder;
  std::string out;
  decoder.put(text, out);
  return out.append(decoder.held());
}

}  // namespace unspool
