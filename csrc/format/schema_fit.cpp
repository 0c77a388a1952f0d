// The question is whether an object is meant as a call of this tool. So a key that the tool does
// not name counts against it, although JSON Schema would allow it; inside values, JSON Schema
// decides.
//
// Neither side is trusted: the schema is a client's, the arguments are a model's. Each step is
// counted, and there are at most so many for each byte of the arguments. A schema that is read for
// the same value again, through another reference, is not compared again.
#include "format/schema_fit.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "format/schema_pattern.h"
#include "text/json_number.h"
#include "text/utf8.h"

namespace unspool {

namespace {

using JsonKind = JsonValue::Kind;

constexpr std::size_t kLeastSteps = 100'000;
constexpr std::size_t kStepsPerByte = 500;
constexpr int kMaxFitDepth = 200;
constexpr std::size_t kFailedPattern = 20'000;  // steps: it may have been read for a long time

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_utf8_continuation(c); }));
}

std::string_view type_name(const JsonValue& value) {
  switch (value.kind) {
    case JsonKind::null: return "null";
    case JsonKind::boolean: return "boolean";
    case JsonKind::number: return "number";
    case JsonKind::string: return "string";
    case JsonKind::array: return "array";
    case JsonKind::object: return "object";
  }
  return {};
}

class SchemaFit {
 public:
  SchemaFit(const SchemaDocument& document, std::size_t steps)
      : document_(document), left_(steps) {}

  /// All comparisons together are bounded. Once there were too many, nothing fits.
  bool fits(const JsonValue& value) { return fits(value, document_.root(), 0) && !is_over_; }

  /// Whether the schema itself, or one that applies with it, says which other keys it has, and the
  /// key is one of them.
  bool takes_other_key(std::string_view key);

 private:
  /// One keyword of a schema, and a value.
  struct Case {
    const JsonValue& said;
    const JsonValue& value;
    const JsonValue& schema;
    int depth;
  };
  using Check = bool (SchemaFit::*)(const Case&);
  enum class Of : std::uint8_t { any, not_nulled, number, string, array, object };
  struct Keyword {
    std::string_view name;
    Of of;
    Check check;
  };
  static const Keyword kKeywords[];

  bool spend(std::size_t steps) {
    if (is_over_ || steps > left_) {
      is_over_ = true;
      return false;
    }
    left_ -= steps;
    return true;
  }
  bool fits(const JsonValue& value, const JsonValue& schema, int depth);
  bool applies(Of of, const JsonValue& value, const JsonValue& schema) const;
  bool is_equal(const JsonValue& a, const JsonValue& b);
  void append_normal(const JsonValue& value, std::string& out);
  bool matches(const std::string& text, const std::string& pattern);
  bool is_known_key(const Case& at, std::string_view key);
  bool has_type(const JsonValue& value, std::string_view name) const;

  // Any value.
  bool type(const Case& at);
  bool one_listed(const Case& at);
  bool constant(const Case& at) { return is_equal(at.said, at.value); }
  bool reference(const Case& at);
  bool all_of(const Case& at);
  bool any_of(const Case& at);
  bool one_of(const Case& at);
  bool none_of(const Case& at) { return !fits(at.value, at.said, at.depth + 1) && !is_over_; }
  bool condition(const Case& at);
  // Numbers.
  static std::optional<int> compare(const Case& at);
  bool minimum(const Case& at) { return compare(at).value_or(0) >= 0; }
  bool maximum(const Case& at) { return compare(at).value_or(0) <= 0; }
  bool above(const Case& at) { return is_strictly(at, "minimum", 1); }
  bool below(const Case& at) { return is_strictly(at, "maximum", -1); }
  bool is_strictly(const Case& at, std::string_view other, int side);
  bool multiple(const Case& at);
  // Lengths.
  static int compare_size(const Case& at, std::size_t size);
  bool min_length(const Case& at) { return compare_size(at, count_characters(at.value.text)) >= 0; }
  bool max_length(const Case& at) { return compare_size(at, count_characters(at.value.text)) <= 0; }
  bool min_items(const Case& at) { return compare_size(at, at.value.items.size()) >= 0; }
  bool max_items(const Case& at) { return compare_size(at, at.value.items.size()) <= 0; }
  bool min_properties(const Case& at) { return compare_size(at, at.value.members.size()) >= 0; }
  bool max_properties(const Case& at) { return compare_size(at, at.value.members.size()) <= 0; }
  bool pattern(const Case& at);
  // Arrays.
  bool items(const Case& at);
  bool prefix_items(const Case& at);
  bool unique(const Case& at);
  bool contains(const Case& at);
  // Objects.
  bool properties(const Case& at);
  bool pattern_properties(const Case& at);
  bool additional_properties(const Case& at);
  bool property_names(const Case& at);
  bool required(const Case& at) { return has_all(at.value, at.said); }
  bool dependencies(const Case& at);
  bool has_all(const JsonValue& value, const JsonValue& names);
  const JsonValue* member(const JsonValue& object, std::string_view key);

