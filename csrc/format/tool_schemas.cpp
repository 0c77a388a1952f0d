#include "format/tool_schemas.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "format/named_values.h"
#include "text/error.h"

namespace unspool {

namespace {

constexpr int kMaxDepth = 32;
constexpr int kMaxLevel = 6;
// A schema may double with each level of `$ref`. Beyond this many parts it is read less deeply: the
// types of inner values are a help for text between tags, and no check.
constexpr std::size_t kMaxVisits = 20'000;
constexpr std::string_view kMergers[] = {"allOf", "anyOf", "oneOf"};

constexpr Word<TypeSet> kDeclaredTypes[] = {
    {"null", TypeSet(TypeSet::null)},       {"boolean", TypeSet(TypeSet::boolean)},
    {"integer", TypeSet(TypeSet::integer)}, {"number", TypeSet(TypeSet::number)},
    {"string", TypeSet(TypeSet::string)},   {"array", TypeSet(TypeSet::array)},
    {"object", TypeSet(TypeSet::object)}};

// 3.0 is an integer for JSON Schema and not for a reader of text: "3.0" stays as it is written.
TypeSet type_of(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::null: return TypeSet(TypeSet::null);
    case JsonValue::Kind::boolean: return TypeSet(TypeSet::boolean);
    case JsonValue::Kind::number: {
      const bool is_integer = value.text.find_first_of(".eE") == std::string::npos;
      return TypeSet(is_integer ? TypeSet::integer | TypeSet::number : TypeSet::number);
    }
    case JsonValue::Kind::string: return TypeSet(TypeSet::string);
    case JsonValue::Kind::array: return TypeSet(TypeSet::array);
    case JsonValue::Kind::object: return TypeSet(TypeSet::object);
  }
  return TypeSet::any();
}

// An empty set of constraints allows all types.
TypeSet meet(TypeSet a, TypeSet b) {
  return b.is_empty() ? a : TypeSet(static_cast<std::uint8_t>(a.bits() & b.bits()));
}

TypeSet declared_types(const JsonValue& declared) {
  TypeSet types;
  const auto add = [&](const JsonValue& name) {
    if (!name.is(JsonValue::Kind::string)) return;
    if (const auto* word = find_word(kDeclaredTypes, name.text)) types = types | word->value;
  };
  if (declared.is(JsonValue::Kind::array)) {
    for (const JsonValue& name : declared.items) add(name);
  } else {
    add(declared);
  }
  return types;
}

// The type that the schema itself has.
TypeSet stated_types(const JsonValue& schema) {
  TypeSet found = TypeSet::any();
  if (const JsonValue* declared = schema.find("type"))
    found = meet(found, declared_types(*declared));
  if (const JsonValue* constant = schema.find("const")) found = meet(found, type_of(*constant));
  if (const JsonValue* values = schema.find("enum")) {
    TypeSet any_of;
    for (const JsonValue& value : values->items) any_of = any_of | type_of(value);
    found = meet(found, any_of);
  }
  return found;
}

// The types implied by the members of a schema without a type.
// Many tools have `properties` and no `type`. Without this rule an object would be read as text.
TypeSet implied_types(const JsonValue& schema) {
  if (schema.find("properties") != nullptr) return TypeSet(TypeSet::object);
  const bool has_items = schema.find("items") != nullptr || schema.find("prefixItems") != nullptr;
  return has_items ? TypeSet(TypeSet::array) : TypeSet::any();
}

std::string unescape_pointer(std::string_view part) {
  std::string key;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const bool is_escape = part[i] == '~' && i + 1 < part.size();
    if (is_escape && (part[i + 1] == '0' || part[i + 1] == '1')) {
      key += part[++i] == '0' ? '~' : '/';
    } else {
      key += part[i];
    }
  }
  return key;
}

// The schema's own `required`; that of its parts may belong to one of several choices.
std::vector<std::string> required_by(const JsonValue& schema) {
  std::vector<std::string> names;
  const JsonValue* required = schema.find("required");
  if (required == nullptr) return names;
  for (const JsonValue& name : required->items) {
    if (name.is(JsonValue::Kind::string)) names.push_back(name.text);
  }
  return names;
}

}  // namespace

