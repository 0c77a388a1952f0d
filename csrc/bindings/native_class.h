// Rules for every native class: no method runs before __init__, and the garbage collector sees the
// Python objects that an instance holds.
//
// pybind11 does not promise either. `SomeClass.__new__(SomeClass).method()` would run a method on
// memory that no constructor has seen; a cycle through a native object, such as a streamer and the
// channel's callback that refers to it, would never be freed.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "bindings/python_types.h"
#include "format/format.h"
#include "format/format_source.h"
#include "format/tool_schemas.h"
#include "vocabulary/vocabulary.h"

namespace unspool::bindings {

[[noreturn]] inline void refuse_unmade() {
  throw py::type_error("__init__ of this object has not run; create it by calling its class");
}

/// pybind11's type information for a class, looked up once. It avoids a static's guard: a thread
/// must not wait for another one that waits for Python.
template <typename T>
const py::detail::type_info* type_info_of() {
  static std::atomic<const py::detail::type_info*> info = nullptr;
  const py::detail::type_info* known = info.load(std::memory_order_relaxed);
  if (known == nullptr) {
    known = py::detail::get_type_info(typeid(T), true);
    info.store(known, std::memory_order_relaxed);
  }
  return known;
}

/// The native object in `self`, an instance of T's class; null if __init__ has not run.
template <typename T>
T* native_or_null(PyObject* self) {
  auto* instance = reinterpret_cast<py::detail::instance*>(self);
  // The layout of all our classes: one base, one pointer.
  if (instance->simple_layout) return static_cast<T*>(instance->simple_value_holder[0]);
  return instance->get_value_and_holder(type_info_of<T>()).template value_ptr<T>();
}

/// A new instance of `type` (T's class or a subclass) around `object`; __init__ does not run.
template <typename T>
py::object make_instance(PyTypeObject* type, std::unique_ptr<T> object) {
  auto self = py::reinterpret_steal<py::object>(py::detail::make_new_instance(type));
  if (!self) throw py::error_already_set();
  auto* instance = reinterpret_cast<py::detail::instance*>(self.ptr());
  instance->get_value_and_holder(type_info_of<T>()).value_ptr() = object.release();
  type_info_of<T>()->init_instance(instance, nullptr);  // it owns the object now
  return self;
}

/// For every class of the module. pybind11 passes uninitialized memory to a method that is called
/// before __init__; it gets this memory from the hook below, which has no other purpose.
inline void refuse_unmade_objects(const py::module_& module) {
  for (const auto& [name, value] : module.attr("__dict__").cast<py::dict>()) {
    if (!PyType_Check(value.ptr())) continue;
    auto* info = py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(value.ptr()));
    if (info != nullptr) info->operator_new = [](std::size_t) -> void* { refuse_unmade(); };
  }
}

/// For every class of the module: an instance is pickled as its class says, or refuses. Without
/// `__reduce__`, and below protocol 2, Python would make an instance of pybind11's own base class,
/// which ends the process.
inline void decide_pickling(const py::module_& module) {
  for (const auto& [name, value] : module.attr("__dict__").cast<py::dict>()) {
    if (!PyType_Check(value.ptr())) continue;
    if (py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(value.ptr())) == nullptr)
      continue;
    const auto cls = py::reinterpret_borrow<py::object>(value);
    const py::object members = cls.attr("__dict__");
    if (members.contains("__reduce__")) continue;
    const auto set = [&](auto reduce) {
      cls.attr("__reduce__") = py::cpp_function(reduce, py::is_method(cls), py::name("__reduce__"));
    };
    if (members.contains("__getstate__")) {
      set([](const py::object& self) {
        return py::make_tuple(py::module_::import("copyreg").attr("__newobj__"),
                              py::make_tuple(py::type::of(self)), self.attr("__getstate__")());
      });
    } else {
      set([](const py::object& self) -> py::object {
        throw py::type_error(std::string(py::str(py::type::of(self).attr("__name__"))) +
                             " cannot be copied or pickled: it is a native object");
      });
    }
  }
}

/// Shows the garbage collector the Python objects that a native T holds: `T::for_each_object(use)`
/// calls `use(py::object&)` for each.
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

/// Casts a shared native object; rejects one whose __init__ has not run, as a cast to a value does.
template <typename T>
struct SharedCaster : py::detail::copyable_holder_caster<T, std::shared_ptr<T>> {
  bool load(py::handle source, bool convert) {
    const py::detail::type_info* info = type_info_of<T>();
    if (PyObject_TypeCheck(source.ptr(), info->type) != 0 &&
        native_or_null<T>(source.ptr()) == nullptr) {
      refuse_unmade();
    }
    return py::detail::copyable_holder_caster<T, std::shared_ptr<T>>::load(source, convert);
  }
};

}  // namespace unspool::bindings

namespace pybind11::detail {

template <>
class type_caster<std::shared_ptr<unspool::Format>>
    : public unspool::bindings::SharedCaster<unspool::Format> {};
template <>
class type_caster<std::shared_ptr<unspool::FormatSource>>
    : public unspool::bindings::SharedCaster<unspool::FormatSource> {};
template <>
class type_caster<std::shared_ptr<unspool::ToolSchemas>>
    : public unspool::bindings::SharedCaster<unspool::ToolSchemas> {};
template <>
class type_caster<std::shared_ptr<unspool::Vocabulary>>
    : public unspool::bindings::SharedCaster<unspool::Vocabulary> {};

}  // namespace pybind11::detail
