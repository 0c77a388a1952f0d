#include "body/json_string.h"

#include "text/hex.h"
#include "text/utf8.h"

namespace unspool {

void JsonStringDecoder::append_lone(std::uint16_t surrogate) {
  constexpr char kHex[] = "0123456789abcdef";
  buffer_[size_++] = '\\';
  buffer_[size_++] = 'u';
  for (int shift = 12; shift >= 0; shift -= 4) buffer_[size_++] = kHex[(surrogate >> shift) & 15];
}

void JsonStringDecoder::append_code_point(std::uint32_t code_point) {
  std::string text;
  append_utf8(code_point, text);
  for (const char byte : text) buffer_[size_++] = byte;
}

JsonStringDecoder::Piece JsonStringDecoder::next(std::string_view text) {
  size_ = 0;
  if (text.empty()) return {};
  const char byte = text[0];
  if (state_ == State::escape) return next_escape(byte);
  if (state_ == State::hex) return next_hex(byte);
  if (byte == '\\') {
    state_ = State::escape;
    return {1, {}, false, false};
  }
  if (high_ != 0) {  // no low surrogate follows
    append_lone(high_);
    high_ = 0;
    return {0, decoded(), false, false};
  }
  if (byte == '"') return {1, {}, true, false};
  std::size_t run = 1;
  while (run < text.size() && text[run] != '"' && text[run] != '\\') ++run;
  return {run, text.substr(0, run), false, false};
}

JsonStringDecoder::Piece JsonStringDecoder::next_escape(char byte) {
  if (byte == 'u') {
    state_ = State::hex;
    count_ = 0;
    value_ = 0;
    return {1, {}, false, false};
  }
  char plain = 0;
  switch (byte) {
    case '"':
    case '\\':
    case '/': plain = byte; break;
    case 'b': plain = '\b'; break;
    case 'f': plain = '\f'; break;
    case 'n': plain = '\n'; break;
    case 'r': plain = '\r'; break;
    case 't': plain = '\t'; break;
    default: return {0, {}, false, true};
  }
  if (high_ != 0) append_lone(high_);
  high_ = 0;
  buffer_[size_++] = plain;
  state_ = State::plain;
  return {1, decoded(), false, false};
}

JsonStringDecoder::Piece JsonStringDecoder::next_hex(char byte) {
  const int digit = hex_value(byte);
  if (digit < 0) return {0, {}, false, true};
  value_ = static_cast<std::uint16_t>(value_ << 4 | digit);
  if (++count_ < 4) return {1, {}, false, false};
  state_ = State::plain;
  const bool is_high = value_ >= 0xD800 && value_ <= 0xDBFF;
  const bool is_low = value_ >= 0xDC00 && value_ <= 0xDFFF;
  if (high_ != 0 && is_low) {
    append_code_point(0x10000U + ((high_ - 0xD800U) << 10) + (value_ - 0xDC00U));
    high_ = 0;
    return {1, decoded(), false, false};
  }
  if (high_ != 0) append_lone(high_);
  high_ = 0;
  if (is_high) {
    high_ = value_;
  } else if (is_low) {
    append_lone(value_);
  } else {
    append_code_point(value_);
  }
  return {1, decoded(), false, false};
}

}  // namespace unspool
