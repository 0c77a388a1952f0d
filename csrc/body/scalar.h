// Turns a parameter's bare text into the JSON value that its schema asks for.
#pragma once

#include <string>
#include <string_view>

#include "body/json_scanner.h"
#include "format/schema.h"

namespace unspool {

/// Appends the value of `text` as JSON: the first type that fits of null, integer, number, boolean,
/// object, array; a string where none does. Where a string is allowed too, only what is JSON to the
/// letter counts as another type, so that `02134` and `True` stay text.
/// `python`: None, True and False count as JSON's words.
void append_typed(std::string_view text, TypeSet types, std::string& out, bool python = false);

/// The same for text that the end of the output cut off: what is written is a beginning of JSON.
void append_typed_beginning(std::string_view text, TypeSet types, std::string& out);

/// Follows a value as it arrives and tells whether it may still be something other than a string.
class TypedCandidate {
 public:
  explicit TypedCandidate(TypeSet types = TypeSet(), bool python = false)
      : types_(types), python_(python) {}

  /// False once it can only be a string.
  bool put(std::string_view text);

 private:
  bool put_byte(char byte);
  bool put_strict(char byte);
  bool put_lenient(char byte);
  bool put_word(char byte);

  TypeSet types_;
  bool python_ = false;
  JsonScanner scanner_;    // where a string is allowed too
  char first_ = 0;         // the first byte that is not white space
  std::uint8_t size_ = 0;  // of a word
  bool is_over_ = false;   // white space has followed
};

}  // namespace unspool
