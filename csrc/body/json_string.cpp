#include "body/json_string.h"

#include "text/hex.h"
#include "text/utf8.h"

namespace unspool {

void append_unicode_escape(std::uint32_t unit, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(unit >> shift) & 0xF];
}

// A high surrogate without a low one.
void JsonStringDecoder::put_high() {
  if (high_ != 0) append_unicode_escape(high_, buffer_);
  high_ = 0;
}

// Returns what the current byte has completed.
JsonStringDecoder::Piece JsonStringDecoder::decoded() {
  state_ = State::plain;
  return {1, buffer_, false, false};
}

JsonStringDecoder::Piece JsonStringDecoder::next(std::string_view text) {
  buffer_.clear();
  if (text.empty()) return {};
  const char byte = text[0];
  if (state_ == State::escape) return next_escape(byte);
  if (state_ == State::hex) return next_hex(byte);
  if (byte == '\\') {
    state_ = State::escape;
    return {1, {}, false, false};
  }
  // The low half did not follow. Its escape comes out first; the text is read at the next call.
  if (high_ != 0) {
    put_high();
    return {0, buffer_, false, false};
  }
  if (byte == '"') return {1, {}, true, false};
  std::size_t run = 1;
  // A run is a view of the text: a long string is not copied.
  while (run < text.size() && text[run] != '"' && text[run] != '\\') ++run;
  const bool is_end = run < text.size() && text[run] == '"';
  return {run + (is_end ? 1 : 0), text.substr(0, run), is_end, false};
}

JsonStringDecoder::Piece JsonStringDecoder::next_escape(char byte) {
  if (byte == 'u') {
    state_ = State::hex;
    count_ = 0;
    value_ = 0;
    return {1, {}, false, false};
  }
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const std::size_t index = kLetters.find(byte);
  if (index == std::string_view::npos) return {0, {}, false, true};
  put_high();
  buffer_ += kMeanings[index];
  return decoded();
}

JsonStringDecoder::Piece JsonStringDecoder::next_hex(char byte) {
  const int digit = hex_value(byte);
  if (digit < 0) return {0, {}, false, true};
  value_ = static_cast<std::uint16_t>(value_ << 4 | digit);
  if (++count_ < 4) return {1, {}, false, false};
  const bool is_high = value_ >= 0xD800 && value_ <= 0xDBFF;
  const bool is_low = value_ >= 0xDC00 && value_ <= 0xDFFF;
  // Two units make one character beyond U+FFFF: `\ud83d\ude00`.
  if (high_ != 0 && is_low) {
    append_utf8(0x10000U + ((high_ - 0xD800U) << 10) + (value_ - 0xDC00U), buffer_);
    high_ = 0;
    return decoded();
  }
  put_high();
  if (is_high) {
    high_ = value_;
  } else if (is_low) {
    append_unicode_escape(value_, buffer_);
  } else {
    append_utf8(value_, buffer_);
  }
  return decoded();
}

}  // namespace unspool