// The question is whether a bare JSON object is meant as a call of this tool. So an unknown member
// counts against it, although JSON Schema would allow it.
bool fits_schema(std::string_view arguments, const ToolSchema& schema) {
  const std::optional<JsonValue> given = parse_json(arguments);
  if (!given || !given->is(JsonValue::Kind::object)) return false;
  const bool has_all =
      std::all_of(schema.required.begin(), schema.required.end(),
                  [&](const std::string& name) { return given->find(name) != nullptr; });
  if (!has_all || schema.parameters.empty()) return has_all;
  return std::all_of(given->members.begin(), given->members.end(), [&](const auto& member) {
    const TypeSet* types = schema.types_of(member.first);
    return types != nullptr && (types->bits() & type_of(member.second).bits()) != 0;
  });
}

ToolSchema SchemaReader::read(const JsonValue& parameters) {
  root_ = &parameters;
  known_types_.clear();
  indexes_.clear();
  max_visits_ = kMaxVisits;
  for (max_level_ = kMaxLevel; max_level_ > 0; --max_level_) {
    visits_ = 0;
    ToolSchema found{properties(parameters, 0), required_by(parameters)};
    if (visits_ <= max_visits_) return found;
  }
  max_visits_ = std::numeric_limits<std::size_t>::max();  // each part is visited at most once
  return {properties(parameters, 0), required_by(parameters)};
}

// The schema and the schemas that it combines, each once.
template <typename Use>
// In the order of the document, without recursion: a hostile schema must not use up the stack.
void SchemaReader::for_each_part(const JsonValue& schema, Use&& use) {
  std::vector<const JsonValue*> waiting = {&schema};
  std::unordered_set<const JsonValue*> seen;
  while (!waiting.empty()) {
    const JsonValue& part = *waiting.back();
    waiting.pop_back();
    if (!part.is(JsonValue::Kind::object) || !seen.insert(&part).second) continue;
    if (++visits_ > max_visits_) return;
    use(part);
    const std::size_t first = waiting.size();
    if (const JsonValue* reference = part.find("$ref")) {
      if (const JsonValue* target = resolve(*reference)) waiting.push_back(target);
    }
    for (const std::string_view key : kMergers) {
      const JsonValue* parts = part.find(key);
      if (parts == nullptr) continue;
      for (const JsonValue& inner : parts->items) waiting.push_back(&inner);
    }
    std::reverse(waiting.begin() + static_cast<std::ptrdiff_t>(first), waiting.end());
  }
}

std::map<std::string, ValueSchema, std::less<>> SchemaReader::properties(const JsonValue& schema,
                                                                         int level) {
  std::map<std::string, ValueSchema, std::less<>> found;
  for_each_part(schema, [&](const JsonValue& part) {
    const JsonValue* properties = part.find("properties");
    if (properties == nullptr) return;
    for (const auto& [name, schema_of_it] : properties->members) {
      if (visits_ > max_visits_) return;  // too large to read at this depth
      ValueSchema read = value(schema_of_it, level);
      const auto [it, is_new] = found.try_emplace(name);
      if (is_new) {
        it->second = std::move(read);
        continue;
      }
      it->second.types = it->second.types | read.types;
      for (auto& [inner, inner_value] : read.properties)
        it->second.properties.insert_or_assign(inner, std::move(inner_value));
      if (it->second.items.empty()) it->second.items = std::move(read.items);
    }
  });
  return found;
}

// A value's types, and those of the values inside it.
ValueSchema SchemaReader::value(const JsonValue& schema, int level) {
  ValueSchema read;
  read.types = types(schema, 0);
  if (level == max_level_) return read;
  const JsonValue* items = nullptr;
  for_each_part(schema, [&](const JsonValue& part) {
    if (items == nullptr) items = part.find("items");
  });
  if (items != nullptr) read.items.push_back(value(*items, level + 1));
  read.properties = properties(schema, level + 1);
  return read;
}

// The types that a value may have; all types if the schema does not restrict them.
// Kept by address: a definition that a thousand parameters refer to is read once.
TypeSet SchemaReader::types(const JsonValue& schema, int depth) {
  if (!schema.is(JsonValue::Kind::object) || depth > kMaxDepth) return TypeSet::any();
  // a recursive reference adds nothing
  const auto [known, is_new] = known_types_.try_emplace(&schema, TypeSet::any());
  if (!is_new) return known->second;
  return known_types_[&schema] = read_types(schema, depth);
}

