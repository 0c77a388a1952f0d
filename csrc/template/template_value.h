// Converts a region's text to a value in the shape that its field defines.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "body/value_reader.h"
#include "format/schema.h"
#include "template/response_template.h"
#include "text/archive.h"
#include "text/json_value.h"

namespace unspool {

/// The named groups of an opener that matched.
using Captures = std::vector<std::pair<std::string, std::string>>;

/// Reads a region of JSON in its field's notation.
ValueReader make_json_reader(const ContentSpec& spec);

/// The value of a text; nullopt if it cannot be parsed.
std::optional<JsonValue> read_content(const ContentSpec& spec, std::string_view text);

/// Reads the tags of an xml-inline text as they arrive.
class TagReader {
 public:
  struct Tag {
    std::string key;
    JsonValue value;
    bool is_readable = false;
    std::uint64_t begin = 0;
  };
  explicit TagReader(const ContentSpec& spec) : spec_(&spec) {}

  /// The next tag that is certain.
  std::optional<Tag> next(const TextWindow& window);

  /// The text before this position is no longer needed.
  std::uint64_t earliest() const { return search_ ? search_->earliest() : place_; }

  void visit(Archive& archive);

 private:
  const ContentSpec* spec_;
  std::optional<RegexSearch> search_;
  std::uint64_t place_ = 0;
  char32_t before_ = 0;
  bool is_found_ = false;
};

/// The value of a region in its field's shape; nullopt if it cannot be parsed or is incomplete.
std::optional<JsonValue> read_region(const TemplateField& field, std::string_view text,
                                     const Captures& captures);

/// Whether strings may have to be converted for a parameter of these types.
bool is_cast(const TypeSet* types);

/// Converts a string to the first type that it matches: integer, number, boolean, null, object,
/// array. Also converts strings in a list if no list is wanted.
void cast(JsonValue& value, TypeSet types);

/// Converts the arguments of a call.
void cast_arguments(JsonValue& arguments, const ToolSchema* schema);

/// The calls in a value; nullopt if a part of it is not a call.
struct CallValue {
  std::string name;
  std::string id;
  JsonValue arguments;
};
bool find_calls(const JsonValue& value, std::vector<CallValue>& calls);

}  // namespace unspool
