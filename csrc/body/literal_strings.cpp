// Strings of almost-JSON: quotes, Python's prefixes and triple quotes, escapes.
#include "body/literal_scanner.h"
#include "text/hex.h"
#include "text/json_escape.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// More white space behind a quote is the string's: it bounds what is held.
constexpr std::size_t kMaxSpaceBytes = 1024;

void append_escaped_utf8(std::uint32_t code_point, std::string& out) {
  std::string text;
  append_utf8(code_point, text);
  append_json_escaped(text, out);
}

void append_unicode_escape(std::uint32_t unit, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(unit >> shift) & 0xF];
}

}  // namespace

void LiteralScanner::begin_string(char quote, std::string& out) {
  if (quote == '\'' && (style_ == LiteralStyle::json || mends_)) repairs_ |= kSingleQuotes;
  begin_element(out);
  quote_ = quote;
  is_triple_ = false;
  count_ = 1;
  to(out) += '"';
  const bool is_raw = is_raw_;
  is_raw_ = false;
  if (state_ == State::word) is_raw_ = is_raw;
  state_ = style_ == LiteralStyle::python ? State::quote_open : State::string;
}

// Inside a string, at its quotes or in its text.
LiteralScanner::Step LiteralScanner::read_string(char byte, std::string& out) {
  switch (state_) {
    case State::quote_open:
      if (byte == quote_ && ++count_ == 3) {
        is_triple_ = true;
        state_ = State::string;
        count_ = 0;
        return Step::next;
      }
      if (byte == quote_) return Step::next;
      if (count_ == 2) {  // an empty string
        end_string(out);
        return Step::again;
      }
      state_ = State::string;
      return Step::again;
    case State::string:
      if (byte == quote_) {
        if (is_triple_) {
          count_ = 1;
          state_ = State::triple_close;
        } else if (style_ == LiteralStyle::python || (quote_ == '\'' && mends_)) {
          word_.assign(1, byte);
          state_ = State::maybe_close;
        } else {
          end_string(out);
        }
        return Step::next;
      }
      if (byte == '\\' && !is_raw_) {
        state_ = State::escape;
        return Step::next;
      }
      if (byte == '\n' || byte == '\r') repairs_ |= kRawNewline;
      append_json_escaped(std::string_view(&byte, 1), to(out));
      return Step::next;
    case State::maybe_close:
      if (is_space(byte) && word_.size() < kMaxSpaceBytes) {
        word_ += byte;
        return Step::next;
      }
      if (is_terminator(byte)) {
        const std::string space = word_.substr(1);
        word_.clear();
        end_string(out);
        if (state_ != State::done) to(out) += space;
        return Step::again;
      }
      if ((byte == '"' || byte == '\'') && (word_.size() > 1 || byte != quote_)) {
        word_.clear();  // Python joins strings that stand side by side
        quote_ = byte;
        count_ = 1;
        is_raw_ = false;
        state_ = State::quote_open;
        return Step::next;
      }
      append_json_escaped(word_, to(out));  // an unescaped quote
      word_.clear();
      state_ = State::string;
      return Step::again;
    case State::triple_close:
      if (byte == quote_ && ++count_ == 3) {
        end_string(out);
        return Step::next;
      }
      if (byte == quote_) return Step::next;
      append_json_escaped(std::string(count_, quote_), to(out));
      state_ = State::string;
      return Step::again;
    default: return Step::failed;
  }
}

void LiteralScanner::end_string(std::string& out) {
  to(out) += '"';
  is_raw_ = false;
  if (is_key_ && stack_.back() != undecided) {
    state_ = State::colon;
  } else {
    end_value();
  }
}

LiteralScanner::Step LiteralScanner::read_escape(char byte, std::string& out) {
  std::string& into = to(out);
  state_ = State::string;
  const bool is_python = style_ == LiteralStyle::python;
  switch (byte) {
    case '"':
    case '\\':
      into += '\\';
      into += byte;
      return Step::next;
    case '\'': into += '\''; return Step::next;
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      into += '\\';
      into += byte;
      return Step::next;
    case '/': into += is_python ? "\\\\/" : "\\/"; return Step::next;
    default: break;
  }
  if (is_python && byte == '\n') return Step::next;  // the line goes on
  if (is_python && (byte == 'a' || byte == 'v')) {
    append_escaped_utf8(byte == 'a' ? 7 : 11, into);
    return Step::next;
  }
  const bool is_octal = is_python && byte >= '0' && byte <= '7';
  if (byte == 'u' || (is_python && (byte == 'x' || byte == 'U')) || is_octal) {
    escape_ = is_octal ? 'o' : byte;
    digits_ = is_octal ? 3 : byte == 'x' ? 2 : byte == 'u' ? 4 : 8;
    code_point_ = is_octal ? static_cast<std::uint32_t>(byte - '0') : 0;
    count_ = is_octal ? 1 : 0;
    state_ = State::code_point;
    return Step::next;
  }
  into += "\\\\";  // an escape that says nothing stands for itself
  return Step::again;
}

LiteralScanner::Step LiteralScanner::read_code_point(char byte, std::string& out) {
  const int digit = hex_value(byte);
  const bool fits = digit >= 0 && (escape_ != 'o' || digit < 8);
  if (!fits) {
    if (escape_ != 'o') return Step::failed;
    state_ = State::string;
    count_ = 0;
    append_escaped_utf8(code_point_, to(out));
    return Step::again;
  }
  code_point_ = code_point_ * (escape_ == 'o' ? 8U : 16U) + static_cast<std::uint32_t>(digit);
  if (++count_ < digits_) return Step::next;
  return end_code_point(out);
}

LiteralScanner::Step LiteralScanner::end_code_point(std::string& out) {
  state_ = State::string;
  count_ = 0;
  const bool is_surrogate = code_point_ >= 0xD800 && code_point_ < 0xE000;
  if (code_point_ > 0x10FFFF) return Step::failed;
  if (escape_ == 'u' || is_surrogate) {
    append_unicode_escape(code_point_, to(out));  // pairs join in JSON
  } else {
    append_escaped_utf8(code_point_, to(out));
  }
  return Step::next;
}

}  // namespace unspool
