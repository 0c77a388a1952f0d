// A schema's type is often said elsewhere: by a reference, by each choice of a union, or only by a
// keyword. The rules are those of the grammar's writer (writing/schemas/schema_merge.py), so that
// what a grammar writes is read as it was meant:
//
//   {"type": "integer"}                     integer
//   {"enum": [1, "a"]}                      integer, string
//   {"minLength": 1}                        string: the keyword is one of strings
//   {"minLength": 1, "minimum": 1}          any: the keywords are of several types
//   {"anyOf": [{"minLength": 1}, {"type": "null"}]}     string, null
//   {"allOf": [{"type": ["integer", "string"]}, {"type": ["integer", "null"]}]}     integer
#include "format/tool_schemas.h"

#include <algorithm>
#include <utility>

#include "format/named_values.h"
#include "text/error.h"
#include "text/json_number.h"

namespace unspool {

namespace {

constexpr int kMaxDepth = 64;
constexpr int kMaxLevel = 7;
// A schema may double with each level of `$ref`. Beyond this many parts it is read less deeply: the
// types of inner values are a help for text between tags, and no check.
constexpr std::size_t kMaxVisits = 20'000;
constexpr std::size_t kMaxLeastVisits = 200'000;  // with the types of the parameters alone
constexpr std::string_view kUnions[] = {"anyOf", "oneOf"};

constexpr Word<TypeSet> kDeclaredTypes[] = {
    {"null", TypeSet(TypeSet::null)},       {"boolean", TypeSet(TypeSet::boolean)},
    {"integer", TypeSet(TypeSet::integer)}, {"number", TypeSet(TypeSet::number)},
    {"string", TypeSet(TypeSet::string)},   {"array", TypeSet(TypeSet::array)},
    {"object", TypeSet(TypeSet::object)}};

// The type that a keyword implies. The same table as KEYWORDS_OF_TYPE in Python.
constexpr Word<TypeSet> kImpliedTypes[] = {{"properties", TypeSet(TypeSet::object)},
                                           {"required", TypeSet(TypeSet::object)},
                                           {"additionalProperties", TypeSet(TypeSet::object)},
                                           {"patternProperties", TypeSet(TypeSet::object)},
                                           {"propertyNames", TypeSet(TypeSet::object)},
                                           {"minProperties", TypeSet(TypeSet::object)},
                                           {"maxProperties", TypeSet(TypeSet::object)},
                                           {"items", TypeSet(TypeSet::array)},
                                           {"prefixItems", TypeSet(TypeSet::array)},
                                           {"additionalItems", TypeSet(TypeSet::array)},
                                           {"minItems", TypeSet(TypeSet::array)},
                                           {"maxItems", TypeSet(TypeSet::array)},
                                           {"uniqueItems", TypeSet(TypeSet::array)},
                                           {"minLength", TypeSet(TypeSet::string)},
                                           {"maxLength", TypeSet(TypeSet::string)},
                                           {"pattern", TypeSet(TypeSet::string)},
                                           {"minimum", TypeSet(TypeSet::number)},
                                           {"maximum", TypeSet(TypeSet::number)},
                                           {"exclusiveMinimum", TypeSet(TypeSet::number)},
                                           {"exclusiveMaximum", TypeSet(TypeSet::number)},
                                           {"multipleOf", TypeSet(TypeSet::number)}};

// Formats of strings; `format` is also said of numbers, as in "int32". FORMAT_PATTERNS in Python.
constexpr std::string_view kTextFormats[] = {"date-time", "date", "time", "duration", "email",
                                             "hostname",  "ipv4", "ipv6", "uuid",     "uri"};

TypeSet type_of(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::null: return TypeSet(TypeSet::null);
    case JsonValue::Kind::boolean: return TypeSet(TypeSet::boolean);
    case JsonValue::Kind::number:
      return TypeSet(JsonNumber(value.text).is_integer() ? TypeSet::integer : TypeSet::number);
    case JsonValue::Kind::string: return TypeSet(TypeSet::string);
    case JsonValue::Kind::array: return TypeSet(TypeSet::array);
    case JsonValue::Kind::object: return TypeSet(TypeSet::object);
  }
  return TypeSet::any();
}

// A number allows integers too.
TypeSet common(TypeSet a, TypeSet b) {
  const TypeSet found(static_cast<std::uint8_t>(a.bits() & b.bits()));
  const bool has_integer = (a.has(TypeSet::integer) && b.has(TypeSet::number)) ||
                           (a.has(TypeSet::number) && b.has(TypeSet::integer));
  return has_integer ? found | TypeSet(TypeSet::integer) : found;
}

bool is_true(const JsonValue* value) { return value != nullptr && value->is_true; }

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

// The types of `type`, `enum` and `const`; nothing if the schema has none of them.
TypeReadings stated_types(const JsonValue& schema) {
  TypeReadings found = TypeReadings::any();
  const TypeSet null = is_true(schema.find("nullable")) ? TypeSet(TypeSet::null) : TypeSet();
  const auto add = [&](TypeSet types) {
    if (!types.is_empty()) found.meet(TypeReadings::stated(types | null));
  };
  if (const JsonValue* declared = schema.find("type")) add(declared_types(*declared));
  if (const JsonValue* constant = schema.find("const")) add(type_of(*constant));
  if (const JsonValue* values = schema.find("enum")) {
    TypeSet any_of;
    for (const JsonValue& value : values->items) any_of = any_of | type_of(value);
    add(any_of);
  }
  return found;
}

TypeSet implied_types(const JsonValue& schema) {
  TypeSet types;
  for (const auto& [keyword, value] : schema.members) {
    if (const auto* word = find_word(kImpliedTypes, keyword)) types = types | word->value;
    const bool is_text_format = keyword == "format" && value.is(JsonValue::Kind::string) &&
                                std::find(std::begin(kTextFormats), std::end(kTextFormats),
                                          value.text) != std::end(kTextFormats);
    if (is_text_format) types = types | TypeSet(TypeSet::string);
  }
  return types;
}

// Whether the schema says nothing: `{}` or true.
bool is_all(const JsonValue& schema) {
  return schema.is_true || (schema.is(JsonValue::Kind::object) && schema.members.empty());
}

// What the schema's own keywords say.
TypeReadings own_types(const JsonValue& schema) {
  if (schema.is(JsonValue::Kind::boolean) && !schema.is_true) return TypeReadings::none();
  const JsonValue* excluded = schema.find("not");
  if (excluded != nullptr && is_all(*excluded)) return TypeReadings::none();
  TypeReadings found = stated_types(schema);
  found.meet(TypeReadings::implied(implied_types(schema)));
  return found;
}

// Whether OpenAPI's `nullable` adds null to a type that is elsewhere.
bool allows_null(const JsonValue& schema) {
  constexpr std::string_view kElsewhere[] = {"$ref", "allOf", "anyOf", "oneOf"};
  return is_true(schema.find("nullable")) && schema.find("type") == nullptr &&
         std::any_of(std::begin(kElsewhere), std::end(kElsewhere),
                     [&](std::string_view key) { return schema.find(key) != nullptr; });
}

}  // namespace

