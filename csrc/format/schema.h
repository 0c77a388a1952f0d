// The facts about a request's tools that the parser needs: names, and the types of parameters.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/schema_document.h"
#include "format/type_set.h"

namespace unspool {

/// The known types of a value and of the values inside it.
struct ValueSchema {
  TypeSet types = TypeSet::any();
  std::map<std::string, ValueSchema, std::less<>> properties;
  std::vector<ValueSchema> items;  // one item, or none if nothing is known
};

struct ToolSchema {
  std::map<std::string, ValueSchema, std::less<>> parameters;
  std::vector<std::string> required;                    // required parameters
  std::shared_ptr<const SchemaDocument> document = {};  // the schema itself; null allows all
  std::string json = {};                                // the same for a host; may be empty

  /// The schema of a parameter; null if it is unknown.
  const ValueSchema* find(std::string_view parameter) const {
    const auto it = parameters.find(parameter);
    return it == parameters.end() ? nullptr : &it->second;
  }

  /// The types of a parameter; null if it is unknown.
  const TypeSet* types_of(std::string_view parameter) const {
    const ValueSchema* value = find(parameter);
    return value == nullptr ? nullptr : &value->types;
  }
};

/// The tools of one request. Immutable; shared by its streams.
struct ToolSchemas {
  std::map<std::string, ToolSchema, std::less<>> tools;

  const ToolSchema* find(std::string_view name) const {
    const auto it = tools.find(name);
    return it == tools.end() ? nullptr : &it->second;
  }
};

}  // namespace unspool