  struct Pair {
    const JsonValue* value;
    const JsonValue* schema;
    bool operator==(const Pair&) const = default;
  };
  struct PairHash {
    std::size_t operator()(const Pair& pair) const {
      const std::hash<const JsonValue*> hash;
      return hash(pair.value) * 31 + hash(pair.schema);
    }
  };

  const SchemaDocument& document_;
  std::size_t left_;
  bool is_over_ = false;
  std::unordered_map<Pair, bool, PairHash> known_;  // of the targets of references
  std::unordered_map<std::string_view, std::shared_ptr<const Regex>> patterns_;
  std::deque<JsonValue> names_;  // keys as values; they stay where they are
};

constexpr SchemaFit::Keyword SchemaFit::kKeywords[] = {
    {"type", Of::not_nulled, &SchemaFit::type},
    {"enum", Of::not_nulled, &SchemaFit::one_listed},
    {"const", Of::not_nulled, &SchemaFit::constant},
    {"$ref", Of::not_nulled, &SchemaFit::reference},
    {"allOf", Of::not_nulled, &SchemaFit::all_of},
    {"anyOf", Of::not_nulled, &SchemaFit::any_of},
    {"oneOf", Of::not_nulled, &SchemaFit::one_of},
    {"not", Of::any, &SchemaFit::none_of},
    {"if", Of::any, &SchemaFit::condition},
    {"minimum", Of::number, &SchemaFit::minimum},
    {"maximum", Of::number, &SchemaFit::maximum},
    {"exclusiveMinimum", Of::number, &SchemaFit::above},
    {"exclusiveMaximum", Of::number, &SchemaFit::below},
    {"multipleOf", Of::number, &SchemaFit::multiple},
    {"minLength", Of::string, &SchemaFit::min_length},
    {"maxLength", Of::string, &SchemaFit::max_length},
    {"pattern", Of::string, &SchemaFit::pattern},
    {"items", Of::array, &SchemaFit::items},
    {"prefixItems", Of::array, &SchemaFit::prefix_items},
    {"minItems", Of::array, &SchemaFit::min_items},
    {"maxItems", Of::array, &SchemaFit::max_items},
    {"uniqueItems", Of::array, &SchemaFit::unique},
    {"contains", Of::array, &SchemaFit::contains},
    {"properties", Of::object, &SchemaFit::properties},
    {"patternProperties", Of::object, &SchemaFit::pattern_properties},
    {"additionalProperties", Of::object, &SchemaFit::additional_properties},
    {"propertyNames", Of::object, &SchemaFit::property_names},
    {"required", Of::object, &SchemaFit::required},
    {"minProperties", Of::object, &SchemaFit::min_properties},
    {"maxProperties", Of::object, &SchemaFit::max_properties},
    {"dependentRequired", Of::object, &SchemaFit::dependencies},
    {"dependentSchemas", Of::object, &SchemaFit::dependencies},
    {"dependencies", Of::object, &SchemaFit::dependencies},
};

bool SchemaFit::fits(const JsonValue& value, const JsonValue& schema, int depth) {
  if (!spend(1 + schema.members.size())) return false;
  if (depth > kMaxFitDepth) {
    is_over_ = true;
    return false;
  }
  if (schema.is(JsonKind::boolean)) return schema.is_true;
  for (const auto& [name, said] : schema.members) {
    const auto* keyword = std::find_if(std::begin(kKeywords), std::end(kKeywords),
                                       [&](const Keyword& known) { return known.name == name; });
    const bool is_checked = keyword != std::end(kKeywords) && applies(keyword->of, value, schema);
    if (is_checked && !(this->*keyword->check)({said, value, schema, depth})) return false;
  }
  return true;
}

