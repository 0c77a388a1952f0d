#include "format/format_file.h"

#include <algorithm>
#include <utility>

#include "format/format_words.h"
#include "format/response_template.h"
#include "text/error.h"

namespace unspool {

namespace {

[[noreturn]] void refuse(std::string_view key, std::string_view wanted) {
  throw FormatError(std::string(key) + " must be " + std::string(wanted));
}

/// An object of the description, read key by key.
class Table {
 public:
  Table(const JsonValue& value, std::string_view name) : value_(value) {
    if (!value.is(JsonValue::Kind::object)) refuse(name, "a table");
  }

  void get(std::string_view key, std::string& into) const {
    if (const JsonValue* value = value_.find(key)) into = text_of(*value, key);
  }
  void get(std::string_view key, bool& into) const {
    const JsonValue* value = value_.find(key);
    if (value == nullptr) return;
    if (!value->is(JsonValue::Kind::boolean)) refuse(key, "true or false");
    into = value->is_true;
  }
  void get(std::string_view key, std::vector<std::string>& into) const {
    if (!has(key)) return;
    into.clear();
    for (const JsonValue& item : list(key)) {
      into.push_back(text_of(item, key));
      if (into.back().empty()) refuse(key, "a list of texts that are not empty");
    }
  }

  template <typename Choice, std::size_t Size>
  void choose(std::string_view key, Choice& into, const Word<Choice> (&choices)[Size]) const {
    if (!has(key)) return;
    std::string value;
    get(key, value);
    const Word<Choice>* choice = find_word(choices, value);
    if (choice == nullptr)
      throw FormatError(std::string(key) + " is '" + value + "', which is none of its choices");
    into = choice->value;
  }

  MarkerSpec marker(const std::string& key) const {
    MarkerSpec spec;
    get(key, spec.texts);
    get(key + "_before", spec.before);
    get(key + "_after", spec.after);
    return spec;
  }

  bool has(std::string_view key) const { return value_.find(key) != nullptr; }
  Table table(std::string_view key) const { return {*value_.find(key), key}; }
  const std::vector<std::pair<std::string, JsonValue>>& members() const { return value_.members; }
  const std::vector<JsonValue>& list(std::string_view key) const {
    const JsonValue& value = *value_.find(key);
    if (!value.is(JsonValue::Kind::array)) refuse(key, "a list");
    return value.items;
  }

  static const std::string& text_of(const JsonValue& value, std::string_view key) {
    if (!value.is(JsonValue::Kind::string)) refuse(key, "text");
    return value.text;
  }

