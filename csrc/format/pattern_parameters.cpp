// Tagged parameters: their tags, the end of a name, and the form of a value.
#include "format/named_values.h"
#include "format/pattern_readers.h"
#include "format/pattern_texts.h"

namespace unspool {

namespace {

using Kind = HoleKind;

// Short type names that models write.
constexpr Word<TypeSet> kShortTypes[] = {
    {"str", TypeSet(TypeSet::string)},
    {"int", TypeSet(TypeSet::integer)},
    {"num", kNumberTypes},
    {"float", kNumberTypes},
    {"bool", TypeSet(TypeSet::boolean)},
    {"dict", TypeSet(TypeSet::object)},
    {"list", TypeSet(TypeSet::array)},
};

std::string_view first_tag(std::string_view text) {
  const std::string_view rest = text.substr(std::min(text.find('<'), text.size()));
  return rest.substr(0, std::min(rest.find('>'), rest.size() - 1) + 1);
}

/// Reads one alternative of `parameter` into the common result.
class ParameterReader {
 public:
  ParameterReader(const Pattern& pattern, ParametersSlot& slot)
      : pattern_(pattern), slot_(slot), value_(pattern.hole(Kind::value)) {}

  /// Returns what the parser drops around a value.
  ValueTrim read() {
    const std::string_view after = pattern_.after(Kind::value);
    add_new(slot_.open.texts, without_quote_at_end(trim(pattern_.first())));
    // The rest of the text between the key and the value.
    std::string_view between =
        pattern_.has(Kind::type) ? take_type() : without_quote(pattern_.after(Kind::key));
    const ValueTrim value_trim = read_trim(between, after);
    between = trim(between);
    take_value_open(between);
    take_name_end(between);
    take_attribute(between);
    if (between.empty())
      throw PatternError("parameter",
                         "nothing stands between a parameter's ${key} and its ${value}");
    add_new(slot_.key_close.texts, between);
    if (is_blank(after)) throw PatternError("parameter", "nothing ends a parameter's ${value}");
    add_new(slot_.close.texts, trim(after));
    if (value_.has("xml")) slot_.entities = true;
    if (value_.has("python")) slot_.python_values = true;
    if (pattern_.hole(Kind::key).has("xml")) slot_.key_entities = true;
    return value_trim;
  }

 private:
  // type="${type}" or a separate tag: the text before the type's name announces it.
  std::string_view take_type() {
    const std::string_view before = without_quote(pattern_.before(Kind::type));
    const std::string_view after = pattern_.after(Kind::type);
    const std::string_view word = before.substr(before.find_last_of(" \n") + 1);
    const std::string_view quote = word.substr(without_quote_at_end(word).size());
    add_types(kTypes, word, quote);
    add_types(kShortTypes, word, quote);
    if (word.find('<') == npos) return without_quote(after);
    add_new(slot_.key_end, first_tag(without_quote(pattern_.after(Kind::key))));
    const std::size_t tag = after.rfind('<');
    if (tag == npos)
      throw PatternError("parameter",
                         "nothing stands between a parameter's ${type} and its ${value}");
    return after.substr(tag);
  }

  template <typename Words>
  void add_types(const Words& words, std::string_view before, std::string_view after) {
    for (const auto& [name, types] : words)
      slot_.types.emplace_back(std::string(before).append(name).append(after), types);
  }

  static ValueTrim read_trim(std::string_view before, std::string_view after) {
    const auto has = [&](char space) {
      return before.ends_with(space) && after.starts_with(space);
    };
    if (has(' ')) return ValueTrim::space;
    return has('\n') ? ValueTrim::newline : ValueTrim::none;
  }

  void take_value_open(std::string_view& between) {
    const std::size_t raw = between.find("<![CDATA[");
    if (raw == npos) return;
    slot_.value_open = between.substr(raw);
    between = between.substr(0, raw);
  }

  // A separate tag ends the key.
  void take_name_end(std::string_view& between) {
    const std::string_view tag = first_tag(between);
    if (!between.starts_with('<') || !between.ends_with('>') || tag.size() == between.size())
      return;
    add_new(slot_.key_end, tag);
    between = trim(between.substr(tag.size()));
  }

  // An attribute that differs between two alternatives determines the value's type.
  void take_attribute(std::string_view& between) {
    const std::size_t quote = between.find('"');
    const std::size_t close = quote == npos ? npos : between.find('"', quote + 1);
    const bool is_json = value_.has("json");
    if (close != npos && close + 1 < between.size() && !between.starts_with('<')) {
      slot_.types.emplace_back(between.substr(0, close + 1),
                               is_json ? kJsonTypes : TypeSet(TypeSet::string));
      between = between.substr(close + 1);
    } else if (is_json) {
      slot_.guess_types = true;
    }
  }

  const Pattern& pattern_;
  ParametersSlot& slot_;
  const Hole& value_;
};

// Of two alternatives, one may have line breaks around the value and the other none.
ValueTrim merge(ValueTrim one, ValueTrim other) {
  if (one == other) return one;
  if (one == ValueTrim::space || other == ValueTrim::space) return ValueTrim::space;
  return ValueTrim::newline_pair;
}

}  // namespace

void read_parameters(const PatternFile& file, CallRegion& call) {
  if (file.parameter.empty()) throw PatternError("call", "${parameters} needs a key 'parameter'");
  const Pattern& first = file.parameter.front();
  if (first.count(Kind::key) == 2) {
    call.body = ElementsSlot{{{std::string(trim(first.first()))}, {}, {}}};
    return;
  }
  ParametersSlot slot;
  slot.json_body = true;
  slot.trim = ValueTrim::none;
  for (const Pattern& pattern : file.parameter) {
    if (!pattern.has(Kind::value)) throw PatternError("parameter", "a parameter has no ${value}");
    const ValueTrim trim = ParameterReader(pattern, slot).read();
    slot.trim = &pattern == &first ? trim : merge(slot.trim, trim);
  }
  call.body = std::move(slot);
}

void read_keyless(const Pattern& pattern, CallRegion& call) {
  const std::string_view before = pattern.before(Kind::value), after = pattern.after(Kind::value);
  if (is_blank(before) || is_blank(after))
    throw PatternError("call", "nothing ends ${name} or ${value}");
  ParametersSlot slot;
  slot.is_keyless = true;
  const bool in_lines = before.ends_with('\n') && after.starts_with('\n');
  slot.trim = in_lines ? ValueTrim::newline : ValueTrim::none;
  call.body = std::move(slot);
}

}  // namespace unspool
