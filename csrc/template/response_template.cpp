// The description of a template comes from a checkpoint, so each key is checked before any output,
// and an error names the field and the remedy:
//
//   "content": {}                                       text outside of the other fields
//   "thinking": {"open": "<think>", "close": "</think>"}
//   "tool_calls": {"open_pattern": "<f=(?P<name>\\w+)>", "content": "json",
//                  "transform": {"name": "{name}", "arguments": "{content}"}}
//
// Openers and closers are literals or patterns; both become a Regex. A transform builds the value
// of a region from the opener's groups and from the content.
#include "template/response_template.h"

#include <algorithm>

#include "text/archive.h"
#include "text/code_point.h"
#include "text/error.h"

namespace unspool {

namespace {

using Kind = JsonValue::Kind;
using Names = std::initializer_list<std::string_view>;

[[noreturn]] void fail(const std::string& scope, const std::string& what) {
  throw FormatError(scope + ": " + what);
}

void check_keys(const JsonValue& table, Names allowed, const std::string& scope) {
  if (!table.is(Kind::object)) fail(scope, "is not an object");
  for (const auto& [key, value] : table.members) {
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    std::string names;
    for (const std::string_view name : allowed)
      names += (names.empty() ? "" : ", ") + std::string(name);
    fail(scope, "unknown key '" + key + "'; use one of " + names);
  }
}

bool read_flag(const JsonValue& table, std::string_view key, bool otherwise,
               const std::string& scope) {
  const JsonValue* value = table.find(key);
  if (value == nullptr || value->is(Kind::null)) return otherwise;
  // A number is a flag in Python, for which templates are written.
  if (value->is(Kind::number)) return value->text != "0";
  if (!value->is(Kind::boolean)) fail(scope, std::string(key) + " is not true or false");
  return value->is_true;
}

std::string read_string(const JsonValue& table, std::string_view key, std::string_view otherwise,
                        const std::string& scope) {
  const JsonValue* value = table.find(key);
  if (value == nullptr) return std::string(otherwise);
  if (!value->is(Kind::string)) fail(scope, std::string(key) + " is not a string");
  return value->text;
}

std::shared_ptr<const Regex> compile_pattern(const std::string& pattern, const std::string& scope) {
  try {
    return Regex::compile(pattern);
  } catch (const FormatError& error) {
    fail(scope, error.what());
  }
}

std::shared_ptr<const Regex> read_marker(const JsonValue& table, const std::string& key,
                                         const std::string& scope) {
  const JsonValue* literal = table.find(key);
  const JsonValue* pattern = table.find(key + "_pattern");
  // Which of the two counts would be a guess.
  if (literal != nullptr && pattern != nullptr)
    fail(scope, "both '" + key + "' and '" + key + "_pattern'; keep one");
  if (pattern != nullptr) {
    if (!pattern->is(Kind::string)) fail(scope, key + "_pattern is not a string");
    return compile_pattern(pattern->text, scope);
  }
  if (literal == nullptr) return nullptr;
  std::vector<std::string> texts;
  const std::vector<JsonValue> one = {*literal};
  for (const JsonValue& item : literal->is(Kind::array) ? literal->items : one) {
    if (!item.is(Kind::string)) fail(scope, "'" + key + "' is not a string or a list of strings");
    if (item.text.empty()) fail(scope, "'" + key + "' holds an empty string");
    texts.push_back(item.text);
  }
  if (texts.empty()) fail(scope, "'" + key + "' is an empty list");
  return Regex::literals(texts);
}

ContentSpec::Kind content_kind(std::string_view name, const std::string& scope) {
  using C = ContentSpec::Kind;
  static constexpr std::pair<std::string_view, C> kParsers[] = {
      {"text", C::text},        {"int", C::integer}, {"float", C::number},
      {"bool", C::boolean},     {"json", C::json},   {"xml-inline", C::xml_inline},
      {"kv-lines", C::kv_lines}};
  for (const auto& [known, kind] : kParsers) {
    if (known == name) return kind;
  }
  fail(scope, "unknown content parser '" + std::string(name) +
                  "'; use text, int, float, bool, json, xml-inline or kv-lines");
}

void read_string_delims(const JsonValue& args, ContentSpec& spec, const std::string& scope) {
  const JsonValue* delims = args.find("string_delims");
  if (delims == nullptr) return;
  for (const JsonValue& pair : delims->items) {
    const bool is_pair =
        pair.items.size() == 2 && !pair.items[0].text.empty() && !pair.items[1].text.empty();
    if (!is_pair) fail(scope, "string_delims is not a list of pairs of strings");
    spec.string_delims.emplace_back(pair.items[0].text, pair.items[1].text);
  }
}

void read_tag(const JsonValue& args, ContentSpec& spec, const std::string& scope) {
  const JsonValue* tag = args.find("tag_pattern");
  if (tag == nullptr || !tag->is(Kind::string)) fail(scope, "xml-inline needs a tag_pattern");
  spec.tag = compile_pattern(tag->text, scope);
  spec.key_group = spec.tag->group("key");
  spec.value_group = spec.tag->group("value");
  // Without a key there is nothing to put a value under. A tag without a value is null.
  if (spec.key_group < 0) fail(scope, "tag_pattern has no group named 'key'");
}

ContentSpec read_content(std::string_view name, const JsonValue& args, const std::string& scope,
                         int depth) {
  ContentSpec spec;
  spec.kind = content_kind(name, scope);
  if (!args.is(Kind::object)) fail(scope, "content_args is not an object");
  // A description may nest without end; the reader of values follows it by recursion.
  if (depth > 16) fail(scope, "value parsers are nested too deep");
  spec.strips = read_flag(args, "strip", true, scope);
  spec.unquoted_keys = read_flag(args, "unquoted_keys", false, scope);
  spec.allows_other = read_flag(args, "allow_non_json", false, scope);
  spec.merges = read_flag(args, "merge_duplicates", false, scope);
  spec.line_separator = read_string(args, "line_sep", "\n", scope);
  spec.key_separator = read_string(args, "kv_sep", ":", scope);
  if (spec.line_separator.empty() || spec.key_separator.empty())
    fail(scope, "line_sep or kv_sep is empty");
  read_string_delims(args, spec, scope);
  if (spec.kind == ContentSpec::Kind::xml_inline) read_tag(args, spec, scope);
  const JsonValue* value = args.find("value_parser");
  if (value == nullptr || value->is(Kind::null)) return spec;
  check_keys(*value, {"name", "args"}, scope + ": value_parser");
  const JsonValue* inner = value->find("args");
  spec.value = std::make_shared<ContentSpec>(
      read_content(read_string(*value, "name", "text", scope),
                   inner == nullptr ? JsonValue::object() : *inner, scope, depth + 1));
  return spec;
}

bool has_placeholder(std::string_view text) {
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const std::size_t close = text.find('}', at);
    if (close == std::string_view::npos) return false;
    if (read_placeholder(text.substr(at, close + 1 - at))) return true;
  }
  return false;
}

void check_transform(const JsonValue& transform, const std::string& scope) {
  for (const JsonValue& item : transform.items) check_transform(item, scope);
  for (const auto& [key, value] : transform.members) check_transform(value, scope);
  if (transform.is(Kind::string) && has_placeholder(transform.text) &&
      !read_placeholder(transform.text)) {
    fail(scope, "transform mixes a placeholder with text in '" + transform.text +
                    "'; write the placeholder alone");
  }
}

TemplatePath path_in(const JsonValue& value) {
  TemplatePath path;
  // `{content.name}` is a path; any other text is a literal.
  if (const auto keys = read_placeholder(value.text)) {
    path.keys = *keys;
  } else {
    path.literal = value.text;
  }
  return path;
}

/// The keys within the content that a path refers to; nullopt if it refers elsewhere.
std::optional<std::vector<std::string>> keys_in_content(const TemplatePath& path) {
  if (path.keys.empty() || path.keys[0] != "content") return std::nullopt;
  return std::vector<std::string>(path.keys.begin() + 1, path.keys.end());
}

// `function` is the content's own object with name and arguments.
std::optional<CallKeys> shape_of_object(const JsonValue& function) {
  CallKeys shape{path_in(function), {}};
  const auto keys = keys_in_content(shape.name);
  if (!keys) return std::nullopt;
  shape.arguments = *keys;
  shape.name.keys.emplace_back("name");
  shape.arguments.emplace_back("arguments");
  return shape;
}

// The call that a transform builds, if the region's text contains its parts one by one.
std::optional<CallKeys> read_call_keys(const TemplateField& field) {
  const bool is_object = field.content.kind == ContentSpec::Kind::json ||
                         field.content.kind == ContentSpec::Kind::xml_inline;
  if (!is_object || field.transforms_each || !field.transform) return std::nullopt;
  // An id may stand anywhere in the content, and a call is announced with its id.
  if (field.transform->find("id") != nullptr) return std::nullopt;
  const JsonValue* inner = field.transform->find("function");
  // `"function": "{content}"`: the region itself is the object with name and arguments.
  if (inner != nullptr && inner->is(Kind::string)) return shape_of_object(*inner);
  const JsonValue& function = inner == nullptr ? *field.transform : *inner;
  const JsonValue* name = function.find("name");
  const JsonValue* arguments = function.find("arguments");
  if (name == nullptr || !name->is(Kind::string) || arguments == nullptr) return std::nullopt;
  const auto keys = keys_in_content(path_in(*arguments));
  if (!keys) return std::nullopt;
  return CallKeys{path_in(*name), *keys};
}

TemplateField read_field(const std::string& name, const JsonValue& spec) {
  const std::string scope = "field '" + name + "'";
  check_keys(spec,
             {"open", "open_pattern", "close", "close_pattern", "content", "content_args",
              "repeats", "join", "optional", "transform", "transform_each"},
             scope);
  TemplateField field;
  field.name = name;
  field.channel = channel_of(name);
  field.open = read_marker(spec, "open", scope);
  field.close = read_marker(spec, "close", scope);
  const JsonValue* args = spec.find("content_args");
  field.content = read_content(read_string(spec, "content", "text", scope),
                               args == nullptr ? JsonValue::object() : *args, scope, 0);
  field.repeats = read_flag(spec, "repeats", false, scope);
  field.is_optional = read_flag(spec, "optional", true, scope);
  field.transforms_each = read_flag(spec, "transform_each", false, scope);
  const JsonValue* join = spec.find("join");
  if (join != nullptr && !join->is(Kind::null)) {
    field.join = read_string(spec, "join", "", scope);
    if (!field.repeats) fail(scope, "'join' needs 'repeats': true");
  }
  const JsonValue* transform = spec.find("transform");
  if (transform != nullptr && !transform->is(Kind::null)) {
    check_transform(*transform, scope);
    field.transform = *transform;
    field.call = read_call_keys(field);
  } else {
    if (field.transforms_each) fail(scope, "transform_each without a transform");
    const bool has_groups = (field.open != nullptr && !field.open->groups().empty()) ||
                            (field.close != nullptr && !field.close->groups().empty());
    // The text that they match would be lost.
    if (has_groups) fail(scope, "named groups without a transform that uses them; add one");
  }
  return field;
}

}  // namespace

