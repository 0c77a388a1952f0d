// A reference names a place by its pointer, its anchor, or its id:
//
//   #/properties/a/anyOf/0        a key or an index for each part; ~0 is ~, ~1 is /, %20 a blank
//   #name                         the schema with `$anchor` or `$dynamicAnchor` "name", or `$id`
//                                 "#name"
//   other.json, other.json#/a     the schema with this `$id`, and a place in it
//
// A schema with an `$id` is a document of its own: references inside it begin there. One that leads
// nowhere from there is read from the whole document's root.
#include "format/schema_document.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace unspool {

namespace {

using JsonKind = JsonValue::Kind;

// Their members are schemas, whatever their names.
constexpr std::string_view kMaps[] = {"properties",  "patternProperties", "$defs",
                                      "definitions", "dependentSchemas",  "dependencies",
                                      "schemas"};
// Their values are data, not schemas.
constexpr std::string_view kData[] = {"enum", "const", "default", "examples", "example"};

// Longer ids are not read: each id inside such a schema would be as long.
constexpr std::size_t kMaxId = 2'000;

template <std::size_t Size>
bool has(const std::string_view (&words)[Size], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

const std::string* text_of(const JsonValue& schema, std::string_view key) {
  const JsonValue* value = schema.find(key);
  return value != nullptr && value->is(JsonKind::string) ? &value->text : nullptr;
}

int hex_digit(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  const char lower = static_cast<char>(byte | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string unescape_percent(std::string_view text) {
  std::string found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                           hex_digit(text[i + 2]) >= 0;
    if (is_escape) {
      found += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      found += text[i];
    }
  }
  return found;
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

// An id relative to the one around it.
std::string join(std::string_view base, std::string_view id) {
  const std::size_t colon = id.find(':');
  const bool has_scheme = colon != std::string_view::npos && id.find('/') > colon;
  if (base.empty() || has_scheme) return std::string(id);
  const std::size_t authority = base.find("://");
  std::size_t root = authority == std::string_view::npos ? 0 : base.find('/', authority + 3);
  root = std::min(root, base.size());
  if (id.starts_with('/')) return std::string(base.substr(0, root)).append(id);
  const std::size_t slash = base.rfind('/');
  const bool has_folder = slash != std::string_view::npos && slash >= root;
  return std::string(has_folder ? base.substr(0, slash + 1) : std::string_view()).append(id);
}

class ReferenceReader {
 public:
  using Targets = std::unordered_map<const JsonValue*, const JsonValue*>;

  explicit ReferenceReader(const JsonValue& root) : documents_{{&root, {}}} {}

  Targets read() {
    walk();
    Targets targets;
    for (const auto& [schema, document] : references_) {
      if (const JsonValue* target = resolve(*text_of(*schema, "$ref"), document))
        targets.emplace(schema, target);
    }
    return targets;
  }

 private:
  // The whole document, or a schema in it that has an `$id`.
  struct Document {
    const JsonValue* root;
    std::string id;
  };
  struct Place {
    const JsonValue* value;
    std::size_t document;
    bool is_map;
  };

  // Without recursion: a hostile schema must not use up the stack.
  void walk() {
    std::vector<Place> waiting = {{documents_[0].root, 0, false}};
    while (!waiting.empty()) {
      Place place = waiting.back();
      waiting.pop_back();
      if (!place.is_map) note(place);
      for (const JsonValue& item : place.value->items)
        waiting.push_back({&item, place.document, false});
      for (const auto& [key, value] : place.value->members) {
        if (!place.is_map && has(kData, key)) continue;
        waiting.push_back({&value, place.document, !place.is_map && has(kMaps, key)});
      }
    }
  }

  // What a schema says of places. An `$id` begins a document.
  void note(Place& place) {
    const JsonValue& schema = *place.value;
    if (!schema.is(JsonKind::object)) return;
    if (const std::string* id = text_of(schema, "$id")) {
      if (id->starts_with('#')) {
        add_anchor(place.document, id->substr(1), schema);
      } else {
        begin_document(place, *id);
      }
    }
    for (const std::string_view key : {"$anchor", "$dynamicAnchor"}) {
      if (const std::string* name = text_of(schema, key)) add_anchor(place.document, *name, schema);
    }
    if (text_of(schema, "$ref") != nullptr) references_.emplace_back(&schema, place.document);
  }

  void begin_document(Place& place, std::string_view id) {
    const std::string whole = join(documents_[place.document].id, id.substr(0, id.find('#')));
    if (whole.size() > kMaxId) return;
    if (place.value == documents_[0].root) {
      documents_[0].id = whole;
    } else {
      place.document = documents_.size();
      documents_.push_back({place.value, whole});
    }
    by_id_.emplace(whole, place.document);
  }

  void add_anchor(std::size_t document, const std::string& name, const JsonValue& schema) {
    anchors_.emplace(std::to_string(document) + '#' + name, &schema);
    anchors_.emplace('#' + name, &schema);
  }

  const JsonValue* resolve(std::string_view reference, std::size_t document) {
    const std::size_t mark = std::min(reference.find('#'), reference.size());
    if (mark > 0) {
      const auto found = by_id_.find(join(documents_[document].id, reference.substr(0, mark)));
      if (found == by_id_.end()) return nullptr;
      document = found->second;
    }
    if (mark == reference.size()) return documents_[document].root;
    const std::string place = unescape_percent(reference.substr(mark + 1));
    if (place.empty()) return documents_[document].root;
    if (place.starts_with('/')) {
      const JsonValue* target = follow(documents_[document].root, place);
      return target != nullptr || document == 0 ? target : follow(documents_[0].root, place);
    }
    auto found = anchors_.find(std::to_string(document) + '#' + place);
    if (found == anchors_.end()) found = anchors_.find('#' + place);
    return found == anchors_.end() ? nullptr : found->second;
  }

  const JsonValue* follow(const JsonValue* node, std::string_view pointer) {
    for (auto at = pointer.find('/'); node != nullptr && at != std::string_view::npos;) {
      pointer.remove_prefix(at + 1);
      at = pointer.find('/');
      const std::string key = unescape_pointer(pointer.substr(0, at));
      node = node->is(JsonKind::array) ? item(*node, key) : member(*node, key);
    }
    return node;
  }

  static const JsonValue* item(const JsonValue& list, std::string_view key) {
    const bool is_index =
        !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == key.npos;
    const std::size_t index = is_index ? std::stoul(std::string(key)) : list.items.size();
    return index < list.items.size() ? &list.items[index] : nullptr;
  }

  // An object with many `$defs` is searched once per reference into it.
  const JsonValue* member(const JsonValue& object, const std::string& key) {
    constexpr std::size_t kLarge = 32;
    if (object.members.size() < kLarge) return object.find(key);
    const auto [index, is_new] = indexes_.try_emplace(&object);
    if (is_new) {
      for (const auto& [name, value] : object.members) index->second.emplace(name, &value);
    }
    const auto found = index->second.find(key);
    return found == index->second.end() ? nullptr : found->second;
  }

  std::vector<Document> documents_;  // the first one is the whole
  std::vector<std::pair<const JsonValue*, std::size_t>> references_;
  std::unordered_map<std::string, std::size_t> by_id_;
  std::unordered_map<std::string, const JsonValue*> anchors_;
  using Index = std::unordered_map<std::string_view, const JsonValue*>;
  std::unordered_map<const JsonValue*, Index> indexes_;
};

}  // namespace

SchemaDocument::SchemaDocument(JsonValue root)
    : root_(std::move(root)), targets_(ReferenceReader(root_).read()) {}

}  // namespace unspool
