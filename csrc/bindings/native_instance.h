// The native object in a Python object: the only file that reads pybind11's own structures.
//
// What pybind11 has for each use, and what this file has instead:
//   native_or_null   `handle.cast<T&>()` adds 340 instructions to the 1,400 of a `put(id)`, and 33
//                    ns to the 15 of the lookup
//   make_instance    `py::cast(std::move(object))` makes an instance of T's class, never of a
//                    subclass; a fork of a Parser must be a Parser
//   refuse_unmade_instances
//                    nothing: a method that is called before __init__ runs on uninitialized memory
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstddef>
#include <memory>

#include "bindings/python_types.h"

namespace unspool::bindings {

[[noreturn]] inline void refuse_unmade() {
  throw py::type_error("__init__ of this object has not run; create it by calling its class");
}

/// pybind11's type information for a class, looked up once. It avoids a static's guard: a thread
/// must not wait for another one that waits for Python.
template <typename T>
py::detail::type_info* type_info_of() {
  static std::atomic<py::detail::type_info*> info = nullptr;
  py::detail::type_info* known = info.load(std::memory_order_relaxed);
  if (known == nullptr) {
    known = py::detail::get_type_info(typeid(T), true);
    info.store(known, std::memory_order_relaxed);
  }
  return known;
}

/// The object of one of an instance's native classes. Not inlined, so that `native_or_null` is.
PYBIND11_NOINLINE void* value_of_class(py::detail::instance* instance,
                                       const py::detail::type_info* type) {
  return instance->get_value_and_holder(type).value_ptr();
}

/// The native object in `self`, an instance of T's class; null if __init__ has not run.
template <typename T>
T* native_or_null(PyObject* self) {
  auto* instance = reinterpret_cast<py::detail::instance*>(self);
  // The layout of all our classes: one base, one pointer.
  if (instance->simple_layout) return static_cast<T*>(instance->simple_value_holder[0]);
  return static_cast<T*>(value_of_class(instance, type_info_of<T>()));
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

/// Makes pybind11 raise a TypeError for a method of T's class that is called before __init__. It
/// asks this hook, which has no other purpose, for the memory that it would pass to the method.
template <typename T>
void refuse_unmade_instances() {
  type_info_of<T>()->operator_new = [](std::size_t) -> void* { refuse_unmade(); };
}

}  // namespace unspool::bindings