TemplateField::Channel channel_of(std::string_view name) {
  using Channel = TemplateField::Channel;
  if (name == "content") return Channel::content;
  if (name == "tool_calls") return Channel::tool_calls;
  const bool is_reasoning =
      name == "thinking" || name == "reasoning" || name == "reasoning_content";
  return is_reasoning ? Channel::reasoning : Channel::extra;
}

std::optional<std::vector<std::string>> read_placeholder(std::string_view text) {
  if (text.size() < 3 || text.front() != '{' || text.back() != '}') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<std::string> keys(1);
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = first_code_point(text.substr(at));
    if (point.value == '.' && !keys.back().empty()) {
      keys.emplace_back();
    } else if (is_word(point.value)) {
      keys.back() += text.substr(at, point.size);
    } else {
      return std::nullopt;
    }
    at += point.size;
  }
  if (keys.back().empty()) return std::nullopt;
  return keys;
}

std::string_view ResponseTemplate::message_part(std::string_view prompt) const {
  std::uint64_t from = 0;
  std::uint64_t end = 0;
  // An anchor that matches the empty text would otherwise match at the same place for ever.
  for (bool forbids_empty = false;; forbids_empty = true) {
    RegexSearch search(start_anchor, from, last_code_point(prompt.substr(0, from)).value,
                       forbids_empty);
    search.advance({prompt, 0, true});
    if (search.match().begin == kNoPlace) return prompt.substr(end);
    from = end = search.match().end;
  }
}

