// A request's tools, as JSON, reduced to what the parser needs of them.
#pragma once

#include <memory>
#include <string_view>

#include "format/schema.h"
#include "text/json_value.h"

namespace unspool {

/// Reads JSON Schemas of tools' parameters: `type`, `enum`, `const`, `anyOf`, `oneOf`, `allOf`,
/// `$ref` within the schema, `properties`, `items`, `nullable`. What says nothing that it knows
/// allows every type.
class SchemaReader {
 public:
  /// `parameters`: the schema of a tool's arguments. Never fails.
  ToolSchema read(const JsonValue& parameters);

 private:
  std::map<std::string, ValueSchema, std::less<>> properties(const JsonValue& schema, int level);
  ValueSchema value(const JsonValue& schema, int level);
  TypeSet types(const JsonValue& schema, int depth);
  template <typename Use>
  void for_each_part(const JsonValue& schema, int depth, Use&& use);
  const JsonValue* resolve(const JsonValue& reference) const;
  bool visit() { return ++visits_ <= kMaxVisits; }

  // A small schema that refers to itself many times may be endless: behind this, nothing is known.
  static constexpr int kMaxVisits = 250'000;
  int visits_ = 0;
  const JsonValue* root_ = nullptr;
};

/// Reads a list of tools as a chat or Responses request holds them. Throws ArgumentError: it is no
/// JSON list, or one of them has no name.
std::shared_ptr<const ToolSchemas> read_tools(std::string_view json);

}  // namespace unspool
