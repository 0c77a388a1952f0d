#include "format/describe.h"

#include <string_view>
#include <utility>

#include "format/description_words.h"

namespace unspool {

namespace {

/// A table that leaves out what says nothing.
class Table {
 public:
  void set(std::string_view key, const std::string& text) {
    if (!text.empty()) value_.set(key, JsonValue::of_string(text));
  }
  void set(std::string_view key, bool flag) {
    if (flag) value_.set(key, JsonValue::of(true));
  }
  void set(std::string_view key, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    JsonValue list;
    list.kind = JsonValue::Kind::array;
    for (const std::string& text : texts) list.items.push_back(JsonValue::of_string(text));
    value_.set(key, std::move(list));
  }
  void set(const std::string& key, const MarkerSpec& marker) {
    set(key, marker.texts);
    set(key + "_before", marker.before);
    set(key + "_after", marker.after);
  }
  void set(std::string_view key, Table table) {
    if (!table.value_.members.empty()) value_.set(key, std::move(table.value_));
  }
  void set(std::string_view key, std::vector<Table> tables) {
    if (tables.empty()) return;
    JsonValue list;
    list.kind = JsonValue::Kind::array;
    for (Table& table : tables) list.items.push_back(std::move(table.value_));
    value_.set(key, std::move(list));
  }
  void choose(std::string_view key, std::string_view choice) {
    if (!choice.empty()) value_.set(key, JsonValue::of_string(choice));
  }
  JsonValue take() { return std::move(value_); }

 private:
  JsonValue value_ = JsonValue::object();
};

Table describe_json_call(const JsonCallSpec& spec) {
  Table table;
  if (spec == JsonCallSpec{}) return table;
  table.set("python", spec.python);
  table.set("name_is_key", spec.name_is_key);
  if (spec.name_is_key) return table;
  table.set("name_keys", spec.name_keys);
  table.set("arguments_keys", spec.arguments_keys);
  table.set("id_keys", spec.id_keys);
  table.set("wrapper_keys", spec.wrapper_keys);
  return table;
}

Table describe_parameters(const XmlParametersSpec& spec) {
  Table table;
  table.set("open", spec.open);
  table.set("name_close", spec.name_close);
  table.set("close", spec.close);
  table.set("name_end", spec.name_end);
  Table types;
  for (const auto& [text, type] : spec.types)
    types.choose(text, type == kJsonTypes ? "json" : name_of(kTypes, type));
  table.set("types", std::move(types));
  table.set("value_open", spec.value_open);
  table.choose("trim", name_of(kTrims, spec.trim));
  table.set("name_entities", spec.name_entities);
  table.set("guess_types", spec.guess_types);
  table.set("entities", spec.entities);
  table.set("python_values", spec.python_values);
  table.set("json_body", spec.json_body);
  table.set("json_open", spec.json_open);
  table.set("json_close", spec.json_close);
  table.set("keyless", spec.is_keyless);
  return table;
}

Table describe_call(const CallSpec& call) {
  Table table;
  table.set("open", call.open);
  table.set("close", call.close);
  table.choose("bare", name_of(kPlaces, call.bare));
  table.set("fenced", call.fenced);
  table.set("starts", call.starts);
  table.set("second", call.second);
  table.set("may_be_text", call.may_be_text);
  table.set("separators", call.separators);
  table.set("name_close", call.name_close);
  table.set("name_stops", call.name_stops);
  table.set("name_prefix", call.name_prefix);
  table.set("name_is_id", call.name_is_id);
  table.set("name_twice", call.name_twice);
  table.set("id_open", call.id_open);
  table.set("id_close", call.id_close);
  table.set("next", call.next);
  table.set("by_recipient", call.by_recipient);
  if (call.known_tools != KnownTools::any)
    table.choose("known_tools", name_of(kKnownTools, call.known_tools));
  table.choose("body", name_of(kBodies, call.body));
  table.set("json_call", describe_json_call(call.json_call));
  if (call.body == BodyKind::xml_parameters)
    table.set("xml_parameters", describe_parameters(call.xml_parameters));
  if (call.body == BodyKind::xml_elements) {
    Table elements;
    elements.set("open", call.xml_elements.open);
    table.set("xml_elements", std::move(elements));
  }
  table.set("quotes", call.quotes);
  return table;
}

Table describe_reasoning(const ReasoningSpec& spec) {
  Table table;
  table.set("open", spec.open);
  table.set("close", spec.close);
  table.set("label", spec.label);
  table.set("starts_open", spec.starts_open);
  table.set("turn", spec.turn);
  table.choose("tool_calls", name_of(kCallsInReasoning, spec.calls));
  return table;
}

Table describe_markup(const MarkupSpec& spec) {
  Table table;
  table.set("open", spec.open);
  table.set("close", spec.close);
  table.set("begins", spec.begins);
  table.set("recipient", spec.recipient);
  table.set("not_tools", spec.not_tools);
  table.set("reasoning", spec.reasoning);
  table.set("calls", spec.calls);
  table.set("names_tool", spec.names_tool);
  table.set("starts_open", spec.starts_open);
  table.set("header", spec.header);
  table.set("inline", spec.is_inline);
  return table;
}

}  // namespace

JsonValue describe(const FormatSpec& spec) {
  Table table;
  table.set("name", spec.name);
  table.set("ignore", spec.ignore);
  if (spec.call_ids != CallIdStyle::random)
    table.choose("call_ids", name_of(kCallIds, spec.call_ids));
  if (spec.reasoning) table.set("reasoning", describe_reasoning(*spec.reasoning));
  std::vector<Table> markup, calls;
  for (const MarkupSpec& each : spec.markup) markup.push_back(describe_markup(each));
  table.set("markup", std::move(markup));
  Table section;
  section.set("open", spec.section_open);
  section.set("close", spec.section_close);
  table.set("section", std::move(section));
  for (const CallSpec& call : spec.calls) calls.push_back(describe_call(call));
  table.set("call", std::move(calls));
  return table.take();
}

}  // namespace unspool
