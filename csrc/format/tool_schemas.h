// Reduces a request's tools, given as JSON, to the facts that the parser needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/schema.h"
#include "text/json_value.h"

namespace unspool {

/// What a schema says of a value's type. Each reading is one choice of its unions; a value may have
/// the types of any of them.
class TypeReadings {
 public:
  /// Says nothing.
  static TypeReadings any() { return TypeReadings(Reading()); }
  /// No value fits.
  static TypeReadings none() { return TypeReadings(std::vector<Reading>()); }
  /// `types`: stated by `type`, `enum` or `const`.
  static TypeReadings stated(TypeSet types) { return TypeReadings(Reading{types, true}); }
  /// `types`: one for each kind of keyword that the schema has.
  static TypeReadings implied(TypeSet types) {
    return TypeReadings(Reading{TypeSet::any(), false, types});
  }

  /// Both schemas apply.
  void meet(const TypeReadings& other);
  /// One of the two applies.
  void join(const TypeReadings& other);
  /// The types that a value may have; all types if the schema restricts none, or contradicts
  /// itself.
  TypeSet types() const;

 private:
  struct Reading {
    TypeSet allowed = TypeSet::any();
    bool is_stated = false;
    TypeSet implied = {};
    auto operator<=>(const Reading& other) const { return bits() <=> other.bits(); }
    bool operator==(const Reading& other) const { return bits() == other.bits(); }
    int bits() const { return allowed.bits() << 8 | (is_stated ? 128 : 0) | implied.bits(); }
  };
  explicit TypeReadings(Reading reading) : readings_(1, reading) {}
  explicit TypeReadings(std::vector<Reading> readings) : readings_(std::move(readings)) {}
  void tidy();

  std::vector<Reading> readings_;  // sorted
};

/// Reads the JSON Schemas of tools' parameters: the types of values and of what they hold, through
/// unions and references. docs/how-it-works.md has the rules.
class SchemaReader {
 public:
  /// `parameters`: the schema of a tool's arguments. Never fails. Time and size are bounded: a
  /// schema that refers to itself is read only as deep as the result stays small.
  ToolSchema read(JsonValue parameters);

 private:
  /// What the schemas of a value say of it.
  struct Place {
    TypeReadings types = TypeReadings::any();
    std::map<std::string, Place, std::less<>> properties = {};
    std::vector<Place> items = {};  // one or none
    std::set<std::string> required = {};
    std::size_t choices = 1;     // of a union, that are joined here,
    std::size_t named_by = 1;    // and those of the parent that name this property
    bool may_be_absent = false;  // in a choice that does not name it

    void meet(Place&& other);
    void join(Place&& other);
    void end_union();
    ValueSchema value() const;
  };

  ToolSchema read_to(int max_level);
  std::optional<Place> place(const JsonValue& schema, int level, int depth);
  Place own_place(const JsonValue& schema, int level);
  std::optional<TypeReadings> types(const JsonValue& schema, int depth);
  template <typename Found, typename Read>
  void add_parts(const JsonValue& schema, Found& found, const Read& read) const;

  std::shared_ptr<const SchemaDocument> document_;
  int max_level_ = 0;       // of nested values
  std::size_t visits_ = 0;  // of subschemas, at this level
  std::size_t max_visits_ = 0;
  std::unordered_map<const JsonValue*, std::optional<TypeReadings>> known_types_;
  std::set<std::pair<const JsonValue*, int>> open_;  // the schemas being read, with their levels
};

/// Reads the list of tools of a chat or Responses request. Schemas nested deeper than
/// `kMaxJsonDepth` allow every type. Throws ArgumentError if it is not a JSON list, or if a tool
/// has no name.
std::shared_ptr<const ToolSchemas> read_tools(std::string_view json);

}  // namespace unspool
