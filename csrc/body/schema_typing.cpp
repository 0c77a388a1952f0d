#include "body/schema_typing.h"

#include "body/scalar.h"

namespace unspool {

void SchemaTyping::reset() {
  parameter_.clear();
  text_.clear();
  types_ = nullptr;
}

bool SchemaTyping::begin() {
  find_types();
  if (is_on() && types_->has(TypeSet::string)) types_ = nullptr;
  return is_on();
}

void SchemaTyping::find_types() {
  types_ = schema_ == nullptr ? nullptr : schema_->types_of(parameter_);
}

void SchemaTyping::end(std::string& out) {
  append_typed_literal(text_, *types_, out);
  text_.clear();
  types_ = nullptr;
}

void SchemaTyping::cut_off(std::string& out) const {
  if (is_on()) append_typed_beginning(text_, *types_, out);
}

void SchemaTyping::visit(Archive& archive) {
  archive(parameter_, text_);
  archive.pointer(schema_);
  bool is_typed = is_on();
  archive(is_typed);
  if (!archive.is_reading()) return;
  types_ = nullptr;
  if (is_typed) find_types();
  archive.expect(is_typed == is_on());
}

}  // namespace unspool
