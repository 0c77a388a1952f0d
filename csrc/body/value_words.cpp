// Words: numbers in Python's notation, True, False and None, keys without quotes and, in some
// dialects, text.
#include <charconv>
#include <system_error>

#include "body/scalar.h"
#include "body/value_reader.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

constexpr std::size_t kMaxWordBytes = 1024;
constexpr TypeSet kBareTypes(TypeSet::null | TypeSet::boolean | TypeSet::integer | TypeSet::number);

bool is_json(std::string_view text) {
  ValueReader reader;
  return reader.check(text).consumed == text.size() && reader.is_complete();
}

int base_of(char letter) {
  switch (letter | 0x20) {
    case 'x': return 16;
    case 'o': return 8;
    case 'b': return 2;
    default: return 0;
  }
}

// Converts 1_000, 0x1F, 0b1 and 0o7, which are not JSON.
std::string plain_number(std::string_view word) {
  std::string digits(word);
  std::erase(digits, '_');
  const std::size_t sign = digits.starts_with('-') || digits.starts_with('+') ? 1 : 0;
  constexpr std::size_t kPrefix = 2, kMaxDigits = 15;
  const bool has_prefix = digits.size() > sign + kPrefix && digits[sign] == '0';
  const int base = has_prefix ? base_of(digits[sign + 1]) : 0;
  if (base == 0 || digits.size() > sign + kPrefix + kMaxDigits) return digits;
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data() + sign + kPrefix, end, value, base);
  if (read.ec != std::errc() || read.ptr != end) return digits;
  std::string number(digits[0] == '-' ? "-" : "");
  return number.append(std::to_string(value));
}

}  // namespace

ValueReader::Step ValueReader::begin_word(State state) {
  const Step result = before(write_comma());
  word_.clear();
  is_key_ = state == State::key_word;
  state_ = state;
  return result;
}

// r"…", b'…'
bool ValueReader::is_string_prefix(char byte) const {
  return (byte == '"' || byte == '\'') && dialect_->rules.python_strings && !word_.empty() &&
         word_.size() <= 2 && word_.find_first_not_of("rRbBuUfF") == std::string::npos;
}

// The prefix of a Python string may disable its escapes.
ValueReader::Step ValueReader::open_prefixed_string(char quote) {
  const bool is_raw = word_.find_first_of("rR") != std::string::npos;
  word_.clear();
  open_string(quote);
  is_raw_ = is_raw;
  return Step::next;
}

// Bare text may contain white space, round brackets and, in a value, colons.
bool ValueReader::ends_this_word(char byte) const {
  if (!dialect_->rules.bare_text) return ends_word(byte) || is_space(byte);
  if (byte == '=' && is_key_ && dialect_->rules.mends_bare) return true;
  return ends_word(byte) && byte != ')' && (byte != ':' || is_key_);
}

bool ValueReader::may_continue_word(char byte) const {
  constexpr std::string_view kOpeners = "\"'{[(";
  if (!dialect_->rules.bare_text && kOpeners.find(byte) != std::string_view::npos) return false;
  if (byte == '<' && (is_key_ || !dialect_->rules.bare_text)) return false;  // a marker, not a word
  return word_.size() < kMaxWordBytes || is_utf8_continuation(byte);
}

// Whether the word can only be text if `byte` follows.
bool ValueReader::makes_text(char byte) const {
  if (!dialect_->rules.bare_text || is_key_) return false;
  const bool is_over = !word_.empty() && is_space(word_.back());
  return !may_be_scalar(word_.empty() ? byte : word_[0], word_.size(), is_over, byte);
}

ValueReader::Step ValueReader::read_word(char byte) {
  if (ends_this_word(byte)) return before(end_word());
  if (is_string_prefix(byte)) return open_prefixed_string(byte);
  if (!may_continue_word(byte)) return Step::failed;
  const bool is_text = makes_text(byte);
  word_ += byte;
  if (is_text) become_bare_string();
  return Step::next;
}

void ValueReader::become_bare_string() {
  const std::string text = std::exchange(word_, {});
  tell_value('"', at_ + 1 - text.size());
  to() += '"';
  state_ = State::bare_string;
  bare_text(text);
}

void ValueReader::bare_text(std::string_view text) {
  for (const char byte : text) {
    if (is_space(byte)) {
      word_ += byte;
      continue;
    }
    append_json_escaped(word_, to());
    word_.clear();
    append_json_escaped(std::string_view(&byte, 1), to());
  }
}

ValueReader::Step ValueReader::read_bare_string(char byte) {
  if (!ends_word(byte) || byte == ':' || byte == ')') {
    bare_text(std::string_view(&byte, 1));
    return Step::next;
  }
  word_.clear();  // white space at its end
  to() += '"';
  return before(end_value(at_));
}

// Writes the word as JSON; keeps it if it is not JSON.
ValueReader::Step ValueReader::end_word() {
  const std::string word(trim(word_));
  if (word.empty()) return Step::failed;
  const Step result = is_key_ ? write_key_word(word) : write_word(word);
  if (result != Step::failed) word_.clear();
  return result;
}

ValueReader::Step ValueReader::write_key_word(const std::string& word) {
  if (is_undecided()) {  // a number in a dict or set is not converted yet
    is_json(word) ? void(held_ += word) : append_json_string(word, held_);
    state_ = State::after_value;
    return Step::next;
  }
  repairs_ |= kUnquotedKey;
  if (stack_.size() == 1) typing_.set_parameter(word);
  const Step result = report_key();
  if (result == Step::failed) return result;
  to() += '"';
  append_json_escaped(word, to());
  const Step at_end = end_key();
  to() += '"';
  return at_end == Step::next ? result : at_end;
}

ValueReader::Step ValueReader::write_word(const std::string& word) {
  if (is_json(word)) return write_scalar(word);
  if (word == "True" || word == "False" || word == "None") {
    repairs_ |= kPythonLiteral;
    return write_scalar(word == "True" ? "true" : word == "False" ? "false" : "null");
  }
  std::string value;
  append_typed(plain_number(word), kBareTypes, value);
  if (value[0] != '"') {
    repairs_ |= kPythonLiteral;
    return write_scalar(value);
  }
  if (!dialect_->rules.bare_text) return Step::failed;
  value.clear();
  append_json_string(word, value);
  return write_scalar(value);
}

ValueReader::Step ValueReader::write_scalar(std::string_view json) {
  const Step begun = report_value(json[0]);
  if (begun == Step::failed) return begun;
  to() += json;
  const Step ended = end_value(at_);
  return ended == Step::next ? begun : ended;
}

// The output ended inside the word: writes a prefix of JSON.
void ValueReader::write_word_beginning() {
  const std::string_view word = trim(word_);
  if (begins_json(word)) {
    to() += word;
  } else if (std::string value; !word.empty()) {
    append_typed_beginning(plain_number(word), kBareTypes, value);
    if (value[0] != '"') to() += value;
  }
}

// JSON's keys are strings.
void ValueReader::quote_key() {
  const std::string word(trim(held_));
  if (word.empty() || word[0] == '"') return;
  held_.clear();
  append_json_string(word, held_);
}

}  // namespace unspool
