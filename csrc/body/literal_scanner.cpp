#include "body/literal_scanner.h"

#include <algorithm>

#include "text/json_escape.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

constexpr std::size_t kMaxWordBytes = 1024;
constexpr TypeSet kBareTypes(TypeSet::null | TypeSet::boolean | TypeSet::integer | TypeSet::number);

bool is_plain(char byte) {
  return static_cast<unsigned char>(byte) >= 0x20 && byte != '"' && byte != '\'' && byte != '\\';
}

int hex_value(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

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

bool is_json(std::string_view text) {
  JsonScanner scanner;
  const ScanResult result = scanner.put(text, nullptr);
  return result.consumed == text.size() && scanner.is_complete();
}

// 1_000, 0x1F, 0b1 and 0o7, which JSON does not have.
std::string plain_number(std::string_view word) {
  std::string digits;
  for (const char byte : word) {
    if (byte != '_') digits += byte;
  }
  const std::size_t sign = digits.starts_with('-') || digits.starts_with('+') ? 1 : 0;
  if (digits.size() < sign + 3 || digits[sign] != '0') return digits;
  const char kind = static_cast<char>(digits[sign + 1] | 0x20);
  const int base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
  if (base == 0 || digits.size() > sign + 17) return digits;
  std::uint64_t value = 0;
  for (const char byte : std::string_view(digits).substr(sign + 2)) {
    const int digit = hex_value(byte);
    if (digit < 0 || digit >= base) return digits;
    value = value * static_cast<std::uint64_t>(base) + static_cast<std::uint64_t>(digit);
  }
  std::string number = digits[0] == '-' ? "-" : "";
  number.append(std::to_string(value));
  return number;
}

}  // namespace

LiteralScanner::LiteralScanner(LiteralStyle style, const MarkerSet* quotes)
    : style_(style), quotes_(quotes) {
  if (quotes_ != nullptr) cursor_.reset(quotes_);
}

ScanResult LiteralScanner::put(std::string_view text, std::string& out) {
  std::size_t i = 0;
  while (i < text.size() && state_ != State::done) {
    if (state_ == State::marked || !cursor_held().empty()) {
      const std::size_t size = state_ == State::marked ? text.size() - i : 1;
      i += put_marked(text.substr(i, size), out);
      continue;
    }
    if (state_ == State::string) {
      std::size_t run = i;
      while (run < text.size() && is_plain(text[run])) ++run;
      to(out).append(text, i, run - i);
      i = run;
      if (i == text.size()) break;
    }
    const bool may_quote = quotes_ != nullptr && (state_ == State::value || state_ == State::key) &&
                           cursor_.would_continue(static_cast<unsigned char>(text[i]));
    if (may_quote) {
      i += put_marked(text.substr(i, 1), out);
      continue;
    }
    switch (step(text[i], out)) {
      case Step::next: ++i; break;
      case Step::again: break;
      case Step::failed: return {i, ScanStatus::failed};
    }
  }
  return {i, state_ == State::done ? ScanStatus::done : ScanStatus::more};
}

ScanResult LiteralScanner::put_token(Symbol symbol, std::string_view literal, std::string& out) {
  const bool may_quote = quotes_ != nullptr && (state_ == State::marked || state_ == State::value ||
                                                state_ == State::key);
  if (may_quote) {
    std::string released;
    const auto found =
        cursor_.put_token(symbol, literal, [&](std::string_view text) { released += text; });
    if (state_ == State::marked) append_json_escaped(released, to(out));
    if (found.marker != nullptr) on_quote(out);
    if (state_ == State::marked || released.empty()) return {literal.size(), ScanStatus::more};
    if (cursor_held().empty() && released == literal && state_ == State::value) {
      return put(literal, out);  // bare text, which may hold any token
    }
    return {0, ScanStatus::failed};
  }
  const bool in_bare = style_ == LiteralStyle::bare && state_ == State::word && !is_key_;
  if (!in_string() && !in_bare) return {0, ScanStatus::failed};
  return put(literal, out);
}

