// What the parser needs of the request's tools: their names and the types of their parameters.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "format/type_set.h"

namespace unspool {

/// What is known of a value: its types, and of those inside it.
struct ValueSchema {
  TypeSet types = TypeSet::any();
  std::map<std::string, ValueSchema, std::less<>> properties;
  std::vector<ValueSchema> items;  // one, or none where nothing is known
};

struct ToolSchema {
  std::map<std::string, ValueSchema, std::less<>> parameters;
  std::vector<std::string> required;  // those that a call must give

  /// Null where the schema says nothing of this parameter.
  const ValueSchema* find(std::string_view parameter) const {
    const auto it = parameters.find(parameter);
    return it == parameters.end() ? nullptr : &it->second;
  }

  /// The same, where only the types matter.
  const TypeSet* types_of(std::string_view parameter) const {
    const ValueSchema* value = find(parameter);
    return value == nullptr ? nullptr : &value->types;
  }
};

/// The tools of one request; immutable, shared by its streams.
struct ToolSchemas {
  std::map<std::string, ToolSchema, std::less<>> tools;

  const ToolSchema* find(std::string_view name) const {
    const auto it = tools.find(name);
    return it == tools.end() ? nullptr : &it->second;
  }
};

}  // namespace unspool
