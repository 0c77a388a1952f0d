// Converts a parameter's bare text to the JSON type that its schema requires.
#pragma once

#include <string>
#include <string_view>

#include "body/value_reader.h"
#include "format/schema.h"
#include "text/archive.h"

namespace unspool {

/// Appends the value of `text` as JSON: the first matching type of null, integer, number, boolean,
/// object, array; otherwise a string. If a string is allowed too, only exact JSON counts as another
/// type, so `02134` and `True` stay text. `python`: accept None, True and False.
void append_typed(std::string_view text, TypeSet types, std::string& out, bool python = false);

/// For text that the end of the output cut off: appends a prefix of a JSON value.
void append_typed_beginning(std::string_view text, TypeSet types, std::string& out);

/// Appends the value of a quoted text that is not a string in the schema: a list or an object in
/// JSON or Python syntax, a number, or a word.
void append_typed_literal(std::string_view text, TypeSet types, std::string& out);

/// JSON's word for a null or a boolean in a common spelling, if the types allow it; otherwise
/// empty.
std::string_view typed_word(std::string_view text, TypeSet types);

/// Whether the text is JSON or a prefix of it.
bool begins_json(std::string_view text);

/// Whether text can still be a number or a word such as `true`, optionally with white space after
/// it, if `byte` follows. `first`: its first byte; `size`: its length so far; `is_over`: white
/// space has followed.
bool may_be_scalar(char first, std::size_t size, bool is_over, char byte);

/// Follows a value as it arrives: whether it can still be something other than a string.
class TypedCandidate {
 public:
  explicit TypedCandidate(TypeSet types = TypeSet(), bool python = false)
      : types_(types), python_(python) {}

  /// Returns false once it can only be a string.
  bool put(char byte);

  void visit(Archive& archive) { archive(types_, python_, reader_, first_, size_, is_over_); }

 private:
  bool put_strict(char byte);
  bool put_word(char byte);

  TypeSet types_;
  bool python_ = false;
  ValueReader reader_;  // used if a string is allowed too
  char first_ = 0;      // the first byte that is not white space
  std::size_t size_ = 0;
  bool is_over_ = false;  // white space has followed
};

}  // namespace unspool
