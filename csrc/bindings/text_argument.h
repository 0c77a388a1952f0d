// Text as callers pass it.
#pragma once

#include <string>
#include <string_view>

#include "bindings/python_types.h"

namespace unspool::bindings {

/// Text as str, or as bytes of UTF-8 that may be cut anywhere. The view lives as long as this and
/// the object: a str's and a bytes' are theirs, of what can change a copy is made.
class TextArgument {
 public:
  explicit TextArgument(PyObject* object);
  std::string_view view() const { return is_copy_ ? std::string_view(copy_) : view_; }

 private:
  std::string copy_;
  std::string_view view_;
  bool is_copy_ = false;
};

}  // namespace unspool::bindings