bool SchemaFit::applies(Of of, const JsonValue& value, const JsonValue& schema) const {
  switch (of) {
    case Of::any: return true;
    case Of::not_nulled: {  // OpenAPI's `nullable` allows null whatever they say
      const JsonValue* nullable = value.is(JsonKind::null) ? schema.find("nullable") : nullptr;
      return nullable == nullptr || !nullable->is_true;
    }
    case Of::number: return value.is(JsonKind::number);
    case Of::string: return value.is(JsonKind::string);
    case Of::array: return value.is(JsonKind::array);
    case Of::object: return value.is(JsonKind::object);
  }
  return false;
}

bool SchemaFit::has_type(const JsonValue& value, std::string_view name) const {
  if (name == "integer") return value.is(JsonKind::number) && JsonNumber(value.text).is_integer();
  return type_name(value) == name;
}

bool SchemaFit::type(const Case& at) {
  if (at.said.is(JsonKind::string)) return has_type(at.value, at.said.text);
  return !at.said.is(JsonKind::array) ||
         std::any_of(at.said.items.begin(), at.said.items.end(), [&](const JsonValue& name) {
           return name.is(JsonKind::string) && has_type(at.value, name.text);
         });
}

bool SchemaFit::one_listed(const Case& at) {
  return std::any_of(at.said.items.begin(), at.said.items.end(),
                     [&](const JsonValue& listed) { return is_equal(listed, at.value); });
}

bool SchemaFit::is_equal(const JsonValue& a, const JsonValue& b) {
  if (!spend(1 + std::min(a.text.size(), b.text.size()) / 64) || a.kind != b.kind) return false;
  switch (a.kind) {
    case JsonKind::null: return true;
    case JsonKind::boolean: return a.is_true == b.is_true;
    case JsonKind::number: return JsonNumber(a.text).compare(JsonNumber(b.text)) == 0;
    case JsonKind::string: return a.text == b.text;
    case JsonKind::array:
      return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                        [&](const JsonValue& x, const JsonValue& y) { return is_equal(x, y); });
    case JsonKind::object:
      return a.members.size() == b.members.size() &&
             std::all_of(a.members.begin(), a.members.end(), [&](const auto& item) {
               const JsonValue* other = member(b, item.first);
               return other != nullptr && is_equal(item.second, *other);
             });
  }
  return false;
}

// While a target is compared with a value, the same comparison inside it adds nothing.
bool SchemaFit::reference(const Case& at) {
  const JsonValue* target = document_.target(at.schema);
  if (target == nullptr) return true;
  const Pair pair{&at.value, target};
  const auto [known, is_new] = known_.try_emplace(pair, true);
  if (!is_new) return known->second;
  const bool found = fits(at.value, *target, at.depth + 1);
  return known_[pair] = found;
}

bool SchemaFit::all_of(const Case& at) {
  return std::all_of(at.said.items.begin(), at.said.items.end(),
                     [&](const JsonValue& part) { return fits(at.value, part, at.depth + 1); });
}

bool SchemaFit::any_of(const Case& at) {
  return std::any_of(at.said.items.begin(), at.said.items.end(),
                     [&](const JsonValue& part) { return fits(at.value, part, at.depth + 1); });
}

bool SchemaFit::one_of(const Case& at) {
  return std::count_if(at.said.items.begin(), at.said.items.end(), [&](const JsonValue& part) {
           return fits(at.value, part, at.depth + 1);
         }) == 1;
}

bool SchemaFit::condition(const Case& at) {
  const bool holds = fits(at.value, at.said, at.depth + 1);
  const JsonValue* rest = at.schema.find(holds ? "then" : "else");
  return rest == nullptr || fits(at.value, *rest, at.depth + 1);
}

std::optional<int> SchemaFit::compare(const Case& at) {
  if (!at.said.is(JsonKind::number)) return std::nullopt;
  return JsonNumber(at.value.text).compare(JsonNumber(at.said.text));
}

// In draft 4, true excludes the bound in the other keyword.
bool SchemaFit::is_strictly(const Case& at, std::string_view other, int side) {
  const JsonValue* bound = at.said.is_true ? at.schema.find(other) : &at.said;
  if (bound == nullptr) return true;
  const std::optional<int> found = compare({*bound, at.value, at.schema, at.depth});
  return !found || *found * side > 0;
}

