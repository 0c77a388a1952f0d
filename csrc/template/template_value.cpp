// Values as transformers reads them, with Python's rules for numbers (`1_000`), truth and white
// space. Each function answers nullopt for a text that is not of its shape; the region is then
// reported as malformed.
//
//   content      text                       value
//   json         {"a": 1}                   the object, in the notation of content_args
//   xml-inline   <p=a>1</p><p=b>x</p>       {"a": "1", "b": "x"}, by the groups of tag_pattern
//   kv-lines     a: 1 / b: x                {"a": "1", "b": "x"}, by two separators
//
// A transform is a value with placeholders: `{"name": "{name}"}` with the opener's group `name`.
#include "template/template_value.h"

#include <algorithm>

#include "body/decimal.h"
#include "body/scalar.h"
#include "body/value_reader.h"
#include "text/code_point.h"

namespace unspool {

namespace {

using Kind = JsonValue::Kind;

std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return lowered;
}

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// A number without underscores between digits, as in Python.
std::string without_separators(std::string_view text) {
  text = strip(text);
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    // Python accepts an underscore only between two digits.
    const bool is_separator = text[i] == '_' && i > 0 && is_digit(text[i - 1]) &&
                              i + 1 < text.size() && is_digit(text[i + 1]);
    if (!is_separator) plain += text[i];
  }
  return plain;
}

// The digits, with a minus if there is one.
std::string_view exponent_of(const Decimal& number) {
  std::string_view digits = number.exponent;
  digits.remove_prefix(std::min(digits.find_first_not_of("eE+"), digits.size()));
  return digits;
}

std::string number_text(const Decimal& number) {
  const std::string_view exponent = exponent_of(number);
  return json_number(number, exponent.empty() ? "" : std::string("e").append(exponent));
}

bool is_integer(const Decimal& number) { return !number.has_point && number.exponent.empty(); }

// The digits of a number without a fraction; nullopt if it has one or exceeds a double.
std::optional<std::string> whole_text(const Decimal& number) {
  std::string digits(number.whole);
  std::string fraction(number.fraction);
  const std::string power(exponent_of(number));
  // No double has such an exponent, and the loops below count it out.
  if (power.size() > 5) return std::nullopt;
  int exponent = power.empty() ? 0 : std::stoi(power);
  // `1e3` is written as 1000, since many readers of JSON take an exponent for a float.
  for (; exponent > 0 && digits.size() < 320; --exponent) {
    digits += fraction.empty() ? '0' : fraction[0];
    if (!fraction.empty()) fraction.erase(0, 1);
  }
  for (; exponent < 0 && digits.size() > 0; ++exponent) {
    fraction.insert(fraction.begin(), digits.back());
    digits.pop_back();
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  const bool is_zero = digits.empty();
  if (fraction.find_first_not_of('0') != std::string::npos || digits.size() > 309)
    return std::nullopt;
  if (is_zero) return std::string(1, '0');
  if (number.is_negative) digits.insert(digits.begin(), '-');
  return digits;
}

std::optional<JsonValue> read_json(const ContentSpec& spec, std::string_view text) {
  std::string strict;
  ValueReader reader = make_json_reader(spec);
  const ScanResult result = reader.put_whole(text, strict);
  const bool is_whole = result.status != ScanStatus::failed && reader.is_complete();
  // Text that may stay text is JSON only if it is exact.
  const bool is_exact = !spec.allows_other || std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  });
  if (is_whole && is_exact) {
    // The reader accepts looser JSON and writes strict JSON; this is read once more as a value.
    if (auto value = parse_json(strict)) return value;
  }
  if (!spec.allows_other) return std::nullopt;
  return JsonValue::of_string(spec.strips ? strip(text) : text);
}

std::optional<JsonValue> read_value(const ContentSpec& spec, std::string_view text) {
  return spec.value ? read_content(*spec.value, text) : JsonValue::of_string(text);
}

std::optional<JsonValue> read_tags(const ContentSpec& spec, std::string_view text) {
  JsonValue object = JsonValue::object();
  std::vector<std::string> merged;
  TagReader reader(spec);
  std::optional<TagReader::Tag> tag;
  while ((tag = reader.next({text, 0, true}))) {
    if (!tag->is_readable) return std::nullopt;
    JsonValue* old = spec.merges ? object.find(tag->key) : nullptr;
    // Without `merge_duplicates`, the last one counts, as in a Python dict.
    if (old == nullptr) {
      object.set(tag->key, std::move(tag->value));
      continue;
    }
    if (!old->is(Kind::array)) {
      JsonValue list;
      list.kind = Kind::array;
      list.items.push_back(std::move(*old));
      *old = std::move(list);
    }
    old->items.push_back(std::move(tag->value));
  }
  return object;
}

