#include "format/old_facts.h"

#include <string_view>
#include <utility>

#include "format/named_values.h"
#include "format/turn.h"

namespace unspool {

namespace {

constexpr Word<KnownTools> kKnownTools[] = {{"if_given", KnownTools::if_given},
                                            {"required", KnownTools::required}};
constexpr Word<ValueTrim> kTrims[] = {{"none", ValueTrim::none},
                                      {"newline", ValueTrim::newline},
                                      {"newline", ValueTrim::newline_pair},
                                      {"space", ValueTrim::space}};

/// The facts of one table, without empty ones.
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
  void add(const std::string& key, const MarkerTexts& marker) {
    add(key, marker.texts);
    add(key + "_before", marker.before);
    add(key + "_after", marker.after);
  }
  OldTable inner(const std::string& key) { return {facts_, path_ + key + "."}; }

 private:
  Facts& facts_;
  std::string path_;
};

void add_json_call(OldTable table, const ObjectSlot& slot) {
  if (slot == ObjectSlot{}) return;
  table.add("python", slot.python);
  table.add("name_is_key", slot.name_is_key);
  if (slot.name_is_key) return;
  table.add("name_keys", slot.name_keys);
  table.add("arguments_keys", slot.arguments_keys);
  table.add("id_keys", slot.id_keys);
  table.add("wrapper_keys", slot.wrapper_keys);
}

void add_parameters(OldTable table, const ParametersSlot& slot) {
  table.add("open", slot.open);
  table.add("name_close", slot.key_close);
  table.add("close", slot.close);
  table.add("name_end", slot.key_end);
  for (const auto& [text, type] : slot.types)
    table.inner("types").add(text, type == kJsonTypes ? "json" : name_of(kTypes, type));
  table.add("value_open", slot.value_open);
  table.add("trim", name_of(kTrims, slot.trim));
  table.add("name_entities", slot.key_entities);
  table.add("guess_types", slot.guess_types);
  table.add("entities", slot.entities);
  table.add("python_values", slot.python_values);
  table.add("json_body", slot.json_body);
  table.add("json_open", slot.json_open);
  table.add("json_close", slot.json_close);
  table.add("keyless", slot.is_keyless);
}

void add_call(OldTable table, const CallRegion& call) {
  table.add("open", call.open);
  table.add("close", call.close);
  table.add("bare", name_of(kPlaces, call.start.place));
  table.add("fenced", call.start.fenced);
  table.add("starts", call.start.letters);
  table.add("second", call.start.second);
  table.add("may_be_text", call.start.may_be_text);
  table.add("separators", call.separators);
  table.add("name_close", call.name.close);
  table.add("name_stops", call.name.stops);
  table.add("name_prefix", call.name.prefix);
  table.add("name_is_id", call.name.is_id);
  table.add("name_twice", call.name.is_twice);
  table.add("id_open", call.name.id_open);
  table.add("id_close", call.name.id_close);
  table.add("next", call.next);
  table.add("by_recipient", call.start.after_header);
  table.add("known_tools", name_of(kKnownTools, call.start.known_tools));
  table.add("body", name_of(kBodies, call.kind()));
  if (const auto* slot = call.body_as<ObjectSlot>()) add_json_call(table.inner("json_call"), *slot);
  if (const auto* slot = call.body_as<ParametersSlot>())
    add_parameters(table.inner("xml_parameters"), *slot);
  if (const auto* slot = call.body_as<ElementsSlot>())
    table.inner("xml_elements").add("open", slot->open);
  if (const auto* slot = call.body_as<LiteralSlot>()) table.add("quotes", slot->quotes);
}

void add_reasoning(OldTable table, const ReasoningRegion& region, const Program& program) {
  table.add("open", region.open);
  table.add("close", region.close);
  table.add("label", region.label);
  table.add("starts_open", opens_reasoning(program));
  table.add("turn", turn_markers(program));
  table.add("tool_calls", name_of(kCallsInReasoning, region.calls));
}

void add_markup(OldTable table, const MarkupRegion& region) {
  table.add("open", region.open);
  table.add("close", region.close);
  table.add("recipient", region.recipient);
  table.add("not_tools", region.not_tools);
  table.add("reasoning", region.reasoning);
  table.add("calls", region.calls);
  table.add("names_tool", region.names_tool);
  table.add("header", region.header);
  table.add("inline", region.is_inline);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> old_facts(const Program& program) {
  OldTable::Facts facts;
  OldTable file(facts, "");
  file.add("ignore", program.ends);
  if (program.call_ids != CallIdStyle::random)
    file.add("call_ids", name_of(kCallIds, program.call_ids));
  if (program.reasoning) add_reasoning(file.inner("reasoning"), *program.reasoning, program);
  for (const MarkupRegion& each : program.markup) add_markup(file.inner("markup"), each);
  file.inner("section").add("open", program.section.open);
  file.inner("section").add("close", program.section.close);
  for (const CallRegion& call : program.calls) add_call(file.inner("call"), call);
  return facts;
}

}  // namespace unspool