// A contradiction allows nothing, and then the schema says nothing of use: all types are possible.
TypeSet SchemaReader::read_types(const JsonValue& schema, int depth) {
  TypeSet found = meet_parts(stated_types(schema), schema, depth);
  if (found == TypeSet::any()) found = implied_types(schema);
  const JsonValue* nullable = schema.find("nullable");
  if (nullable != nullptr && nullable->is_true) found = found | TypeSet(TypeSet::null);
  return found.is_empty() ? TypeSet::any() : found;
}

// The types that are also allowed by the schemas that this one combines.
TypeSet SchemaReader::meet_parts(TypeSet found, const JsonValue& schema, int depth) {
  if (const JsonValue* reference = schema.find("$ref")) {
    if (const JsonValue* target = resolve(*reference))
      found = meet(found, types(*target, depth + 1));
  }
  for (const std::string_view key : kMergers) {
    const JsonValue* parts = schema.find(key);
    if (parts == nullptr) continue;
    TypeSet together;
    for (const JsonValue& part : parts->items) {
      const TypeSet types_of_part = types(part, depth + 1);
      if (key == "allOf") {
        found = meet(found, types_of_part);
      } else {
        together = together | types_of_part;
      }
    }
    found = meet(found, together);
  }
  return found;
}

// A reference into the same document; null if it leads nowhere, which adds nothing.
const JsonValue* SchemaReader::resolve(const JsonValue& reference) {
  if (!reference.is(JsonValue::Kind::string) || !reference.text.starts_with('#')) return nullptr;
  const JsonValue* node = root_;
  std::string_view rest = reference.text;
  for (auto at = rest.find('/'); node != nullptr && at != std::string_view::npos;) {
    rest.remove_prefix(at + 1);
    at = rest.find('/');
    node = member(*node, unescape_pointer(rest.substr(0, at)));
  }
  return node;
}

// An object with many `$defs` is searched once per reference into it.
const JsonValue* SchemaReader::member(const JsonValue& object, const std::string& key) {
  constexpr std::size_t kLarge = 32;
  if (object.members.size() < kLarge) return object.find(key);
  const auto [index, is_new] = indexes_.try_emplace(&object);
  if (is_new) {
    for (const auto& [name, value] : object.members) index->second.emplace(name, &value);
  }
  const auto found = index->second.find(key);
  return found == index->second.end() ? nullptr : found->second;
}

// Hosts send tools in the shapes of OpenAI, of Anthropic, and flat; some with the parameters as
// text.
std::shared_ptr<const ToolSchemas> read_tools(std::string_view json) {
  const std::optional<JsonValue> tools = parse_json(json, DeepJson::null);
  if (!tools || !tools->is(JsonValue::Kind::array))
    throw ArgumentError("the tools are not a JSON list; pass the request's `tools`");
  auto schemas = std::make_shared<ToolSchemas>();
  SchemaReader reader;
  for (std::size_t i = 0; i < tools->items.size(); ++i) {
    const JsonValue& tool = tools->items[i];
    const JsonValue* inner = tool.find("function");
    const JsonValue& function = inner == nullptr || inner->is_empty() ? tool : *inner;
    const JsonValue* name = function.find("name");
    if (name == nullptr || !name->is(JsonValue::Kind::string) || name->text.empty()) {
      throw ArgumentError("tools[" + std::to_string(i) +
                          "] has no name; write {\"function\": {\"name\": ...}}");
    }
    const JsonValue* parameters = function.find("parameters");
    if (parameters == nullptr || parameters->is_empty()) parameters = function.find("input_schema");
    const JsonValue nothing;
    if (parameters == nullptr) parameters = &nothing;
    std::optional<JsonValue> written;  // as a text that contains JSON
    if (parameters->is(JsonValue::Kind::string) && !parameters->text.empty()) {
      written = parse_json(parameters->text, DeepJson::null);
      if (!written) {
        throw ArgumentError("the parameters of tools[" + std::to_string(i) + "] (" + name->text +
                            ") are not valid JSON");
      }
      parameters = &*written;
    }
    schemas->tools[name->text] = reader.read(*parameters);
  }
  return schemas;
}

}  // namespace unspool