std::optional<JsonValue> read_lines(const ContentSpec& spec, std::string_view text) {
  JsonValue object = JsonValue::object();
  const auto tidy = [&](std::string_view part) { return spec.strips ? strip(part) : part; };
  for (bool is_last = false; !is_last;) {
    const std::size_t end = text.find(spec.line_separator);
    is_last = end == std::string_view::npos;
    const std::string_view line = tidy(text.substr(0, end));
    if (!is_last) text.remove_prefix(end + spec.line_separator.size());
    const std::size_t separator = line.find(spec.key_separator);
    // Blank lines and lines without a separator are no members.
    if (separator == std::string_view::npos) continue;
    auto value = read_value(spec, tidy(line.substr(separator + spec.key_separator.size())));
    if (!value) return std::nullopt;
    object.set(tidy(line.substr(0, separator)), std::move(*value));
  }
  return object;
}

const JsonValue* descend(const JsonValue* value, const std::vector<std::string>& keys) {
  for (std::size_t i = 1; value != nullptr && i < keys.size(); ++i) {
    value = value->is(Kind::object) ? value->find(keys[i]) : nullptr;
  }
  return value;
}

// Fills the placeholders of a transform with members of `scope`.
std::optional<JsonValue> fill(const JsonValue& transform, const JsonValue& scope) {
  JsonValue value = transform;
  for (JsonValue& item : value.items) {
    auto filled = fill(item, scope);
    if (!filled) return std::nullopt;
    item = std::move(*filled);
  }
  for (auto& [key, member] : value.members) {
    auto filled = fill(member, scope);
    if (!filled) return std::nullopt;
    member = std::move(*filled);
  }
  if (!transform.is(Kind::string)) return value;
  const auto keys = read_placeholder(transform.text);
  if (!keys) return value;
  const JsonValue* target = descend(scope.find(keys->front()), *keys);
  // A placeholder without a value: the call would lack a part.
  if (target == nullptr) return std::nullopt;
  return *target;
}

std::optional<JsonValue> cast_number(std::string_view text, TypeSet types) {
  const std::string plain = without_separators(text);
  const auto number = read_decimal(plain);
  if (!number) return std::nullopt;
  const auto whole = whole_text(*number);
  // As written, so that long numbers keep all their digits.
  if (types.has(TypeSet::integer) && is_integer(*number)) {
    return JsonValue::of_number(number_text(*number));
  }
  if (types.has(TypeSet::integer) && whole) return JsonValue::of_number(*whole);
  if (!types.has(TypeSet::number)) return std::nullopt;
  return JsonValue::of_number(whole && !number->has_point ? *whole : number_text(*number));
}

std::optional<JsonValue> cast_string(std::string_view text, TypeSet types) {
  if (auto number = cast_number(text, types)) return number;
  const std::string_view word = typed_word(strip(text), types);
  if (!word.empty()) return word == "null" ? JsonValue() : JsonValue::of(word == "true");
  if (!types.has(TypeSet::object) && !types.has(TypeSet::array)) return std::nullopt;
  auto value = parse_json(text);
  // A string that holds JSON of another type stays a string.
  const bool fits = value && ((value->is(Kind::object) && types.has(TypeSet::object)) ||
                              (value->is(Kind::array) && types.has(TypeSet::array)));
  return fits ? value : std::nullopt;
}

}  // namespace

ValueReader make_json_reader(const ContentSpec& spec) {
  return ValueReader(spec.unquoted_keys ? kPlainKeys : kJson, spec.string_delims);
}

std::optional<TagReader::Tag> TagReader::next(const TextWindow& window) {
  if (!search_) search_.emplace(spec_->tag, place_, before_, is_found_);
  search_->advance(window);
  const RegexMatch& match = search_->match();
  // More text may make the match longer, or come before it.
  if (!search_->is_decided() || match.begin == kNoPlace) return std::nullopt;
  const auto group = [&](int index) -> std::optional<std::string_view> {
    if (index < 0) return std::string_view();
    const auto slot = 2 * static_cast<std::size_t>(index);
    if (match.slots[slot + 1] == kNoPlace) return std::nullopt;
    return window.from(match.slots[slot]).substr(0, match.slots[slot + 1] - match.slots[slot]);
  };
  std::optional<Tag> tag(std::in_place);
  const auto key = group(spec_->key_group);
  const auto text = group(spec_->value_group);
  auto value = text           ? read_value(*spec_, *text)
               : spec_->value ? std::nullopt
                              : std::optional(JsonValue());
  tag->is_readable = key && value;
  tag->begin = match.begin;
  if (key) tag->key = *key;
  if (value) tag->value = std::move(*value);
  place_ = match.end;
  // The next search begins in the middle of the text, and `\b` looks at the letter before.
  before_ = last_code_point(window.text.substr(0, match.end - window.begin)).value;
  is_found_ = true;
  search_.reset();
  return tag;
}