 private:
  const JsonValue& value_;
};

TypeSet type_named(const std::string& name) {
  if (name == "json") return kJsonTypes;
  const Word<TypeSet>* type = find_word(kTypes, name);
  if (type != nullptr) return type->value;
  throw FormatError("a type is '" + name + "', which is none of JSON's; or write \"json\"");
}

CallSpec read_call(const Table& table) {
  CallSpec call;
  call.open = table.marker("open");
  call.close = table.marker("close");
  call.name_close = table.marker("name_close");
  call.next = table.marker("next");
  call.quotes = table.marker("quotes");
  table.choose("bare", call.bare, kPlaces);
  table.get("fenced", call.fenced);
  table.get("starts", call.starts);
  table.get("second", call.second);
  table.get("may_be_text", call.may_be_text);
  table.get("separators", call.separators);
  table.get("name_stops", call.name_stops);
  table.get("name_prefix", call.name_prefix);
  table.get("name_is_id", call.name_is_id);
  table.get("by_recipient", call.by_recipient);
  table.get("id_open", call.id_open);
  table.get("name_twice", call.name_twice);
  table.get("fixed_name", call.fixed_name);
  table.get("certain", call.is_certain);
  table.choose("known_tools", call.known_tools, kKnownTools);
  table.choose("body", call.body, kBodies);
  if (table.has("json_call")) {
    const Table body = table.table("json_call");
    body.get("name_keys", call.json_call.name_keys);
    body.get("arguments_keys", call.json_call.arguments_keys);
    body.get("id_keys", call.json_call.id_keys);
    body.get("wrapper_keys", call.json_call.wrapper_keys);
    body.get("name_is_key", call.json_call.name_is_key);
  }
  if (table.has("xml_parameters")) {
    const Table body = table.table("xml_parameters");
    call.xml_parameters.open = body.marker("open");
    call.xml_parameters.name_close = body.marker("name_close");
    call.xml_parameters.close = body.marker("close");
    body.get("name_end", call.xml_parameters.name_end);
    body.get("value_open", call.xml_parameters.value_open);
    body.get("entities", call.xml_parameters.entities);
    body.get("json_body", call.xml_parameters.json_body);
    body.get("python_values", call.xml_parameters.python_values);
    if (body.has("types")) {
      for (const auto& [text, type] : body.table("types").members()) {
        call.xml_parameters.types.emplace_back(text, type_named(Table::text_of(type, "types")));
      }
    }
    body.get("next_closes", call.xml_parameters.next_closes);
    body.get("name_entities", call.xml_parameters.name_entities);
    body.get("guess_types", call.xml_parameters.guess_types);
    body.choose("trim", call.xml_parameters.trim, kTrims);
  }
  if (table.has("xml_elements")) {
    const Table body = table.table("xml_elements");
    call.xml_elements.open = body.marker("open");
  }
  return call;
}

MarkupSpec read_markup(const Table& table) {
  MarkupSpec markup;
  markup.open = table.marker("open");
  markup.close = table.marker("close");
  table.get("begins", markup.begins);
  table.get("recipient", markup.recipient);
  table.get("not_tools", markup.not_tools);
  table.get("reasoning", markup.reasoning);
  table.get("inline", markup.is_inline);
  table.get("header", markup.header);
  return markup;
}

}  // namespace

FormatSpec read_format_spec(const JsonValue& description) {
  const Table table(description, "a format");
  FormatSpec spec;
  table.get("name", spec.name);
  table.get("ignore", spec.ignore);
  table.choose("call_ids", spec.call_ids, kCallIds);
  if (table.has("reasoning")) {
    const Table part = table.table("reasoning");
    ReasoningSpec& reasoning = spec.reasoning.emplace();
    reasoning.open = part.marker("open");
    reasoning.close = part.marker("close");
    part.get("label", reasoning.label);
    part.get("starts_open", reasoning.starts_open);
    part.get("turn", reasoning.turn);
    part.choose("tool_calls", reasoning.calls, kCallsInReasoning);
  }
  if (table.has("markup")) {
    for (const JsonValue& item : table.list("markup"))
      spec.markup.push_back(read_markup(Table(item, "markup")));
  }
  if (table.has("section")) {
    const Table part = table.table("section");
    spec.section_open = part.marker("open");
    spec.section_close = part.marker("close");
  }
  if (table.has("call")) {
    for (const JsonValue& item : table.list("call"))
      spec.calls.push_back(read_call(Table(item, "call")));
  }
  return spec;
}

FormatSpec for_tools(FormatSpec spec, const ToolUse& tools) {
  if (!tools.is_on) {
    const bool has_headers = std::any_of(spec.markup.begin(), spec.markup.end(),
                                         [](const MarkupSpec& one) { return one.has_header(); });
    for (CallSpec& call : spec.calls) {
      if (has_headers) spec.call_texts.push_back(std::move(call.open));
    }
    spec.calls.clear();
    spec.section_open = spec.section_close = {};
  } else if (tools.is_required || !tools.name.empty()) {
    // What guided decoding writes: the arguments alone, or the list of calls.
    CallSpec guided;
    guided.bare = BarePlace::start;
    guided.is_certain = true;
    if (!tools.name.empty()) {
      guided.starts = "{";
      guided.body = BodyKind::json_arguments;
      guided.fixed_name = tools.name;
    } else {
      guided.starts = "[{";
      guided.separators = ",;";
    }
    std::erase_if(spec.calls, [](const CallSpec& call) { return call.bare != BarePlace::nowhere; });
    spec.calls.insert(spec.calls.begin(), std::move(guided));
  }
  return spec;
}

std::vector<MarkerToken> marker_tokens(const Vocabulary& vocabulary) {
  std::vector<MarkerToken> tokens;
  for (const AddedToken& token : vocabulary.added_tokens())
    tokens.push_back({token.id, token.content});
  return tokens;
}

std::shared_ptr<const Format> read_format(std::string_view json, const FormatOptions& options) {
  const std::optional<JsonValue> file = parse_json(json);
  const JsonValue* version = file ? file->find("unspool_format") : nullptr;
  if (version == nullptr)
    throw FormatError("this is no format file: write one with `unspool export-format`");
  if (!version->is(JsonValue::Kind::number) || version->text != "1")
    throw FormatError("the format file is of another version: export it with this unspool");
  std::vector<MarkerToken> tokens;
  if (options.vocabulary) tokens = marker_tokens(*options.vocabulary);
  if (const JsonValue* made = file->find("response_template"))
    return Format::from_template(ResponseTemplate::compile(*made), "response_template", tokens);
  const JsonValue* description = file->find("format");
  if (description == nullptr) throw FormatError("the format file holds no format");
  return Format::compile(for_tools(read_format_spec(*description), options.tools), tokens,
                         options.trust);
}

}  // namespace unspool
