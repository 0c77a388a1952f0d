// A JSON Schema as a document: where its references lead.
#pragma once

#include <unordered_map>

#include "text/json_value.h"

namespace unspool {

/// Immutable. Time and size are linear in the schema.
class SchemaDocument {
 public:
  explicit SchemaDocument(JsonValue root);
  SchemaDocument(const SchemaDocument&) = delete;
  SchemaDocument& operator=(const SchemaDocument&) = delete;

  const JsonValue& root() const { return root_; }

  /// The schema that the `$ref` of a schema in the document leads to. Null if there is none, and if
  /// it leads nowhere or to another document: such a reference says nothing.
  const JsonValue* target(const JsonValue& schema) const {
    const auto found = targets_.find(&schema);
    return found == targets_.end() ? nullptr : found->second;
  }

 private:
  JsonValue root_;
  std::unordered_map<const JsonValue*, const JsonValue*> targets_;
};

}  // namespace unspool
