// Tagged parameters: their tags, the end of a name, and the form of a value.
#include "format/named_values.h"
#include "format/pattern_texts.h"
#include "format/shape_readers.h"

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

/// Reads the parser's markers of one alternative.
class ParameterReader {
 public:
  explicit ParameterReader(const Pattern& pattern) : pattern_(pattern) {}

  void read(ParameterShape& shape) {
    const std::string_view after = pattern_.after(Kind::value);
    shape.marker = without_quote_at_end(trim(pattern_.first()));
    // The rest of the text between the key and the value.
    std::string_view between =
        pattern_.has(Kind::type) ? take_type(shape) : without_quote(pattern_.after(Kind::key));
    shape.trim = read_trim(between, after);
    if (is_blank(after) && after.find('\n') == npos)
      throw PatternError("parameter", "nothing ends a parameter's ${value}");
    // A line's end may be all that ends a value.
    const std::size_t end = after.find_first_not_of(is_blank(after) ? " \t" : kSpace);
    shape.value_end = is_blank(after) ? after.substr(end) : trim(after);
    if (is_blank(after)) shape.trim = ValueTrim::none;
    if (shape.trim == ValueTrim::none) {
      if (!is_blank(between))
        shape.space_before = between.substr(between.find_last_not_of(kSpace) + 1);
      shape.space_after = after.substr(0, end);
    }
    between = trim(between);
    take_value_open(between, shape);
    take_key_end(between, shape);
    take_attribute(between, shape);
    if (between.empty())
      throw PatternError("parameter",
                         "nothing stands between a parameter's ${key} and its ${value}");
    shape.value_begin = between;
  }

 private:
  // type="${type}" or a separate tag: the text before the type's name announces it. The name
  // outranks a guess, and the tool's schema outranks the name: a model may write "number" for a
  // parameter that is a string.
  std::string_view take_type(ParameterShape& shape) const {
    const std::string_view before = without_quote(pattern_.before(Kind::type));
    const std::string_view after = pattern_.after(Kind::type);
    const std::string_view word = before.substr(before.find_last_of(" \n") + 1);
    const std::string_view quote = word.substr(without_quote_at_end(word).size());
    add_types(kTypes, word, quote, shape);
    add_types(kShortTypes, word, quote, shape);
    if (word.find('<') == npos) return without_quote(after);
    add_new(shape.key_ends, first_tag(without_quote(pattern_.after(Kind::key))));
    const std::size_t tag = after.rfind('<');
    if (tag == npos)
      throw PatternError("parameter",
                         "nothing stands between a parameter's ${type} and its ${value}");
    return after.substr(tag);
  }

  template <typename Words>
  static void add_types(const Words& words, std::string_view before, std::string_view after,
                        ParameterShape& shape) {
    for (const auto& [name, types] : words)
      shape.types.emplace_back(std::string(before).append(name).append(after), types);
  }

  // White space at both sides is one rule for the value. At one side alone it is the marker's: as
  // much of it is dropped as the output has.
  static ValueTrim read_trim(std::string_view before, std::string_view after) {
    const auto has = [&](char space) {
      return before.ends_with(space) && after.starts_with(space);
    };
    if (has(' ')) return ValueTrim::space;
    return has('\n') ? ValueTrim::newline : ValueTrim::none;
  }

  // CDATA is optional: a model writes it around values with signs, and leaves it out elsewhere.
  static void take_value_open(std::string_view& between, ParameterShape& shape) {
    const std::size_t raw = between.find("<![CDATA[");
    if (raw == npos) return;
    shape.value_open = between.substr(raw);
    between = between.substr(0, raw);
  }

  // A separate tag ends the key.
  static void take_key_end(std::string_view& between, ParameterShape& shape) {
    const std::string_view tag = first_tag(between);
    if (!between.starts_with('<') || !between.ends_with('>') || tag.size() == between.size())
      return;
    add_new(shape.key_ends, tag);
    between = trim(between.substr(tag.size()));
  }

  // An attribute that differs between two alternatives determines the value's type.
  static void take_attribute(std::string_view& between, ParameterShape& shape) {
    const std::size_t quote = between.find('"');
    const std::size_t close = quote == npos ? npos : between.find('"', quote + 1);
    if (close != npos && close + 1 < between.size() && !between.starts_with('<')) {
      shape.types.emplace_back(between.substr(0, close + 1),
                               shape.is_json ? kJsonTypes : TypeSet(TypeSet::string));
      between = between.substr(close + 1);
    } else if (shape.is_json) {
      shape.guesses_types = true;
    }
  }

  const Pattern& pattern_;
};

}  // namespace

ParameterShape read_parameter(const Pattern& pattern, bool is_element) {
  if (!pattern.has(Kind::value)) throw PatternError("parameter", "a parameter has no ${value}");
  if (pattern.index(Kind::value) < pattern.index(Kind::key))
    throw PatternError("parameter",
                       "${key} stands after ${value}; a value is written to its key, "
                       "so write the key first");
  ParameterShape shape;
  shape.items = items_of(pattern);
  shape.open = Edge(pattern.first());
  shape.after_key = Edge(pattern.after(Kind::key));
  shape.close = Edge(pattern.after(Kind::value));
  shape.last = Edge(pattern.last());
  shape.has_type = pattern.has(Kind::type);
  shape.is_element = is_element;
  // Elements nest, so a value has no closer that is known beforehand: the reader of elements finds
  // it.
  if (is_element) {
    const std::string open = shape.open.text();
    const bool is_tag = open.ends_with('<') && pattern.texts[1] == ">" &&
                        pattern.texts[2] == open + '/' && trim(pattern.last()) == ">";
    if (!is_tag)
      throw PatternError(
          "parameter",
          "elements are written <${key}>${value}</${key}>, with the same text before "
          "each `<`, and no white space beside the value");
    return shape;
  }
  const Hole& value = pattern.hole(Kind::value);
  shape.is_verbatim = value.has("verbatim");
  shape.is_json = value.has("json");
  shape.is_python = value.has("python");
  shape.has_entities = value.has("xml");
  shape.key_has_entities = pattern.hole(Kind::key).has("xml");
  ParameterReader(pattern).read(shape);
  std::vector<std::string> texts{pattern.after(Kind::key)};
  if (shape.has_type) texts.push_back(pattern.after(Kind::type));
  shape.key_stop = shape.after_key.sign();
  // The white space before the value is the value's; it must not stand in the marker again.
  if (shape.trim != ValueTrim::none) texts.back().erase(texts.back().find_last_not_of(kSpace) + 1);
  for (const std::string& text : texts) shape.between.push_back(Edge(text).closing_tags());
  return shape;
}

// A call such as <tool: bash>ls</tool> has one parameter, whose name only the tool's schema knows.
ParametersSlot read_keyless(const Pattern& pattern) {
  const std::string_view before = pattern.before(Kind::value), after = pattern.after(Kind::value);
  if (is_blank(before) || is_blank(after))
    throw PatternError("call", "nothing ends ${name} or ${value}");
  ParametersSlot slot;
  slot.is_keyless = true;
  const bool in_lines = before.ends_with('\n') && after.starts_with('\n');
  slot.trim = in_lines ? ValueTrim::newline : ValueTrim::none;
  return slot;
}

}  // namespace unspool
