// What copy and pickle do with an instance of a native class.
//
// Without `__reduce__`, and below protocol 2, Python would make an instance of pybind11's own base
// class, which ends the process.
#pragma once

#include <string>
#include <utility>

#include "bindings/python_types.h"

namespace unspool::bindings {

/// Sets `__reduce__`. Not by `def`, which would add an overload to an earlier one.
template <typename Reduce>
void set_reduce(py::handle cls, Reduce&& reduce) {
  cls.attr("__reduce__") =
      py::cpp_function(std::forward<Reduce>(reduce), py::is_method(cls), py::name("__reduce__"));
}

/// Copying and pickling raise a TypeError; every native class begins with this.
inline void refuse_pickle(py::handle cls) {
  set_reduce(cls, [](const py::object& self) -> py::object {
    throw py::type_error(std::string(py::str(py::type::of(self).attr("__name__"))) +
                         " cannot be copied or pickled: it is a native object");
  });
}

/// The same for an object with live state. `can_fork`: another method copies the object.
inline void refuse_pickle(py::handle cls, const char* what, bool can_fork = false) {
  set_reduce(cls, [what, can_fork](const py::object&) -> py::object {
    throw py::type_error(std::string(what) +
                         " cannot be copied or pickled: it is a live native object" +
                         (can_fork ? "; call its fork() for a copy" : ""));
  });
}

/// Instances are pickled by their class's `py::pickle`, in every protocol.
inline void pickle_by_state(py::handle cls) {
  set_reduce(cls, [](const py::object& self) {
    return py::make_tuple(py::module_::import("copyreg").attr("__newobj__"),
                          py::make_tuple(py::type::of(self)), self.attr("__getstate__")());
  });
}

}  // namespace unspool::bindings