// Text that may be a marker quote: inside a string between two of them, or where one may begin.
std::size_t LiteralScanner::put_marked(std::string_view text, std::string& out) {
  const bool is_inside = state_ == State::marked;
  std::string released;
  const auto found = cursor_.put(text, [&](std::string_view piece) {
    if (is_inside) {
      append_json_escaped(piece, to(out));
    } else {
      released += piece;
    }
  });
  if (found.marker != nullptr) {
    on_quote(out);
  } else if (!released.empty()) {  // no quote after all: a word that begins like one
    cursor_.flush([&](std::string_view piece) { released += piece; });
    is_key_ = wants_key();
    begin_element(out);
    candidate_ = TypedCandidate(kBareTypes);
    word_ = released;
    state_ = State::word;
    if (style_ == LiteralStyle::bare && !is_key_) become_bare_string(out);
  }
  return found.consumed;
}

void LiteralScanner::on_quote(std::string& out) {
  if (state_ == State::marked) return end_string(out);
  is_key_ = wants_key();
  begin_element(out);
  to(out) += '"';
  state_ = State::marked;
}

bool LiteralScanner::wants_key() const { return state_ == State::key; }

bool LiteralScanner::in_string() const {
  switch (state_) {
    case State::quote_open:
    case State::string:
    case State::escape:
    case State::code_point:
    case State::triple_close:
    case State::marked:
    case State::bare_string: return true;
    default: return false;
  }
}

bool LiteralScanner::is_complete() const {
  if (state_ == State::done) return true;
  if (!stack_.empty()) return false;
  return state_ == State::maybe_close || state_ == State::bare_string ||
         (state_ == State::quote_open && count_ == 2) || (state_ == State::word && !word_.empty());
}

bool LiteralScanner::is_terminator(char byte) const {
  return byte == ',' || byte == '}' || byte == ']' || byte == ')' || byte == ':';
}