bool SchemaFit::multiple(const Case& at) {
  if (!at.said.is(JsonKind::number) || !spend(1 + at.value.text.size() / 8)) return true;
  return JsonNumber(at.value.text).is_multiple_of(JsonNumber(at.said.text));
}

int SchemaFit::compare_size(const Case& at, std::size_t size) {
  return at.said.is(JsonKind::number) ? JsonNumber::of(size).compare(JsonNumber(at.said.text)) : 0;
}

bool SchemaFit::pattern(const Case& at) {
  return !at.said.is(JsonKind::string) || matches(at.value.text, at.said.text);
}

// A pattern that is not compiled says nothing.
bool SchemaFit::matches(const std::string& text, const std::string& pattern) {
  const auto [known, is_new] = patterns_.try_emplace(pattern);
  if (is_new) {
    if (!spend(1 + pattern.size())) return false;
    known->second = compile_schema_pattern(pattern);
    if (!spend(known->second ? known->second->program().steps.size() : kFailedPattern))
      return false;
  }
  const std::shared_ptr<const Regex>& regex = known->second;
  if (regex == nullptr) return true;
  const std::size_t steps = regex->program().steps.size();
  if (!spend(steps + text.size() * steps / 4)) return false;
  RegexSearch search(regex, 0, 0, false);
  search.advance({text, 0, true});
  return search.match().begin != kNoPlace;
}

// After the prefix; a list of schemas, of the drafts before 2020-12, is a prefix itself.
bool SchemaFit::items(const Case& at) {
  const auto& items = at.value.items;
  const auto fit_from = [&](std::size_t first, const JsonValue& schema) {
    return first >= items.size() ||
           std::all_of(items.begin() + static_cast<std::ptrdiff_t>(first), items.end(),
                       [&](const JsonValue& item) { return fits(item, schema, at.depth + 1); });
  };
  if (!at.said.is(JsonKind::array)) {
    const JsonValue* prefix = at.schema.find("prefixItems");
    return fit_from(prefix == nullptr ? 0 : prefix->items.size(), at.said);
  }
  const JsonValue* rest = at.schema.find("additionalItems");
  return prefix_items(at) && (rest == nullptr || fit_from(at.said.items.size(), *rest));
}

bool SchemaFit::prefix_items(const Case& at) {
  for (std::size_t i = 0; i < std::min(at.said.items.size(), at.value.items.size()); ++i) {
    if (!fits(at.value.items[i], at.said.items[i], at.depth + 1)) return false;
  }
  return true;
}

bool SchemaFit::unique(const Case& at) {
  if (!at.said.is_true) return true;
  std::unordered_set<std::string> seen;
  for (const JsonValue& item : at.value.items) {
    std::string normal;
    append_normal(item, normal);
    if (!spend(1 + normal.size() / 8) || !seen.insert(std::move(normal)).second) return false;
  }
  return true;
}

// A text that is the same for equal values only.
void SchemaFit::append_normal(const JsonValue& value, std::string& out) {
  switch (value.kind) {
    case JsonKind::null: out += 'n'; return;
    case JsonKind::boolean: out += value.is_true ? 't' : 'f'; return;
    case JsonKind::number: out.append(JsonNumber(value.text).text()).append(";"); return;
    case JsonKind::string:
      out.append("\"").append(std::to_string(value.text.size())).append(":").append(value.text);
      return;
    case JsonKind::array:
      out += '[';
      for (const JsonValue& item : value.items) append_normal(item, out);
      out += ']';
      return;
    case JsonKind::object: {
      std::vector<const std::pair<std::string, JsonValue>*> members;
      for (const auto& item : value.members) members.push_back(&item);
      std::sort(members.begin(), members.end(),
                [](const auto* a, const auto* b) { return a->first < b->first; });
      out += '{';
      for (const auto* item : members) {
        append_normal(JsonValue::of_string(item->first), out);
        append_normal(item->second, out);
      }
      out += '}';
      return;
    }
  }
}

bool SchemaFit::contains(const Case& at) {
  const auto& items = at.value.items;
  const auto count = std::count_if(items.begin(), items.end(), [&](const JsonValue& item) {
    return fits(item, at.said, at.depth + 1);
  });
  const auto compared = [&](std::string_view key) -> std::optional<int> {
    const JsonValue* said = at.schema.find(key);
    if (said == nullptr) return std::nullopt;
    return compare_size({*said, at.value, at.schema, at.depth}, static_cast<std::size_t>(count));
  };
  const std::optional<int> least = compared("minContains");
  return (least ? *least >= 0 : count > 0) && compared("maxContains").value_or(0) <= 0;
}

