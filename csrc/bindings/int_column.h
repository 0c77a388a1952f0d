// A column of integers from the caller, read in place if possible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bindings/python_types.h"

namespace unspool::bindings {

/// A one-dimensional buffer of integers (NumPy, memoryview, array), a DLPack tensor on the CPU
/// (PyTorch), or a list, tuple or range of ints. Contiguous items of T's size are read in place;
/// others are copied into `scratch`. Keeps the owner alive. Throws a Python TypeError or an
/// ArgumentError that names the argument.
template <typename T>
class IntColumn {
 public:
  IntColumn(PyObject* object, const char* name, std::vector<T>& scratch);
  IntColumn(const IntColumn&) = delete;
  IntColumn& operator=(const IntColumn&) = delete;
  ~IntColumn() {
    if (has_buffer_) PyBuffer_Release(&buffer_);
  }

  std::span<const T> view() const { return view_; }

  /// Copies the items into `scratch`, because other threads may write to the buffer.
  void keep_in(std::vector<T>& scratch) {
    if (view_.data() != scratch.data()) scratch.assign(view_.begin(), view_.end());
    view_ = scratch;
  }

 private:
  std::span<const T> view_;
  Py_buffer buffer_;
  bool has_buffer_ = false;
  py::object capsule_;  // of DLPack
};

extern template class IntColumn<std::int32_t>;
extern template class IntColumn<std::uint32_t>;
extern template class IntColumn<std::int64_t>;

}  // namespace unspool::bindings
