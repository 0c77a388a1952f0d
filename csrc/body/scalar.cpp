// A parameter's text has no quotes, so the schema decides what it is:
//
//   text      types               value
//   02134     string              "02134"
//   02134     integer             2134
//   02134     string, integer     "02134": exact JSON only, and a number has no leading zero
//   True      boolean             true
//   True      string, boolean     "True"; with Python's words, true
//
// If a string is allowed, a text is something else only if it could not be meant as text.
#include "body/scalar.h"

#include <algorithm>

#include "body/decimal.h"
#include "text/json_escape.h"
#include "text/white_space.h"

namespace unspool {

namespace {

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

// The number if it has one of the types (an integer may have zeros after a point), or empty.
std::string typed_number(const Decimal& number, TypeSet types) {
  const bool is_integer = number.exponent.empty() && !number.whole.empty() &&
                          number.fraction.find_first_not_of('0') == std::string_view::npos;
  if (is_integer && types.has(TypeSet::integer)) {
    return std::string(number.is_negative ? "-" : "").append(number.whole);
  }
  return types.has(TypeSet::number) ? json_number(number, number.exponent) : std::string();
}

// The types whose JSON can begin with this byte.
TypeSet types_that_begin_with(char byte) {
  switch (byte) {
    case 'n': return TypeSet(TypeSet::null);
    case 't':
    case 'f': return TypeSet(TypeSet::boolean);
    case '{': return TypeSet(TypeSet::object);
    case '[': return TypeSet(TypeSet::array);
    default: break;
  }
  const bool is_number = byte == '-' || (byte >= '0' && byte <= '9');
  // A string cannot begin with any of these bytes in JSON, so the first byte tells the type.
  return is_number ? TypeSet(TypeSet::integer | TypeSet::number) : TypeSet();
}

bool have_common(TypeSet a, TypeSet b) { return (a.bits() & b.bits()) != 0; }

bool append_json(std::string_view text, std::string& out) {
  ValueReader reader;
  std::string value;
  if (reader.put(text, value).consumed != text.size() || !reader.is_complete()) return false;
  out += value;
  return true;
}

// Exact JSON of the kind that the first byte indicates.
bool append_strict(std::string_view text, TypeSet types, std::string& out) {
  TypeSet kinds = types_that_begin_with(text.empty() ? '\0' : text[0]);
  const bool is_fraction = text.find_first_of(".eE") != std::string_view::npos;
  // `1.5` is no integer.
  if (kinds.has(TypeSet::number) && is_fraction) kinds = TypeSet(TypeSet::number);
  return have_common(kinds, types) && append_json(text, out);
}

bool append_python_word(std::string_view text, TypeSet types, std::string& out) {
  const bool is_null = text == "None" && types.has(TypeSet::null);
  const bool is_boolean = (text == "True" || text == "False") && types.has(TypeSet::boolean);
  if (is_null) out += "null";
  if (is_boolean) out += text == "True" ? "true" : "false";
  return is_null || is_boolean;
}

bool append_lenient(std::string_view text, TypeSet types, std::string& out) {
  const auto number = read_decimal(text);
  std::string json = number ? typed_number(*number, types) : std::string();
  // A number comes before a boolean: with both allowed, `1` is 1.
  if (json.empty()) json = typed_word(text, types);
  if (!json.empty()) {
    out += json;
    return true;
  }
  const bool is_container = (types.has(TypeSet::object) && text.starts_with('{')) ||
                            (types.has(TypeSet::array) && text.starts_with('['));
  return is_container && append_json(text, out);
}

}  // namespace

std::string_view typed_word(std::string_view text, TypeSet types) {
  if (types.has(TypeSet::null) && (text == "null" || text == "None")) return "null";
  if (!types.has(TypeSet::boolean)) return {};
  // Models write `True`, `TRUE` and `1` for it.
  if (text == "1" || equals_ignoring_case(text, "true")) return "true";
  return text == "0" || equals_ignoring_case(text, "false") ? "false" : std::string_view();
}

void append_typed(std::string_view text, TypeSet types, std::string& out, bool python) {
  const std::string_view value = trim(text);
  if (python && append_python_word(value, types, out)) return;
  const bool is_typed = types.has(TypeSet::string) ? append_strict(value, types, out)
                                                   : append_lenient(value, types, out);
  // The text itself, white space included: none of it was markup here.
  if (!is_typed) append_json_string(text, out);
}

void append_typed_literal(std::string_view text, TypeSet types, std::string& out) {
  ValueReader python(kPython);
  std::string value;
  const ScanResult result = python.put(text, value);
  const bool is_container = value.starts_with('{') || value.starts_with('[');
  // Only containers: `'text'` in quotes was quoted by the caller's notation, and is a text.
  if (is_container && result.status == ScanStatus::done && result.consumed == text.size()) {
    out += value;
  } else {
    append_typed(text, types, out, true);
  }
}

void append_typed_beginning(std::string_view text, TypeSet types, std::string& out) {
  std::string value;
  append_typed(text, types, value);
  // The closing quote is not certain.
  if (value.starts_with('"')) value.pop_back();
  out += value;
}

bool TypedCandidate::put(char byte) {
  // The first byte decides between the kinds.
  if (first_ == 0) {
    if (is_space(byte)) return true;
    first_ = byte;
  }
  if (!types_.has(TypeSet::string)) {
    const bool fits = may_be_scalar(first_, size_++, is_over_, byte);
    is_over_ = is_over_ || is_space(byte);
    return fits;
  }
  // JSON's words begin with small letters, so nothing else can begin like this.
  const bool is_word = python_ && (first_ == 'N' || first_ == 'T' || first_ == 'F');
  return is_word ? put_word(byte) : put_strict(byte);
}

// None, True or False.
bool TypedCandidate::put_word(char byte) {
  if (!types_.has(first_ == 'N' ? TypeSet::null : TypeSet::boolean)) return false;
  const std::string_view word = first_ == 'N' ? "None" : first_ == 'T' ? "True" : "False";
  if (size_ == word.size()) return is_space(byte);
  return word[size_++] == byte;
}

bool TypedCandidate::put_strict(char byte) {
  if (!have_common(types_that_begin_with(first_), types_)) return false;
  if (!is_over_) {
    const ScanResult result = reader_.check(std::string_view(&byte, 1));
    if (result.status == ScanStatus::failed) return false;
    is_over_ = result.status == ScanStatus::done;
    // A number is ended by a byte that it does not consume: it must be white space.
    if (result.consumed == 1) return true;
  }
  return is_space(byte);
}

bool begins_json(std::string_view text) {
  ValueReader reader;
  const ScanResult result = reader.check(text);
  return result.status != ScanStatus::failed && result.consumed == text.size();
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
