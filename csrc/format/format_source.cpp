#include "format/format_source.h"

#include <algorithm>
#include <string>

#include "format/check_program.h"
#include "format/file_words.h"
#include "format/lower_shape.h"
#include "format/read_shape.h"
#include "format/toml_document.h"

namespace unspool {

namespace {

using JsonKind = JsonValue::Kind;

bool is_text(const JsonValue& value) { return value.is(JsonKind::string) && !value.text.empty(); }

bool are_texts(const JsonValue& value) {
  return value.is(JsonKind::array) && std::all_of(value.items.begin(), value.items.end(), is_text);
}

bool are_alternatives(const JsonValue& value) {
  return value.is(JsonKind::array) &&
         std::all_of(value.items.begin(), value.items.end(), [](const JsonValue& item) {
           return is_text(item) || (!item.items.empty() && are_texts(item));
         });
}

void check_keys(const JsonValue& table, const std::string& path, std::span<const FileKey> keys);

struct Wanted {
  bool (*fits)(const JsonValue& value);
  std::string_view what;
};

template <JsonKind Wanted>
bool is(const JsonValue& value) {
  return value.is(Wanted);
}

bool are_patterns(const JsonValue& value) { return is_text(value) || are_texts(value); }

constexpr std::string_view kPatterns = "a text that is not empty, or a list of these";

/// The valid values of a key, in the order of the key types.
constexpr Wanted kWanted[] = {
    {is<JsonKind::string>, "a text"},
    {are_texts, "a list of texts that are not empty"},
    {are_alternatives, "a list of texts, or of lists of texts"},
    {are_patterns, kPatterns},
    {are_patterns, kPatterns},
    {is<JsonKind::boolean>, "true or false"},
    {is<JsonKind::array>, "a list"},
    {is<JsonKind::object>, "a table"},
    {is<JsonKind::array>, "a list of tables: write [[example]]"},
};

void check_value(const JsonValue& value, const std::string& path, const FileKey& key) {
  const Wanted& wanted = kWanted[static_cast<std::size_t>(key.type)];
  if (!wanted.fits(value))
    throw PatternError(path, "the value must be " + std::string(wanted.what));
  if (key.type == KeyType::detect) check_keys(value, path, detect_keys());
  if (key.type != KeyType::examples) return;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const std::string place = path + "[" + std::to_string(i) + "]";
    check_keys(value.items[i], place, example_keys());
    if (value.items[i].find("input") == nullptr)
      throw PatternError(place, "the key input is missing; write the output of the model");
  }
}

void check_keys(const JsonValue& table, const std::string& path, std::span<const FileKey> keys) {
  if (!table.is(JsonKind::object)) throw PatternError(path, "the value must be a table");
  for (const auto& [name, value] : table.members) {
    const std::string inner = path.empty() ? name : path + "." + name;
    const FileKey* key = find_key(keys, name);
    if (key == nullptr) throw PatternError(inner, "unknown key; use one of " + listed(keys));
    check_value(value, inner, *key);
  }
}

/// Tables such as [[call]] describe how to parse; patterns replace them.
void refuse_tables(const JsonValue& file) {
  for (const auto& [name, value] : file.members) {
    const bool is_old_key = name == "ignore" || name == "markup" || name == "section" ||
                            name == "call_ids" || name == "plain";
    const bool has_tables =
        (name == "reasoning" && value.is(JsonKind::object)) ||
        (name == "call" && !value.items.empty() && value.items.front().is(JsonKind::object));
    if (is_old_key || has_tables)
      throw PatternError(name,
                         "this key describes how to parse; write what the model writes: "
                         "reasoning = \"<think>${reasoning}</think>\", "
                         "call = \"<tool_call>${object}</tool_call>\" (docs/add-a-format.md)");
  }
}

// In this order, so that a file in the old notation is told so, and not that its first key is
// unknown.
void check_file(const JsonValue& file) {
  refuse_tables(file);
  check_keys(file, "", file_keys());
  if (file.find("name") == nullptr) throw PatternError("name", "the key is missing");
  const bool says_something = file.find("call") != nullptr || file.find("reasoning") != nullptr ||
                              file.find("content") != nullptr;
  if (!says_something)
    throw PatternError("name",
                       "the file has neither calls nor reasoning; write call = or reasoning =, or "
                       "content = \"${content}\"");
}

// An error may be about a part that has no place of its own: then its parent's place is shown.
TomlDocument::Place place_of(const TomlDocument& document, std::string_view path) {
  for (;; path = path.substr(0, path.find_last_of(".["))) {
    if (const auto found = document.places.find(path); found != document.places.end())
      return found->second;
    if (path.find_last_of(".[") == std::string_view::npos) return {};
  }
}

}  // namespace

// The keys stay as they were written, for pickles and for learning, and because equal keys are an
// equal format. What they mean is worked out here, once.
FormatSource FormatSource::of(JsonValue keys) {
  FormatSource made;
  made.patterns = PatternFile::read(keys);
  made.shape = read_shape(made.patterns);
  made.program = lower_shape(made.shape);
  made.facts = facts_of(made.program);
  made.keys = std::move(keys);
  return made;
}

FormatSource FormatSource::read(std::string_view toml, std::string_view source) {
  TomlDocument document = TomlDocument::read(toml, source);
  FormatSource made;
  try {
    check_file(document.value);
    made = of(std::move(document.value));
    check_program(made.program);
  } catch (const PatternError& error) {
    const TomlDocument::Place place = place_of(document, error.path);
    throw FormatError(std::string(source) + ":" + std::to_string(place.line) + ":" +
                      std::to_string(place.column) + ": " + error.what());
  }
  if (const JsonValue* examples = made.keys.find("example")) {
    for (std::size_t i = 0; i < examples->items.size(); ++i)
      made.example_lines.push_back(place_of(document, "example[" + std::to_string(i) + "]").line);
  }
  made.source = source;
  return made;
}

std::vector<std::string> FormatSource::texts(std::string_view key) const {
  std::vector<std::string> made;
  const JsonValue* value = keys.find(key);
  if (value == nullptr) return made;
  if (value->is(JsonKind::string)) made.push_back(value->text);
  for (const JsonValue& item : value->items) made.push_back(item.text);
  return made;
}

FormatSource FormatSource::with_reasoning(const FormatSource* other) const {
  JsonValue changed = keys;
  std::erase_if(changed.members, [](const auto& member) { return member.first == "reasoning"; });
  if (other != nullptr && other->has_reasoning())
    changed.set("reasoning", *other->keys.find("reasoning"));
  FormatSource made = of(std::move(changed));
  made.source = source;
  made.example_lines = example_lines;
  return made;
}

}  // namespace unspool