LiteralScanner::Step LiteralScanner::step(char byte, std::string& out) {
  switch (state_) {
    case State::value:
      if (is_space(byte)) {
        (pending_.empty() ? to(out) : pending_) += byte;
        return Step::next;
      }
      return begin_value(byte, out);
    case State::key:
      if (is_space(byte)) {
        (pending_.empty() ? to(out) : pending_) += byte;
        return Step::next;
      }
      return begin_key(byte, out);
    case State::colon:
      if (is_space(byte)) {
        to(out) += byte;
        return Step::next;
      }
      if (byte != ':') return Step::failed;
      to(out) += ':';
      state_ = State::value;
      first_ = true;  // no comma may stand here
      return Step::next;
    case State::after_value: return after_value(byte, out);
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
        } else if (style_ == LiteralStyle::python) {
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
      if (is_space(byte) && word_.size() < kMaxWordBytes) {
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
      append_json_escaped(word_, to(out));  // a quote that nobody escaped
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
    case State::escape: return read_escape(byte, out);
    case State::code_point: return read_code_point(byte, out);
    case State::word: return read_word(byte, out);
    case State::bare_string:
      if (is_terminator(byte) && byte != ':' && byte != ')') {
        word_.clear();  // white space at its end
        to(out) += '"';
        end_value();
        return Step::again;
      }
      bare_text(std::string_view(&byte, 1), out);
      return Step::next;
    case State::marked:
    case State::done: break;
  }
  return Step::failed;
}

// What stands before an element is certain once the element begins.
void LiteralScanner::begin_element(std::string& out) {
  to(out) += pending_;
  pending_.clear();
  first_ = false;
}

LiteralScanner::Step LiteralScanner::begin_value(char byte, std::string& out) {
  if (byte == '{' || byte == '[' || (byte == '(' && style_ == LiteralStyle::python)) {
    return begin_container(byte, out);
  }
  if (byte == ']' || byte == '}' || byte == ')') {
    const bool is_in_list = !stack_.empty() && stack_.back() != object;
    return is_in_list && (first_ || !pending_.empty()) ? end_container(byte, out) : Step::failed;
  }
  const bool single = byte == '\'' && style_ != LiteralStyle::bare;
  is_key_ = false;
  if (byte == '"' || single) {
    if (single && style_ == LiteralStyle::json) repairs_ |= kSingleQuotes;
    begin_string(byte, out);
    return Step::next;
  }
  if (is_terminator(byte)) return Step::failed;
  begin_element(out);
  state_ = State::word;
  word_.clear();
  candidate_ = TypedCandidate(kBareTypes);
  return Step::again;
}

LiteralScanner::Step LiteralScanner::begin_key(char byte, std::string& out) {
  if (byte == '}') return end_container(byte, out);
  is_key_ = true;
  if (byte == '"' || byte == '\'') {
    if (byte == '\'' && style_ == LiteralStyle::json) repairs_ |= kSingleQuotes;
    begin_string(byte, out);
    return Step::next;
  }
  if (stack_.back() == undecided && (byte == '{' || byte == '[' || byte == '(')) {
    decide(set, out);  // a container cannot be a key
    return begin_value(byte, out);
  }
  if (is_terminator(byte) || byte == '{' || byte == '[') return Step::failed;
  begin_element(out);
  state_ = State::word;
  word_.clear();
  return Step::again;
}

void LiteralScanner::begin_string(char quote, std::string& out) {
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

void LiteralScanner::end_string(std::string& out) {
  to(out) += '"';
  is_raw_ = false;
  if (is_key_ && stack_.back() != undecided) {
    state_ = State::colon;
  } else {
    end_value();
  }
}

void LiteralScanner::end_value() { state_ = stack_.empty() ? State::done : State::after_value; }

LiteralScanner::Step LiteralScanner::begin_container(char byte, std::string& out) {
  if (stack_.size() == JsonScanner::kMaxDepth) return Step::failed;
  begin_element(out);
  first_ = true;
  if (byte == '{') {
    if (style_ == LiteralStyle::python) {
      // Only the innermost brace may be undecided: a container in it settles that before.
      stack_ += undecided;
      held_.clear();
    } else {
      out += '{';
      stack_ += object;
    }
    state_ = State::key;
  } else {
    out += '[';
    stack_ += byte == '[' ? list : tuple;
    state_ = State::value;
  }
  return Step::next;
}

void LiteralScanner::decide(Frame frame, std::string& out) {
  stack_.back() = frame;
  out += frame == object ? '{' : '[';
  out += held_;
  held_.clear();
}

LiteralScanner::Step LiteralScanner::end_container(char byte, std::string& out) {
  const char frame = stack_.back();
  const char closer = frame == list ? ']' : frame == tuple ? ')' : '}';
  if (byte != closer) return Step::failed;
  if (frame == undecided) decide(first_ ? object : set, out);
  if (!pending_.empty()) {
    if (style_ == LiteralStyle::json) repairs_ |= kTrailingComma;
    out.append(pending_, 1);
    pending_.clear();
  }
  out += stack_.back() == object ? '}' : ']';
  stack_.pop_back();
  first_ = false;
  end_value();
  return Step::next;
}

LiteralScanner::Step LiteralScanner::after_value(char byte, std::string& out) {
  if (is_space(byte)) {
    to(out) += byte;
    return Step::next;
  }
  if (byte == ':' && stack_.back() == undecided) {
    if (const std::string word(trim(held_)); word[0] != '"') {  // JSON's keys are strings
      held_.clear();
      append_json_string(word, held_);
    }
    decide(object, out);
    out += ':';
    state_ = State::value;
    first_ = true;
    return Step::next;
  }
  if (byte == ',') {
    if (stack_.back() == undecided) decide(set, out);
    pending_.assign(1, ',');
    state_ = stack_.back() == object ? State::key : State::value;
    return Step::next;
  }
  return end_container(byte, out);
}

LiteralScanner::Step LiteralScanner::read_word(char byte, std::string& out) {
  const bool is_bare = style_ == LiteralStyle::bare;
  const bool ends =
      is_terminator(byte) && (byte != ':' || is_key_ || !is_bare) && (byte != ')' || !is_bare);
  if (ends || (is_space(byte) && !is_bare)) {
    if (!end_word(out)) return Step::failed;
    return Step::again;
  }
  const bool is_quote = byte == '"' || byte == '\'';
  if (is_quote && style_ == LiteralStyle::python && !word_.empty() && word_.size() <= 2 &&
      word_.find_first_not_of("rRbBuUfF") == std::string::npos) {
    is_raw_ = word_.find_first_of("rR") != std::string::npos;
    word_.clear();
    begin_string(byte, out);
    return Step::next;
  }
  if (!is_bare && (is_quote || byte == '{' || byte == '[' || byte == '(')) return Step::failed;
  if (is_key_ && byte == '<') return Step::failed;  // a marker that went astray
  if (word_.size() >= kMaxWordBytes) return Step::failed;
  word_ += byte;
  if (is_bare && !is_key_ && !candidate_.put(std::string_view(&byte, 1))) become_bare_string(out);
  return Step::next;
}

void LiteralScanner::become_bare_string(std::string& out) {
  const std::string text = std::move(word_);
  word_.clear();
  to(out) += '"';
  state_ = State::bare_string;
  bare_text(text, out);
}

void LiteralScanner::bare_text(std::string_view text, std::string& out) {
  for (const char byte : text) {
    if (is_space(byte)) {
      word_ += byte;
      continue;
    }
    append_json_escaped(word_, to(out));
    word_.clear();
    append_json_escaped(std::string_view(&byte, 1), to(out));
  }
}

// Writes the word that has been read as JSON; false where it is no value.
bool LiteralScanner::end_word(std::string& out) {
  const std::string word(trim(word_));
  if (word.empty()) return false;
  if (!write_word(word, out)) return false;  // the word stays, to be told as it was written
  word_.clear();
  return true;
}

bool LiteralScanner::write_word(const std::string& word, std::string& out) {
  if (is_key_ && !(stack_.back() == undecided && is_json(word))) {
    if (style_ == LiteralStyle::json) repairs_ |= kUnquotedKey;
    append_json_string(word, to(out));
    state_ = stack_.back() == undecided ? State::after_value : State::colon;
    return true;
  }
  if (is_key_) {  // a number, in a dict or in a set
    held_ += word;
    state_ = State::after_value;
    return true;
  }
  if (is_json(word)) {
    to(out) += word;
  } else if (word == "True" || word == "False" || word == "None") {
    repairs_ |= kPythonLiteral;
    to(out) += word == "True" ? "true" : word == "False" ? "false" : "null";
  } else {
    std::string value;
    append_typed(plain_number(word), kBareTypes, value);
    if (value[0] == '"') {
      if (style_ != LiteralStyle::bare) return false;
      append_json_string(word, to(out));
    } else {
      repairs_ |= kPythonLiteral;
      to(out) += value;
    }
  }
  end_value();
  return true;
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

void LiteralScanner::end(std::string& out) {
  if (state_ == State::marked) {
    cursor_.flush([&](std::string_view text) { append_json_escaped(text, to(out)); });
  } else if (state_ == State::word && !is_key_) {
    const std::string_view word = trim(word_);
    JsonScanner scanner;
    const ScanResult result = scanner.put(word, nullptr);
    if (result.status != ScanStatus::failed && result.consumed == word.size()) {
      to(out) += word;
    } else if (std::string value; !word.empty()) {
      append_typed_beginning(plain_number(word), kBareTypes, value);
      if (value[0] != '"') to(out) += value;
    }
    word_.clear();
  }
  if (!stack_.empty() && stack_.back() == undecided) decide(object, out);
}

void LiteralScanner::close(std::string& out) {
  repairs_ |= kClosed;
  pending_.clear();
  switch (state_) {
    case State::marked:
      cursor_.flush([&](std::string_view text) { append_json_escaped(text, to(out)); });
      end_string(out);
      break;
    case State::quote_open:
    case State::string:
    case State::escape:
    case State::code_point:
    case State::maybe_close:
    case State::triple_close: end_string(out); break;
    case State::bare_string:
      to(out) += '"';
      end_value();
      break;
    case State::word:
      if (const std::string word = word_; !end_word(out)) {
        append_json_string(trim(word), to(out));
        if (!is_key_) end_value();
      }
      break;
    default: break;
  }
  while (state_ != State::done) {
    if (state_ == State::colon) {
      to(out) += ": null";
    } else if (state_ == State::value && (stack_.empty() || stack_.back() == object)) {
      to(out) += "null";
    }
    if (stack_.empty()) break;
    if (stack_.back() == undecided) {
      const bool is_set = state_ == State::after_value;
      decide(object, out);
      if (is_set) out += ": null";
    }
    out += stack_.back() == object ? '}' : ']';
    stack_.pop_back();
    end_value();
  }
  state_ = State::done;
}

}  // namespace unspool
