// Strings that are not JSON: other quotes, Python prefixes and triple quotes, escapes.
#include "body/json_string.h"
#include "body/names.h"
#include "body/value_reader.h"
#include "text/hex.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// Longer white space after a quote belongs to the string; bounds the held text.
constexpr std::size_t kMaxSpaceBytes = 1024;

// How much is read behind a quote that may end an argument.
constexpr std::size_t kMaxAheadBytes = 128;

void append_escaped_utf8(std::uint32_t code_point, std::string& out) {
  std::string text;
  append_utf8(code_point, text);
  append_json_escaped(text, out);
}

}  // namespace

void ValueReader::open_loose_string(char quote) {
  // Amid bare text, quotes of either kind are one more notation of a string.
  if (quote == '\'' && !dialect_->rules.bare_text) repairs_ |= kSingleQuotes;
  is_triple_ = is_raw_ = is_unescaped_ = false;
  count_ = 1;
  write("\"");
  if (dialect_->rules.python_strings) state_ = State::quote_open;
}

// The end of any other string. `again`: the current byte is not part of the string.
ValueReader::Step ValueReader::close_string(Step after) {
  Step result = Step::next;
  if (is_key_ && !is_undecided()) {
    result = end_key();
    to() += '"';
  } else {
    to() += '"';
    result = end_value(after == Step::again ? at_ : at_ + 1);
  }
  return after == Step::again ? before(result) : result;
}

// Whether a quote inside the string may be text.
bool ValueReader::has_unsure_end() const {
  const DialectRules& rules = dialect_->rules;
  return rules.python_strings || (rules.bare_text && quote_ == '\'');
}

ValueReader::Step ValueReader::read_string(char byte) {
  if (byte == quote_) {
    if (is_triple_) {
      count_ = 1;
      state_ = State::triple_close;
      return Step::next;
    }
    if (!has_unsure_end()) return close_string(Step::next);
    word_.assign(1, byte);
    is_value_quote_ =
        guards_ && stack_.empty() && beginning_after(in_.substr(0, at_)) == Beginning::equals;
    state_ = State::maybe_close;
    return Step::next;
  }
  if (byte == '\\' && !is_raw_) {
    state_ = State::escape;
    return Step::next;
  }
  if (byte == '\n' || byte == '\r') {
    repairs_ |= kRawNewline;
    is_raw_ |= is_unescaped_;
  }
  append_json_escaped(std::string_view(&byte, 1), to());
  return Step::next;
}

ValueReader::Step ValueReader::read_quote_open(char byte) {
  if (byte == quote_) {
    if (++count_ < 3) return Step::next;
    is_triple_ = true;
    state_ = State::string;
    count_ = 0;
    return Step::next;
  }
  if (count_ == 2) return close_string(Step::again);  // an empty string
  state_ = State::string;
  return Step::again;
}

// How much of `(name=` or `, name=` has been read after this byte.
ValueReader::Beginning ValueReader::continue_beginning(Beginning beginning, char byte) {
  if (byte == '(' || byte == ',') return Beginning::comma;
  const bool is_first = beginning == Beginning::comma;
  if (is_first && is_space(byte)) return beginning;
  if (is_first ? begins_name(byte) : beginning == Beginning::name && continues_name(byte)) {
    return Beginning::name;
  }
  return beginning == Beginning::name && byte == '=' ? Beginning::equals : Beginning::none;
}

// The same at the end of the string so far and this text.
ValueReader::Beginning ValueReader::beginning_after(std::string_view text) const {
  Beginning beginning = beginning_;
  if (const std::size_t last = text.find_last_of("(,"); last != std::string_view::npos) {
    beginning = Beginning::comma;
    text.remove_prefix(last + 1);
  }
  for (const char byte : text) {
    if (beginning == Beginning::none) break;
    beginning = continue_beginning(beginning, byte);
  }
  return beginning;
}

ValueReader::Step ValueReader::read_after_quote(char byte) {
  const bool is_in_name = continues_name(word_.back());
  if (is_space(byte) && !is_in_name && word_.size() < kMaxSpaceBytes) {
    word_ += byte;
    return Step::next;
  }
  if (may_follow_string(byte) && !is_in_name) {
    // A string with unescaped quotes ends only where the call surely goes on.
    if (is_unescaped_ && is_argument_ && stack_.empty() && (byte == ',' || is_in_list_)) {
      word_ += byte;
      next_ = byte == ',' ? Beginning::comma : Beginning::none;
      state_ = State::after_closer;
      return Step::next;
    }
    const std::string space = word_.substr(1);
    word_.clear();
    const Step result = close_string(Step::again);
    if (state_ != State::done) to() += space;
    return result;
  }
  // The quote is text, unless it begins or ends the value of another argument.
  if (is_value_quote_ || (is_in_name && byte == '=')) return Step::failed;
  if (guards_ && stack_.empty() && continues_name(byte) && word_.size() < kMaxSpaceBytes) {
    word_ += byte;
    return Step::next;
  }
  const bool is_quote = byte == '"' || byte == '\'';
  if (is_quote && !is_in_name && !is_unescaped_ && (word_.size() > 1 || byte != quote_)) {
    word_.clear();  // Python joins adjacent strings
    quote_ = byte;
    count_ = 1;
    is_raw_ = false;
    state_ = State::quote_open;
    return Step::next;
  }
  return keep_quote();
}