void TagReader::visit(Archive& archive) {
  archive.given(spec_);
  archive(place_, before_, is_found_);
  bool has_search = search_.has_value();
  archive(has_search);
  if (has_search && !search_) search_.emplace(spec_->tag, place_, before_, is_found_);
  if (has_search) archive(*search_);
}

std::optional<JsonValue> read_content(const ContentSpec& spec, std::string_view text) {
  using C = ContentSpec::Kind;
  const std::string_view tidy = spec.strips ? strip(text) : text;
  switch (spec.kind) {
    case C::text: return JsonValue::of_string(tidy);
    case C::boolean: return JsonValue::of(lower(tidy) == "true" || tidy == "1");
    case C::json: return read_json(spec, text);
    case C::xml_inline: return read_tags(spec, text);
    case C::kv_lines: return read_lines(spec, text);
    case C::integer:
    case C::number: break;
  }
  const std::string plain = without_separators(tidy);
  const auto number = read_decimal(plain);
  if (!number || (spec.kind == C::integer && !is_integer(*number))) return std::nullopt;
  return JsonValue::of_number(number_text(*number));
}

std::optional<JsonValue> read_region(const TemplateField& field, std::string_view text,
                                     const Captures& captures) {
  auto value = read_content(field.content, text);
  if (!value || !field.transform) return value;
  JsonValue scope = JsonValue::object();
  for (const auto& [name, capture] : captures) scope.set(name, JsonValue::of_string(capture));
  if (!field.transforms_each) {
    scope.set("content", std::move(*value));
    return fill(*field.transform, scope);
  }
  if (!value->is(Kind::array)) return std::nullopt;
  for (JsonValue& item : value->items) {
    if (!item.is(Kind::object)) return std::nullopt;
    JsonValue inner = scope;
    for (auto& [key, member] : item.members) inner.set(key, std::move(member));
    auto filled = fill(*field.transform, inner);
    if (!filled) return std::nullopt;
    item = std::move(*filled);
  }
  return value;
}

bool is_cast(const TypeSet* types) {
  // A parameter that may be anything, or only a string, keeps its string.
  return types != nullptr && types->bits() != TypeSet::any().bits() &&
         !types->is_only(TypeSet::string) && !types->is_empty();
}

void cast(JsonValue& value, TypeSet types) {
  if (value.is(Kind::string)) {
    if (auto typed = cast_string(value.text, types)) value = std::move(*typed);
  } else if (value.is(Kind::array) && !types.has(TypeSet::array)) {
    // Merged tags make a list of a parameter that occurs twice.
    for (JsonValue& item : value.items) {
      auto typed = item.is(Kind::string) ? cast_string(item.text, types) : std::nullopt;
      if (typed) item = std::move(*typed);
    }
  }
}

void cast_arguments(JsonValue& arguments, const ToolSchema* schema) {
  if (schema == nullptr) return;
  for (auto& [key, value] : arguments.members) {
    const TypeSet* types = schema->types_of(key);
    if (is_cast(types)) cast(value, *types);
  }
}

bool find_calls(const JsonValue& value, std::vector<CallValue>& calls) {
  if (value.is(Kind::array)) {
    return std::all_of(value.items.begin(), value.items.end(),
                       [&](const JsonValue& item) { return find_calls(item, calls); });
  }
  const JsonValue* function = value.find("function");
  // With or without the wrapper `{"type": "function", "function": …}`.
  if (function == nullptr) function = &value;
  const JsonValue* name = function->find("name");
  // One part that is no call makes the whole region none: nothing is emitted of it.
  if (name == nullptr || !name->is(Kind::string) || name->text.empty()) return false;
  CallValue call;
  call.name = name->text;
  const JsonValue* id = value.find("id");
  if (id != nullptr && id->is(Kind::string)) call.id = id->text;
  call.arguments = JsonValue::object();
  const JsonValue* arguments = function->find("arguments");
  if (arguments != nullptr && arguments->is(Kind::string)) {  // some models write them as a string
    auto inner = parse_json(arguments->text);
    if (!inner || !inner->is(Kind::object)) return false;
    call.arguments = std::move(*inner);
  } else if (arguments != nullptr && !arguments->is(Kind::null)) {
    if (!arguments->is(Kind::object)) return false;
    call.arguments = *arguments;
  }
  calls.push_back(std::move(call));
  return true;
}

}  // namespace unspool