// The members of the shorter of two objects may be looked up in the longer one.
const JsonValue* SchemaFit::member(const JsonValue& object, std::string_view key) {
  return spend(1 + object.members.size() / 4) ? object.find(key) : nullptr;
}

bool SchemaFit::properties(const Case& at) {
  return std::all_of(at.value.members.begin(), at.value.members.end(), [&](const auto& item) {
    const JsonValue* schema = member(at.said, item.first);
    return schema == nullptr || fits(item.second, *schema, at.depth + 1);
  });
}

bool SchemaFit::pattern_properties(const Case& at) {
  for (const auto& [pattern, schema] : at.said.members) {
    for (const auto& [key, value] : at.value.members) {
      if (matches(key, pattern) && !fits(value, schema, at.depth + 1)) return false;
    }
  }
  return true;
}

bool SchemaFit::is_known_key(const Case& at, std::string_view key) {
  const JsonValue* named = at.schema.find("properties");
  if (named != nullptr && member(*named, key) != nullptr) return true;
  const JsonValue* patterns = at.schema.find("patternProperties");
  return patterns != nullptr &&
         std::any_of(patterns->members.begin(), patterns->members.end(),
                     [&](const auto& item) { return matches(std::string(key), item.first); });
}

bool SchemaFit::additional_properties(const Case& at) {
  return std::all_of(at.value.members.begin(), at.value.members.end(), [&](const auto& item) {
    return is_known_key(at, item.first) || fits(item.second, at.said, at.depth + 1);
  });
}

bool SchemaFit::property_names(const Case& at) {
  return std::all_of(at.value.members.begin(), at.value.members.end(), [&](const auto& item) {
    names_.push_back(JsonValue::of_string(item.first));
    return fits(names_.back(), at.said, at.depth + 1);
  });
}

bool SchemaFit::has_all(const JsonValue& value, const JsonValue& names) {
  return std::all_of(names.items.begin(), names.items.end(), [&](const JsonValue& name) {
    return !name.is(JsonKind::string) || member(value, name.text) != nullptr;
  });
}

// If a key is there: the keys that must be there too, or a schema of the whole.
bool SchemaFit::dependencies(const Case& at) {
  return std::all_of(at.said.members.begin(), at.said.members.end(), [&](const auto& item) {
    if (member(at.value, item.first) == nullptr) return true;
    return item.second.is(JsonKind::array) ? has_all(at.value, item.second)
                                           : fits(at.value, item.second, at.depth + 1);
  });
}

bool SchemaFit::takes_other_key(std::string_view key) {
  constexpr std::string_view kParts[] = {"allOf", "anyOf", "oneOf"};
  std::vector<const JsonValue*> waiting = {&document_.root()};
  std::unordered_set<const JsonValue*> seen;
  while (!waiting.empty()) {
    const JsonValue& schema = *waiting.back();
    waiting.pop_back();
    if (!spend(1 + schema.members.size()) || !seen.insert(&schema).second) continue;
    const JsonValue* others = schema.find("additionalProperties");
    if (others != nullptr && (others->is_true || others->is(JsonKind::object))) return true;
    if (is_known_key({schema, schema, schema, 0}, key)) return true;
    if (const JsonValue* target = document_.target(schema)) waiting.push_back(target);
    for (const std::string_view part : kParts) {
      if (const JsonValue* parts = schema.find(part)) {
        for (const JsonValue& one : parts->items) waiting.push_back(&one);
      }
    }
  }
  return false;
}

}  // namespace

bool fits_schema(std::string_view arguments, const ToolSchema& schema) {
  const std::optional<JsonValue> given = parse_json(arguments);
  if (!given || !given->is(JsonKind::object)) return false;
  if (schema.document == nullptr) return true;
  SchemaFit fit(*schema.document, kLeastSteps + kStepsPerByte * arguments.size());
  if (!fit.fits(*given)) return false;
  return schema.parameters.empty() ||
         std::all_of(given->members.begin(), given->members.end(), [&](const auto& member) {
           return schema.find(member.first) != nullptr || fit.takes_other_key(member.first);
         });
}

}  // namespace unspool
