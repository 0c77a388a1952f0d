// Words: numbers as Python writes them, its True, False and None, keys without quotes, and in some
// dialects text.
#include "body/scalar.h"
#include "body/value_reader.h"
#include "text/hex.h"
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

ValueReader::Step ValueReader::read_word(char byte) {
  const bool is_text = dialect_->rules.bare_text;
  const bool is_loose_end = is_text && (byte == ')' || (byte == ':' && !is_key_));
  if ((ends_word(byte) && !is_loose_end) || (is_space(byte) && !is_text)) return before(end_word());
  if (is_string_prefix(byte)) {
    const bool is_raw = word_.find_first_of("rR") != std::string::npos;
    word_.clear();
    open_string(byte);
    is_raw_ = is_raw;
    return Step::next;
  }
  if (!is_text && std::string_view("\"'{[(").find(byte) != std::string_view::npos) {
    return Step::failed;
  }
  if (is_key_ && byte == '<') return Step::failed;  // a marker that went astray
  if (word_.size() >= kMaxWordBytes && !is_utf8_continuation(byte)) return Step::failed;
  const bool is_over = !word_.empty() && is_space(word_.back());
  const char first = word_.empty() ? byte : word_[0];
  const bool is_only_text =
      is_text && !is_key_ && !may_be_scalar(first, word_.size(), is_over, byte);
  word_ += byte;
  if (is_only_text) become_bare_string();
  return Step::next;
}

void ValueReader::become_bare_string() {
  const std::string text = std::exchange(word_, {});
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

// Writes the word that has been read as JSON; it stays where it is none.
ValueReader::Step ValueReader::end_word() {
  const std::string word(trim(word_));
  if (word.empty()) return Step::failed;
  const Step result = is_key_ ? write_key_word(word) : write_word(word);
  if (result != Step::failed) word_.clear();
  return result;
}

ValueReader::Step ValueReader::write_key_word(const std::string& word) {
  if (is_undecided()) {  // a number, in a dict or in a set, stays one for now
    is_json(word) ? void(held_ += word) : append_json_string(word, held_);
    state_ = State::after_value;
    return Step::next;
  }
  repairs_ |= kUnquotedKey;
  if (stack_.size() == 1) parameter_ = word;
  const Step result = report_key();
  if (result == Step::failed) return result;
  to() += '"';
  append_json_escaped(word, to());
  state_ = State::colon;
  is_key_ = false;
  Step at_end = Step::next;
  if (listener_ != nullptr) at_end = to_step(listener_->on_key_end(stack_.size(), at_));
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

// The output ended inside the word: writes what is a beginning of JSON.
void ValueReader::write_word_beginning() {
  const std::string_view word = trim(word_);
  ValueReader reader;
  const ScanResult result = reader.check(word);
  if (result.status != ScanStatus::failed && result.consumed == word.size()) {
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
