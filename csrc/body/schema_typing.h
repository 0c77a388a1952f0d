// Converts quoted texts that are not strings in the tool's schema: with a parameter `days` of type
// integer, `days:<|"|>3<|"|>` is `"days": 3`. The text is collected until its closing quote.
#pragma once

#include <string>
#include <string_view>

#include "format/schema.h"
#include "text/archive.h"

namespace unspool {

class SchemaTyping {
 public:
  /// `schema`: that of the tool whose arguments are read; null converts nothing.
  explicit SchemaTyping(const ToolSchema* schema = nullptr) : schema_(schema) {}

  void reset();
  /// A key of the outermost object has ended.
  void set_parameter(std::string_view key) { parameter_ = key; }

  /// A quoted text begins, as the value of the last parameter; false if it is a string.
  bool begin();
  /// Whether such a text is being read that is not a string.
  bool is_on() const { return types_ != nullptr; }
  void put(std::string_view text) { text_ += text; }
  /// The text has ended: writes its value.
  void end(std::string& out);
  /// The output ended inside the text: writes a prefix of its value.
  void cut_off(std::string& out) const;

  /// What was read of the text.
  std::string_view text() const { return text_; }

  void visit(Archive& archive);

 private:
  void find_types();

  const ToolSchema* schema_;
  std::string parameter_;           // the last key of the outermost object
  const TypeSet* types_ = nullptr;  // of the text being read, if it is not a string
  std::string text_;
};

}  // namespace unspool