void TypeReadings::meet(const TypeReadings& other) {
  std::vector<Reading> found;
  for (const Reading& a : readings_) {
    for (const Reading& b : other.readings_) {
      Reading both;
      both.is_stated = a.is_stated || b.is_stated;
      both.allowed = !a.is_stated   ? b.allowed
                     : !b.is_stated ? a.allowed
                                    : common(a.allowed, b.allowed);
      if (!both.is_stated) both.implied = a.implied | b.implied;
      found.push_back(both);
    }
  }
  readings_ = std::move(found);
  tidy();
}

void TypeReadings::join(const TypeReadings& other) {
  readings_.insert(readings_.end(), other.readings_.begin(), other.readings_.end());
  tidy();
}

// All readings that state types are one, with the types of any of them. The others differ only in
// the kinds of their keywords, so there are at most seventeen.
void TypeReadings::tidy() {
  Reading stated{TypeSet(), true};
  bool is_any_stated = false;
  std::erase_if(readings_, [&](const Reading& reading) {
    if (!reading.is_stated) return false;
    is_any_stated = true;
    stated.allowed = stated.allowed | reading.allowed;
    return true;
  });
  if (is_any_stated) readings_.push_back(stated);
  std::sort(readings_.begin(), readings_.end());
  readings_.erase(std::unique(readings_.begin(), readings_.end()), readings_.end());
}

TypeSet TypeReadings::types() const {
  TypeSet found;
  for (const Reading& reading : readings_) {
    const std::uint8_t implied = reading.implied.bits();
    const bool is_one = implied != 0 && (implied & (implied - 1)) == 0;
    found = found | (!reading.is_stated && is_one ? reading.implied : reading.allowed);
  }
  return found.is_empty() ? TypeSet::any() : found;
}

void SchemaReader::Place::meet(Place&& other) {
  TypeReadings both = types;
  both.meet(other.types);
  if (may_be_absent) both.join(other.types);
  if (other.may_be_absent) both.join(types);
  types = std::move(both);
  may_be_absent = may_be_absent && other.may_be_absent;
  for (auto& [name, property] : other.properties) {
    const auto [it, is_new] = properties.try_emplace(name);
    is_new ? void(it->second = std::move(property)) : it->second.meet(std::move(property));
  }
  if (items.empty()) {
    items = std::move(other.items);
  } else if (!other.items.empty()) {
    items[0].meet(std::move(other.items[0]));
  }
  required.merge(other.required);
}

void SchemaReader::Place::join(Place&& other) {
  types.join(other.types);
  may_be_absent = may_be_absent || other.may_be_absent;
  ++choices;
  for (auto& [name, property] : other.properties) {
    const auto [it, is_new] = properties.try_emplace(name);
    if (is_new) {
      it->second = std::move(property);
    } else {
      ++it->second.named_by;
      it->second.join(std::move(property));
    }
  }
  if (items.empty()) {
    items = std::move(other.items);
  } else if (!other.items.empty()) {
    items[0].join(std::move(other.items[0]));
  }
  std::erase_if(required, [&](const auto& name) { return other.required.count(name) == 0; });
}

