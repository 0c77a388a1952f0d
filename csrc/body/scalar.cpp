#include "body/scalar.h"

#include <algorithm>

#include "text/json_escape.h"
#include "text/white_space.h"

namespace unspool {

namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

std::string_view without_leading_zeros(std::string_view digits) {
  const std::size_t first = std::min(digits.find_first_not_of('0'), digits.size() - 1);
  return digits.substr(first);
}

// An integer with an optional sign, leading zeros, or zeros behind a point.
bool append_integer(std::string_view text, std::string& out) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t point = text.find('.');
  if (point != std::string_view::npos) {
    const std::string_view fraction = text.substr(point + 1);
    if (fraction.find_first_not_of('0') != std::string_view::npos) return false;
    text = text.substr(0, point);
  }
  if (!is_digits(text)) return false;
  if (is_negative) out += '-';
  out += without_leading_zeros(text);
  return true;
}

// A decimal number as people write it: +1, 007.5, .5, 5., 1e3.
bool append_number(std::string_view text, std::string& out) {
  std::string number;
  if (text.starts_with('-')) number += '-';
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t exponent = text.find_first_of("eE");
  std::string_view mantissa = text.substr(0, exponent);
  const std::size_t point = mantissa.find('.');
  const std::string_view whole = mantissa.substr(0, point);
  const std::string_view fraction =
      point == std::string_view::npos ? std::string_view{} : mantissa.substr(point + 1);
  if (whole.empty() && fraction.empty()) return false;
  if (!whole.empty() && !is_digits(whole)) return false;
  if (!fraction.empty() && !is_digits(fraction)) return false;
  number += whole.empty() ? std::string_view("0") : without_leading_zeros(whole);
  if (!fraction.empty()) number.append(".").append(fraction);
  if (exponent != std::string_view::npos) {
    std::string_view digits = text.substr(exponent + 1);
    if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
    if (!is_digits(digits)) return false;
    number += text.substr(exponent);
  }
  out += number;
  return true;
}

// JSON to the letter, of the kind that its first byte tells.
bool append_json(std::string_view text, std::string& out) {
  ValueReader reader;
  std::string value;
  if (reader.put(text, value).consumed != text.size() || !reader.is_complete()) return false;
  out += value;
  return true;
}

bool append_strict(std::string_view text, TypeSet types, std::string& out) {
  const char first = text.empty() ? '\0' : text[0];
  const bool is_number = first == '-' || (first >= '0' && first <= '9');
  const bool is_integer = is_number && text.find_first_of(".eE") == std::string_view::npos;
  const bool is_wanted =
      (types.has(TypeSet::null) && first == 'n') ||
      (types.has(TypeSet::boolean) && (first == 't' || first == 'f')) ||
      (types.has(TypeSet::integer) && is_integer) || (types.has(TypeSet::number) && is_number) ||
      (types.has(TypeSet::object) && first == '{') || (types.has(TypeSet::array) && first == '[');
  return is_wanted && append_json(text, out);
}

bool append_python_word(std::string_view text, TypeSet types, std::string& out) {
  const bool is_null = text == "None" && types.has(TypeSet::null);
  const bool is_boolean = (text == "True" || text == "False") && types.has(TypeSet::boolean);
  if (is_null) out += "null";
  if (is_boolean) out += text == "True" ? "true" : "false";
  return is_null || is_boolean;
}

bool append_lenient(std::string_view text, TypeSet types, std::string& out) {
  if (types.has(TypeSet::null) && (text == "null" || text == "None")) {
    out += "null";
    return true;
  }
  if (types.has(TypeSet::integer) && append_integer(text, out)) return true;
  if (types.has(TypeSet::number) && append_number(text, out)) return true;
  if (types.has(TypeSet::boolean)) {
    const bool is_true = equals_ignoring_case(text, "true") || text == "1";
    if (is_true || equals_ignoring_case(text, "false") || text == "0") {
      out += is_true ? "true" : "false";
      return true;
    }
  }
  const bool is_container = (types.has(TypeSet::object) && text.starts_with('{')) ||
                            (types.has(TypeSet::array) && text.starts_with('['));
  return is_container && append_json(text, out);
}

}  // namespace

void append_typed(std::string_view text, TypeSet types, std::string& out, bool python) {
  const std::string_view value = trim(text);
  if (python && append_python_word(value, types, out)) return;
  const bool is_typed = types.has(TypeSet::string) ? append_strict(value, types, out)
                                                   : append_lenient(value, types, out);
  if (!is_typed) append_json_string(text, out);
}

void append_typed_literal(std::string_view text, TypeSet types, std::string& out) {
  ValueReader python(kPython);
  std::string value;
  const ScanResult result = python.put(text, value);
  const bool is_container = value.starts_with('{') || value.starts_with('[');
  if (is_container && result.status == ScanStatus::done && result.consumed == text.size()) {
    out += value;
  } else {
    append_typed(text, types, out, true);
  }
}

void append_typed_beginning(std::string_view text, TypeSet types, std::string& out) {
  std::string value;
  append_typed(text, types, value);
  if (value.starts_with('"')) value.pop_back();
  out += value;
}

bool TypedCandidate::put(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [this](char byte) { return put_byte(byte); });
}

bool TypedCandidate::put_byte(char byte) {
  if (first_ == 0) {
    if (kSpace.find(byte) != std::string_view::npos) return true;
    first_ = byte;
  }
  if (!types_.has(TypeSet::string)) {
    const bool fits = may_be_scalar(first_, size_++, is_over_, byte);
    is_over_ = is_over_ || is_space(byte);
    return fits;
  }
  const bool is_word = python_ && (first_ == 'N' || first_ == 'T' || first_ == 'F');
  return is_word ? put_word(byte) : put_strict(byte);
}

// None, True or False.
bool TypedCandidate::put_word(char byte) {
  if (!types_.has(first_ == 'N' ? TypeSet::null : TypeSet::boolean)) return false;
  const std::string_view word = first_ == 'N' ? "None" : first_ == 'T' ? "True" : "False";
  if (size_ == word.size()) return kSpace.find(byte) != std::string_view::npos;
  return word[size_++] == byte;
}

bool TypedCandidate::put_strict(char byte) {
  switch (first_) {
    case 'n':
      if (!types_.has(TypeSet::null)) return false;
      break;
    case 't':
    case 'f':
      if (!types_.has(TypeSet::boolean)) return false;
      break;
    case '{':
      if (!types_.has(TypeSet::object)) return false;
      break;
    case '[':
      if (!types_.has(TypeSet::array)) return false;
      break;
    default:
      if (!types_.has(TypeSet::integer) && !types_.has(TypeSet::number)) return false;
      if (first_ != '-' && (first_ < '0' || first_ > '9')) return false;
  }
  if (!is_over_) {
    const ScanResult result = reader_.check(std::string_view(&byte, 1));
    if (result.status == ScanStatus::failed) return false;
    is_over_ = result.status == ScanStatus::done;
    if (result.consumed == 1) return true;
  }
  return kSpace.find(byte) != std::string_view::npos;
}

bool may_be_scalar(char first, std::size_t size, bool is_over, char byte) {
  if (is_space(byte)) return true;
  if (is_over) return false;
  constexpr std::string_view kNumber = "+-.0123456789";
  if (kNumber.find(first) != std::string_view::npos) {
    return kNumber.find(byte) != std::string_view::npos || byte == 'e' || byte == 'E';
  }
  return size < 5;  // true, false, null, None
}

}  // namespace unspool
