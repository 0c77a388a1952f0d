// Reduces a request's tools, given as JSON, to the facts that the parser needs.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "format/schema.h"
#include "text/json_value.h"

namespace unspool {

/// Reads the JSON Schemas of tools' parameters: `type`, `enum`, `const`, `anyOf`, `oneOf`, `allOf`,
/// `$ref` within the schema, `properties`, `items`, `nullable`. A schema without known keywords
/// allows every type.
class SchemaReader {
 public:
  /// `parameters`: the schema of a tool's arguments. Never fails. Time and size are bounded: a
  /// schema that refers to itself is read only as deep as the result stays small.
  ToolSchema read(const JsonValue& parameters);

 private:
  std::map<std::string, ValueSchema, std::less<>> properties(const JsonValue& schema, int level);
  ValueSchema value(const JsonValue& schema, int level);
  TypeSet types(const JsonValue& schema, int depth);
  TypeSet read_types(const JsonValue& schema, int depth);
  TypeSet meet_parts(TypeSet found, const JsonValue& schema, int depth);
  template <typename Use>
  void for_each_part(const JsonValue& schema, Use&& use);
  const JsonValue* resolve(const JsonValue& reference);
  const JsonValue* member(const JsonValue& object, const std::string& key);

  const JsonValue* root_ = nullptr;
  int max_level_ = 0;       // of nested values
  std::size_t visits_ = 0;  // of subschemas, at this level
  std::size_t max_visits_ = 0;
  std::unordered_map<const JsonValue*, TypeSet> known_types_;
  using Index = std::unordered_map<std::string_view, const JsonValue*>;
  std::unordered_map<const JsonValue*, Index>
      indexes_;  // of large objects that references point through
};

/// Whether a call's complete arguments (JSON) match its tool's schema: required parameters are
/// present, there are no unknown ones, and each value has an allowed type.
bool fits_schema(std::string_view arguments, const ToolSchema& schema);

/// Reads the list of tools of a chat or Responses request. Schemas nested deeper than
/// `kMaxJsonDepth` allow every type. Throws ArgumentError if it is not a JSON list, or if a tool
/// has no name.
std::shared_ptr<const ToolSchemas> read_tools(std::string_view json);

}  // namespace unspool