// A byte that can follow a string which ends here. Only of a string with unescaped quotes does the
// place decide: elsewhere another byte shows that the output is damaged.
bool ValueReader::may_follow_string(char byte) const {
  const bool decides = is_unescaped_ && is_argument_ && stack_.empty();
  return decides ? byte == ',' || byte == ')' : ends_word(byte);
}

// After `",` or `")`: another argument follows, `, name=`, or the end of the list, `)]`, or another
// call of it, `), name(`.
ValueReader::Step ValueReader::read_after_closer(char byte) {
  if (word_.size() >= kMaxAheadBytes) return keep_quote();
  const bool ends_call = word_.find(')') != std::string::npos;
  const bool is_after_bracket = ends_call && next_ == Beginning::none;
  if (is_after_bracket && byte == ']') return end_argument();
  if (next_ == Beginning::name && byte == (ends_call ? '(' : '=')) return end_argument();
  if (is_after_bracket) {
    if (byte == ',' || byte == ';') next_ = Beginning::comma;
    if (byte != ',' && byte != ';' && !is_space(byte)) return keep_quote();
  } else if (byte == ')' && next_ == Beginning::comma && !ends_call) {
    next_ = Beginning::none;  // Python allows `"a",)`
  } else {
    next_ = byte == ',' || byte == '(' ? Beginning::none : continue_beginning(next_, byte);
    if (next_ != Beginning::comma && next_ != Beginning::name) return keep_quote();
  }
  word_ += byte;
  return Step::next;
}

// The string ends at its quote. What follows is left in `word_`, for the argument's owner.
ValueReader::Step ValueReader::end_argument() {
  const std::string rest = word_.substr(word_.find_first_of(",)"));
  word_.clear();
  const Step result = close_string(Step::again);
  word_ = rest;
  return result;
}

// The quote is text, and so is what was read after it.
ValueReader::Step ValueReader::keep_quote() {
  append_json_escaped(word_, to());
  word_.clear();
  is_unescaped_ = true;
  is_raw_ |= (repairs_ & kRawNewline) != 0;
  repairs_ |= kRawString;
  state_ = State::string;
  return Step::again;
}

ValueReader::Step ValueReader::read_triple_close(char byte) {
  if (byte == quote_) return ++count_ == 3 ? close_string(Step::next) : Step::next;
  append_json_escaped(std::string(count_, quote_), to());
  state_ = State::string;
  return Step::again;
}

ValueReader::Step ValueReader::read_escape(char byte) {
  std::string& into = to();
  const bool is_python = dialect_->rules.python_strings;
  state_ = State::string;
  if (std::string_view("\"\\bfnrt").find(byte) != std::string_view::npos) {
    into += '\\';
    into += byte;
    return Step::next;
  }
  if (byte == '\'') {
    into += '\'';
    return Step::next;
  }
  if (byte == '/') {
    into += is_python ? "\\\\/" : "\\/";
    return Step::next;
  }
  if (is_python && byte == '\n') return Step::next;  // the line continues
  if (is_python && (byte == 'a' || byte == 'v')) {
    append_escaped_utf8(byte == 'a' ? 7 : 11, into);
    return Step::next;
  }
  if (begin_code_point(byte)) return Step::next;
  into += "\\\\";  // an unknown escape stays unchanged
  return Step::again;
}

bool ValueReader::begin_code_point(char byte) {
  const bool is_python = dialect_->rules.python_strings;
  const bool is_octal = is_python && byte >= '0' && byte <= '7';
  if (byte != 'u' && !is_octal && !(is_python && (byte == 'x' || byte == 'U'))) return false;
  escape_ = is_octal ? 'o' : byte;
  digits_ = is_octal ? 3 : byte == 'x' ? 2 : byte == 'u' ? 4 : 8;
  code_point_ = is_octal ? static_cast<std::uint32_t>(byte - '0') : 0;
  count_ = is_octal ? 1 : 0;
  word_.assign(1, byte);
  state_ = State::code_point;
  return true;
}

ValueReader::Step ValueReader::read_code_point(char byte) {
  const int digit = hex_value(byte);
  const bool fits = digit >= 0 && (escape_ != 'o' || digit < 8);
  if (!fits) {
    if (escape_ != 'o') return keep_escape() ? Step::again : Step::failed;
    word_.clear();
    state_ = State::string;
    count_ = 0;
    append_escaped_utf8(code_point_, to());
    return Step::again;
  }
  word_ += byte;
  code_point_ = code_point_ * (escape_ == 'o' ? 8U : 16U) + static_cast<std::uint32_t>(digit);
  return ++count_ < digits_ ? Step::next : end_code_point();
}

// Python has no such escape, so the backslashes of this string are text: C:\Users.
bool ValueReader::keep_escape() {
  if (!dialect_->rules.python_strings) return false;
  to() += "\\\\";
  append_json_escaped(word_, to());
  word_.clear();
  count_ = 0;
  is_raw_ = is_unescaped_ = true;
  repairs_ |= kRawString;
  state_ = State::string;
  return true;
}

ValueReader::Step ValueReader::end_code_point() {
  if (code_point_ > 0x10FFFF) return keep_escape() ? Step::next : Step::failed;
  word_.clear();
  state_ = State::string;
  count_ = 0;
  const bool is_surrogate = code_point_ >= 0xD800 && code_point_ < 0xE000;
  if (escape_ == 'u' || is_surrogate) {
    append_unicode_escape(code_point_, to());  // pairs join in JSON
  } else {
    append_escaped_utf8(code_point_, to());
  }
  return Step::next;
}

}  // namespace unspool
