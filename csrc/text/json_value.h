// A JSON value as a tree, for files, schemas and templates that are needed as a whole. Unlike the
// value reader, it keeps a lone surrogate as a character, as Python does, and can skip values that
// are nested too deep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/archive.h"

namespace unspool {

struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

  Kind kind = Kind::null;
  bool is_true = false;
  std::string text = {};  // of a string; for a number, its source text
  std::vector<JsonValue> items = {};
  std::vector<std::pair<std::string, JsonValue>> members = {};

  static JsonValue of(bool value);
  static JsonValue of_number(std::string text);
  static JsonValue of_string(std::string_view text);
  static JsonValue object();

  bool is(Kind other) const { return kind == other; }
  const JsonValue* find(std::string_view key) const;
  JsonValue* find(std::string_view key);
  /// The last of several values for a key counts.
  void set(std::string_view key, JsonValue value);
  bool operator==(const JsonValue&) const = default;
  /// Whether it is null, or an empty string, list or object.
  bool is_empty() const;

  void visit(Archive& archive) {
    archive.choice(kind, Kind::object);
    archive(is_true, text, items, members);
  }
};

/// How to handle values nested deeper than `kMaxJsonDepth`.
enum class DeepJson : std::uint8_t { refused, null };
inline constexpr int kMaxJsonDepth = 512;

/// Reads RFC 8259 JSON; control characters in strings are accepted. Returns nullopt if the text is
/// not valid JSON or not UTF-8.
std::optional<JsonValue> parse_json(std::string_view text, DeepJson deep = DeepJson::refused);

/// Appends a value as JSON on one line.
void append_json(const JsonValue& value, std::string& out);

}  // namespace unspool
