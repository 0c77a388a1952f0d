// Bare words of almost-JSON: numbers as Python writes them, its True, False and None, unquoted
// keys, and in some dialects text.
#include "body/literal_scanner.h"
#include "text/hex.h"
#include "text/json_escape.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

constexpr std::size_t kMaxWordBytes = 1024;
constexpr TypeSet kBareTypes(TypeSet::null | TypeSet::boolean | TypeSet::integer | TypeSet::number);

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

void LiteralScanner::begin_word(std::string& out) {
  begin_element(out);
  word_.clear();
  candidate_ = TypedCandidate(kBareTypes);
  state_ = State::word;
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
  if (word_.size() >= kMaxWordBytes && !is_utf8_continuation(byte)) return Step::failed;
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
    if (stack_.size() == 1) parameter_ = word;
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

// A word that the output cut off, as it must have been meant.
std::string LiteralScanner::whole_word(const std::string& word) const {
  if (is_key_ || word.empty()) return word;
  for (const std::string_view whole : {"true", "false", "null", "True", "False", "None"}) {
    if (whole.starts_with(word)) return std::string(whole);
  }
  return word;
}

// The output ended inside the word: writes what is a beginning of JSON.
void LiteralScanner::write_word_beginning(std::string& out) {
  const std::string_view word = trim(word_);
  JsonScanner scanner;
  const ScanResult result = scanner.put(word, nullptr);
  if (result.status != ScanStatus::failed && result.consumed == word.size()) {
    to(out) += word;
  } else if (std::string value; !word.empty()) {
    append_typed_beginning(plain_number(word), kBareTypes, value);
    if (value[0] != '"') to(out) += value;
  }
}

}  // namespace unspool
