// What a region's text means: a value, put into the shape that its field asks for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "body/value_reader.h"
#include "format/response_template.h"
#include "format/schema.h"
#include "text/archive.h"
#include "text/json_value.h"

namespace unspool {

/// The named groups that took part in an opener.
using Captures = std::vector<std::pair<std::string, std::string>>;

/// Reads a region of JSON as its field writes it.
ValueReader make_json_reader(const ContentSpec& spec);

/// The value of a text; nothing where it cannot be read.
std::optional<JsonValue> read_content(const ContentSpec& spec, std::string_view text);

/// Reads the tags of an xml-inline text one after the other, as they arrive.
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

  /// The text before this place is not needed any more.
  std::uint64_t earliest() const { return search_ ? search_->earliest() : place_; }

  void visit(Archive& archive);

 private:
  const ContentSpec* spec_;
  std::optional<RegexSearch> search_;
  std::uint64_t place_ = 0;
  char32_t before_ = 0;
  bool is_found_ = false;
};

/// The value of a region in its field's shape; nothing where it cannot be read or lacks something.
std::optional<JsonValue> read_region(const TemplateField& field, std::string_view text,
                                     const Captures& captures);

/// Whether strings may have to become something else for a parameter of these types.
bool is_cast(const TypeSet* types);

/// Makes a string that fits one of the types a value of that type: integer, number, boolean, null,
/// object, array, in this order; also in a list of them where no list is wanted.
void cast(JsonValue& value, TypeSet types);

/// Casts the arguments of a call.
void cast_arguments(JsonValue& arguments, const ToolSchema* schema);

/// The calls that a value holds; nothing where a part of it is none.
struct CallValue {
  std::string name;
  std::string id;
  JsonValue arguments;
};
bool find_calls(const JsonValue& value, std::vector<CallValue>& calls);

}  // namespace unspool
