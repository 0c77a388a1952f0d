// Turns a parameter's bare text into the JSON value that its schema asks for.
#pragma once

#include <string>
#include <string_view>

#include "body/value_reader.h"
#include "format/schema.h"
#include "text/archive.h"

namespace unspool {

/// Appends the value of `text` as JSON: the first type that fits of null, integer, number, boolean,
/// object, array; a string where none does. Where a string is allowed too, only what is JSON to the
/// letter counts as another type, so that `02134` and `True` stay text.
/// `python`: None, True and False count as JSON's words.
void append_typed(std::string_view text, TypeSet types, std::string& out, bool python = false);

/// The same for text that the end of the output cut off: what is written is a beginning of JSON.
void append_typed_beginning(std::string_view text, TypeSet types, std::string& out);

/// Appends the value of a quoted text that the schema calls something else than a string: a list or
/// an object as JSON or Python writes it, a number, a word.
void append_typed_literal(std::string_view text, TypeSet types, std::string& out);

/// JSON's word for a null or a boolean as people write it, if the types have it; else empty.
std::string_view typed_word(std::string_view text, TypeSet types);

/// Whether the text is JSON, or the beginning of it.
bool begins_json(std::string_view text);

/// Whether text may still be a number or a word such as `true`, with white space after it, if
/// `byte` follows. `first`: its first byte; `size`: how many came before; `is_over`: white space
/// did.
bool may_be_scalar(char first, std::size_t size, bool is_over, char byte);

/// Follows a value as it arrives: whether it may still be something other than a string.
class TypedCandidate {
 public:
  explicit TypedCandidate(TypeSet types = TypeSet(), bool python = false)
      : types_(types), python_(python) {}

  /// False once it can only be a string.
  bool put(char byte);

  void visit(Archive& archive) { archive(types_, python_, reader_, first_, size_, is_over_); }

 private:
  bool put_strict(char byte);
  bool put_word(char byte);

  TypeSet types_;
  bool python_ = false;
  ValueReader reader_;  // where a string is allowed too
  char first_ = 0;      // the first byte that is not white space
  std::size_t size_ = 0;
  bool is_over_ = false;  // white space has followed
};

}  // namespace unspool
