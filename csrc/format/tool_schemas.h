// A request's tools, as JSON, reduced to what the parser needs of them.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "format/schema.h"
#include "text/json_value.h"

namespace unspool {

/// Reads JSON Schemas of tools' parameters: `type`, `enum`, `const`, `anyOf`, `oneOf`, `allOf`,
/// `$ref` within the schema, `properties`, `items`, `nullable`. What says nothing that it knows
/// allows every type.
class SchemaReader {
 public:
  /// `parameters`: the schema of a tool's arguments. Never fails, and takes no time to speak of: a
  /// schema that refers to itself many times is read as deep as it stays small.
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
  int max_level_ = 0;       // of values inside values
  std::size_t visits_ = 0;  // of parts, at this level
  std::size_t max_visits_ = 0;
  std::unordered_map<const JsonValue*, TypeSet> known_types_;
  using Index = std::unordered_map<std::string_view, const JsonValue*>;
  std::unordered_map<const JsonValue*, Index> indexes_;  // of large objects that references cross
};

/// Whether a call's whole arguments, as JSON, fit its tool's schema: what is required is there,
/// nothing unknown is, and each value has a type that the schema allows.
bool fits_schema(std::string_view arguments, const ToolSchema& schema);

/// Reads a list of tools as a chat or Responses request holds them; what is nested deeper than
/// `kMaxJsonDepth` allows every type. Throws ArgumentError: it is no JSON list, or one of them has
/// no name.
std::shared_ptr<const ToolSchemas> read_tools(std::string_view json);

}  // namespace unspool
