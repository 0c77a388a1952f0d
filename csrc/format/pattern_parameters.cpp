// Tagged parameters: the tags, what ends a name, how a value is read.
#include "format/description_words.h"
#include "format/pattern_compiler.h"
#include "text/error.h"

namespace unspool {

namespace {

using Kind = HoleKind;

// Short names of types that models write.
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

}  // namespace

void PatternCompiler::read_parameters(CallSpec& call) const {
  if (file_.parameter.empty()) throw PatternError("call", "${parameters} needs a key 'parameter'");
  const Pattern& first = file_.parameter.front();
  if (first.count(Kind::key) == 2) {
    call.body = BodyKind::xml_elements;
    call.xml_elements.open.texts = {std::string(trim(first.first()))};
    return;
  }
  call.body = BodyKind::xml_parameters;
  XmlParametersSpec& spec = call.xml_parameters;
  spec.json_body = true;
  spec.trim = ValueTrim::none;
  for (const Pattern& pattern : file_.parameter) {
    if (!pattern.has(Kind::value)) throw PatternError("parameter", "a parameter has no ${value}");
    read_parameter(pattern, spec);
  }
}

// <tool: name>value</tool>: the value is the tool's only parameter.
void PatternCompiler::read_keyless(const Pattern& pattern, CallSpec& call) const {
  const std::string_view before = pattern.before(Kind::value), after = pattern.behind(Kind::value);
  if (is_blank(before) || is_blank(after))
    throw PatternError("call", "nothing ends ${name} or ${value}");
  call.body = BodyKind::xml_parameters;
  call.xml_parameters.is_keyless = true;
  const bool in_lines = before.ends_with('\n') && after.starts_with('\n');
  call.xml_parameters.trim = in_lines ? ValueTrim::newline : ValueTrim::none;
}

void PatternCompiler::read_parameter(const Pattern& pattern, XmlParametersSpec& spec) const {
  const Hole& value = pattern.hole(Kind::value);
  const std::string_view behind_value = pattern.behind(Kind::value);
  add_new(spec.open.texts, without_quote_at_end(trim(pattern.first())));
  std::string_view between = without_quote(pattern.behind(Kind::key));
  if (pattern.has(Kind::type)) {
    // type="${type}" or a tag of its own: the text before the type's name tells that one follows.
    const std::string_view before = without_quote(pattern.before(Kind::type));
    const std::string_view word = before.substr(before.find_last_of(" \n") + 1);
    const bool is_quoted = !word.empty() && (word.back() == '"' || word.back() == '\'');
    const std::string quote(is_quoted ? word.substr(word.size() - 1) : std::string_view{});
    const auto add_types = [&](const auto& names) {
      for (const auto& [name, types] : names)
        spec.types.emplace_back(std::string(word).append(name).append(quote), types);
    };
    add_types(kTypes);
    add_types(kShortTypes);
    const std::string_view behind = pattern.behind(Kind::type);
    if (word.find('<') != std::string_view::npos) {
      add_new(spec.name_end, first_tag(between));
      const std::size_t tag = behind.rfind('<');
      if (tag == std::string_view::npos)
        throw PatternError("parameter",
                           "nothing stands between a parameter's ${type} and its ${value}");
      between = behind.substr(tag);
    } else {
      between = is_quoted ? without_quote(behind) : behind;
    }
  }
  const bool in_lines = between.ends_with('\n') && behind_value.starts_with('\n');
  const bool in_space = between.ends_with(' ') && behind_value.starts_with(' ');
  if (in_space) spec.trim = ValueTrim::space;
  if (in_lines && spec.trim == ValueTrim::none) spec.trim = ValueTrim::newline;
  std::string_view tag = trim(between);
  if (const std::size_t raw = tag.find("<![CDATA["); raw != std::string_view::npos) {
    spec.value_open = tag.substr(raw);
    tag = tag.substr(0, raw);
  }
  const std::string_view end = first_tag(tag);
  if (tag.starts_with('<') && end.size() < tag.size() && tag.ends_with('>')) {
    add_new(spec.name_end, end);
    tag = trim(tag.substr(end.size()));
  }
  const std::size_t quote = tag.find('"');
  const std::size_t close = quote == std::string_view::npos ? quote : tag.find('"', quote + 1);
  if (close != std::string_view::npos && close + 1 < tag.size() && !tag.starts_with('<')) {
    // An attribute that differs between two alternatives tells what the value is.
    spec.types.emplace_back(tag.substr(0, close + 1),
                            value.has("json") ? kJsonTypes : TypeSet(TypeSet::string));
    tag = tag.substr(close + 1);
  } else if (value.has("json")) {
    spec.guess_types = true;
  }
  if (tag.empty())
    throw PatternError("parameter", "nothing stands between a parameter's ${key} and its ${value}");
  add_new(spec.name_close.texts, tag);
  if (is_blank(behind_value))
    throw PatternError("parameter", "nothing ends a parameter's ${value}");
  add_new(spec.close.texts, trim(behind_value));
  if (value.has("xml")) spec.entities = true;
  if (value.has("python")) spec.python_values = true;
  if (pattern.hole(Kind::key).has("xml")) spec.name_entities = true;
}

}  // namespace unspool