// All choices are joined: those that do not name a property allow anything for it.
void SchemaReader::Place::end_union() {
  if (choices == 1) return;
  for (auto& [name, property] : properties) {
    property.may_be_absent = property.may_be_absent || property.named_by < choices;
    property.named_by = 1;
    property.end_union();
  }
  for (Place& item : items) item.end_union();
  choices = 1;
}

ValueSchema SchemaReader::Place::value() const {
  ValueSchema found;
  found.types = types.types();
  for (const auto& [name, property] : properties) found.properties.emplace(name, property.value());
  for (const Place& item : items) found.items.push_back(item.value());
  return found;
}

ToolSchema SchemaReader::read(JsonValue parameters) {
  document_ = std::make_shared<const SchemaDocument>(std::move(parameters));
  known_types_.clear();
  max_visits_ = kMaxVisits;
  for (int level = kMaxLevel; level > 1; --level) {
    ToolSchema found = read_to(level);
    if (visits_ <= max_visits_) return found;
  }
  max_visits_ = kMaxLeastVisits;
  return read_to(1);
}

ToolSchema SchemaReader::read_to(int max_level) {
  max_level_ = max_level;
  visits_ = 0;
  open_.clear();
  ToolSchema found;
  found.document = document_;
  const std::optional<Place> root = place(document_->root(), 0, 0);
  if (!root) return found;
  for (const auto& [name, property] : root->properties)
    found.parameters.emplace(name, property.value());
  found.required.assign(root->required.begin(), root->required.end());
  return found;
}

// The schemas that apply to the same value: the target of the reference, and the parts of the
// others. A part without an answer, such as a recursive reference, adds nothing.
template <typename Found, typename Read>
void SchemaReader::add_parts(const JsonValue& schema, Found& found, const Read& read) const {
  const auto meet = [&](std::optional<Found> part) {
    if (part) found.meet(std::move(*part));
  };
  if (const JsonValue* target = document_->target(schema)) meet(read(*target));
  if (const JsonValue* parts = schema.find("allOf")) {
    for (const JsonValue& part : parts->items) meet(read(part));
  }
  for (const std::string_view key : kUnions) {
    const JsonValue* parts = schema.find(key);
    if (parts == nullptr) continue;
    std::optional<Found> any;
    for (const JsonValue& part : parts->items) {
      std::optional<Found> choice = read(part);
      if (!choice) continue;
      any ? any->join(std::move(*choice)) : void(any = std::move(choice));
    }
    if constexpr (requires { any->end_union(); }) {
      if (any) any->end_union();
    }
    meet(std::move(any));
  }
}

// A value's types, and those of the values inside it.
std::optional<SchemaReader::Place> SchemaReader::place(const JsonValue& schema, int level,
                                                       int depth) {
  if (++visits_ > max_visits_ || depth > kMaxDepth) return std::nullopt;
  if (level == max_level_) {
    Place found;
    if (auto read = types(schema, 0)) found.types = std::move(*read);
    return found;
  }
  if (!open_.emplace(&schema, level).second) return std::nullopt;
  Place found = own_place(schema, level);
  add_parts(schema, found, [&](const JsonValue& part) { return place(part, level, depth + 1); });
  if (allows_null(schema)) found.types.join(TypeReadings::stated(TypeSet(TypeSet::null)));
  open_.erase({&schema, level});
  return found;
}

SchemaReader::Place SchemaReader::own_place(const JsonValue& schema, int level) {
  Place found;
  found.types = own_types(schema);
  if (const JsonValue* properties = schema.find("properties")) {
    for (const auto& [name, property] : properties->members) {
      if (visits_ > max_visits_) return found;
      found.properties[name] = place(property, level + 1, 0).value_or(Place());
    }
  }
  const JsonValue* items = schema.find("items");
  if (items != nullptr && !items->is(JsonValue::Kind::array))
    found.items.push_back(place(*items, level + 1, 0).value_or(Place()));
  if (const JsonValue* required = schema.find("required")) {
    for (const JsonValue& name : required->items) {
      if (name.is(JsonValue::Kind::string)) found.required.insert(name.text);
    }
  }
  return found;
}

// Kept by address: a definition that a thousand parameters refer to is read once. While it is read
// it has no answer.
std::optional<TypeReadings> SchemaReader::types(const JsonValue& schema, int depth) {
  if (depth > kMaxDepth) return std::nullopt;
  const auto [known, is_new] = known_types_.try_emplace(&schema);
  if (!is_new) return known->second;
  TypeReadings found = own_types(schema);
  add_parts(schema, found, [&](const JsonValue& part) { return types(part, depth + 1); });
  if (allows_null(schema)) found.join(TypeReadings::stated(TypeSet(TypeSet::null)));
  return known_types_[&schema] = std::move(found);
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
