// Shows the garbage collector the Python objects that a native object holds. A cycle through it,
// such as a streamer and the channel's callback that refers to it, would never be freed otherwise.
#pragma once

#include <utility>

#include "bindings/native_instance.h"
#include "bindings/python_types.h"

namespace unspool::bindings {

/// For the constructor of a NativeClass: `T::for_each_object(use)` calls `use(py::object&)` for
/// each object.
template <typename T>
py::custom_type_setup is_collected() {
  return py::custom_type_setup([](PyHeapTypeObject* heap_type) {
    PyTypeObject& type = heap_type->ht_type;
    type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) -> int {
      // As every heap type must, from Python 3.9 on.
      Py_VISIT(Py_TYPE(self));
      T* object = native_or_null<T>(self);
      int result = 0;
      if (object == nullptr) return result;
      object->for_each_object([&](const py::object& held) {
        if (result == 0 && held) result = visit(held.ptr(), arg);
      });
      return result;
    };
    type.tp_clear = [](PyObject* self) -> int {
      if (T* object = native_or_null<T>(self)) {
        // Moved out first: its destructor may run code that looks at this object.
        object->for_each_object([](py::object& held) { const py::object gone = std::move(held); });
      }
      return 0;
    };
  });
}

}  // namespace unspool::bindings
