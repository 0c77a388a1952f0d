// Text arguments from Python.
#pragma once

#include <string>
#include <string_view>

#include "bindings/python_types.h"

namespace unspool::bindings {

/// Text as str, or as UTF-8 bytes that may be split anywhere. The view is valid as long as this and
/// the object. It points into a str or bytes; mutable buffers are copied.
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
