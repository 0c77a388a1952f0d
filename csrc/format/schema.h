// What the parser needs of the request's tools: their names and the types of their parameters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace unspool {

/// The JSON types that a value may have, as a set.
class TypeSet {
 public:
  enum Type : std::uint8_t {
    null = 1,
    boolean = 2,
    integer = 4,
    number = 8,
    string = 16,
    array = 32,
    object = 64,
  };
  constexpr TypeSet() = default;
  constexpr explicit TypeSet(std::uint8_t bits) : bits_(bits) {}
  constexpr bool has(Type type) const { return (bits_ & type) != 0; }
  constexpr bool is_only(Type type) const { return bits_ == type; }
  constexpr bool is_empty() const { return bits_ == 0; }
  constexpr std::uint8_t bits() const { return bits_; }

  static constexpr TypeSet any() { return TypeSet(0x7F); }

 private:
  std::uint8_t bits_ = 0;
};

struct ToolSchema {
  std::map<std::string, TypeSet, std::less<>> parameters;

  /// Null where the schema says nothing of this parameter.
  const TypeSet* find(std::string_view parameter) const {
    const auto it = parameters.find(parameter);
    return it == parameters.end() ? nullptr : &it->second;
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