std::shared_ptr<const ResponseTemplate> ResponseTemplate::compile(const JsonValue& spec) {
  const std::string scope = "response_template";
  check_keys(spec, {"version", "defaults", "fields", "start_anchor", "start_anchor_pattern"},
             scope);
  const JsonValue* version = spec.find("version");
  if (version != nullptr && !(version->is(Kind::number) && version->text == "1"))
    fail(scope, "the version is not 1, which is the only one known");
  const JsonValue* fields = spec.find("fields");
  if (fields == nullptr || !fields->is(Kind::object) || fields->members.empty())
    fail(scope, "'fields' is not an object with at least one field");
  auto compiled = std::make_shared<ResponseTemplate>();
  std::string json;
  append_json(spec, json);
  compiled->fingerprint = fingerprint_of(json);
  for (const auto& [name, field] : fields->members) {
    compiled->fields.push_back(read_field(name, field));
    // A field without an opener takes the text outside of all others.
    if (compiled->fields.back().open != nullptr) continue;
    if (compiled->implicit >= 0)
      fail(scope, "more than one field has neither 'open' nor 'open_pattern'");
    compiled->implicit = static_cast<int>(compiled->fields.size()) - 1;
  }
  compiled->start_anchor = read_marker(spec, "start_anchor", scope);
  if (compiled->start_anchor == nullptr)
    fail(scope, "neither 'start_anchor' nor 'start_anchor_pattern'; write one");
  if (const JsonValue* defaults = spec.find("defaults")) {
    if (!defaults->is(Kind::object)) fail(scope, "'defaults' is not an object");
    compiled->defaults = defaults->members;
  }
  return compiled;
}

std::shared_ptr<const Format> make_format(std::shared_ptr<const ResponseTemplate> response_template,
                                          std::string name,
                                          const std::vector<MarkerToken>& tokens) {
  const std::uint64_t fingerprint = response_template->fingerprint;
  return Format::from_template(std::move(response_template), fingerprint, std::move(name), tokens);
}

}  // namespace unspool
