#include "format/old_facts.h"

#include <string_view>
#include <utility>

#include "format/named_values.h"
#include "format/turn.h"

namespace unspool {

namespace {

constexpr Word<KnownTools> kKnownTools[] = {{"if_given", KnownTools::if_given},
                                            {"required", KnownTools::required}};
constexpr Word<ValueTrim> kTrims[] = {
    {"none", ValueTrim::none}, {"newline", ValueTrim::newline}, {"space", ValueTrim::space}};

/// The facts of one table. What says nothing is left out.
class OldTable {
 public:
  using Facts = std::vector<std::pair<std::string, std::string>>;

  OldTable(Facts& facts, std::string path) : facts_(facts), path_(std::move(path)) {}

  void add(std::string_view key, std::string_view text) {
    if (!text.empty()) facts_.emplace_back(path_ + std::string(key), text);
  }
  void add(std::string_view key, bool flag) { add(key, std::string_view(flag ? "true" : "")); }
  void add(std::string_view key, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) add(key, std::string_view(text));
  }
  void add(const std::string& key, const MarkerSpec& marker) {
    add(key, marker.texts);
    add(key + "_before", marker.before);
    add(key + "_after", marker.after);
  }
  OldTable inner(const std::string& key) { return {facts_, path_ + key + "."}; }

 private:
  Facts& facts_;
  std::string path_;
};

void add_json_call(OldTable table, const JsonCallSpec& spec) {
  if (spec == JsonCallSpec{}) return;
  table.add("python", spec.python);
  table.add("name_is_key", spec.name_is_key);
  if (spec.name_is_key) return;
  table.add("name_keys", spec.name_keys);
  table.add("arguments_keys", spec.arguments_keys);
  table.add("id_keys", spec.id_keys);
  table.add("wrapper_keys", spec.wrapper_keys);
}

void add_parameters(OldTable table, const XmlParametersSpec& spec) {
  table.add("open", spec.open);
  table.add("name_close", spec.name_close);
  table.add("close", spec.close);
  table.add("name_end", spec.name_end);
  for (const auto& [text, type] : spec.types)
    table.inner("types").add(text, type == kJsonTypes ? "json" : name_of(kTypes, type));
  table.add("value_open", spec.value_open);
  table.add("trim", name_of(kTrims, spec.trim));
  table.add("name_entities", spec.name_entities);
  table.add("guess_types", spec.guess_types);
  table.add("entities", spec.entities);
  table.add("python_values", spec.python_values);
  table.add("json_body", spec.json_body);
  table.add("json_open", spec.json_open);
  table.add("json_close", spec.json_close);
  table.add("keyless", spec.is_keyless);
}

void add_call(OldTable table, const CallSpec& call) {
  table.add("open", call.open);
  table.add("close", call.close);
  table.add("bare", name_of(kPlaces, call.bare));
  table.add("fenced", call.fenced);
  table.add("starts", call.starts);
  table.add("second", call.second);
  table.add("may_be_text", call.may_be_text);
  table.add("separators", call.separators);
  table.add("name_close", call.name_close);
  table.add("name_stops", call.name_stops);
  table.add("name_prefix", call.name_prefix);
  table.add("name_is_id", call.name_is_id);
  table.add("name_twice", call.name_twice);
  table.add("id_open", call.id_open);
  table.add("id_close", call.id_close);
  table.add("next", call.next);
  table.add("by_recipient", call.by_recipient);
  table.add("known_tools", name_of(kKnownTools, call.known_tools));
  table.add("body", name_of(kBodies, call.body));
  add_json_call(table.inner("json_call"), call.json_call);
  if (call.body == BodyKind::xml_parameters)
    add_parameters(table.inner("xml_parameters"), call.xml_parameters);
  if (call.body == BodyKind::xml_elements)
    table.inner("xml_elements").add("open", call.xml_elements.open);
  table.add("quotes", call.quotes);
}

void add_reasoning(OldTable table, const ReasoningSpec& spec, const FormatSpec& format) {
  table.add("open", spec.open);
  table.add("close", spec.close);
  table.add("label", spec.label);
  table.add("starts_open", opens_reasoning(format));
  table.add("turn", turn_markers(format));
  table.add("tool_calls", name_of(kCallsInReasoning, spec.calls));
}

void add_markup(OldTable table, const MarkupSpec& spec) {
  table.add("open", spec.open);
  table.add("close", spec.close);
  table.add("recipient", spec.recipient);
  table.add("not_tools", spec.not_tools);
  table.add("reasoning", spec.reasoning);
  table.add("calls", spec.calls);
  table.add("names_tool", spec.names_tool);
  table.add("header", spec.header);
  table.add("inline", spec.is_inline);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> old_facts(const FormatSpec& spec) {
  OldTable::Facts facts;
  OldTable file(facts, "");
  file.add("ignore", spec.ignore);
  if (spec.call_ids != CallIdStyle::random) file.add("call_ids", name_of(kCallIds, spec.call_ids));
  if (spec.reasoning) add_reasoning(file.inner("reasoning"), *spec.reasoning, spec);
  for (const MarkupSpec& each : spec.markup) add_markup(file.inner("markup"), each);
  file.inner("section").add("open", spec.section_open);
  file.inner("section").add("close", spec.section_close);
  for (const CallSpec& call : spec.calls) add_call(file.inner("call"), call);
  return facts;
}

}  // namespace unspool
