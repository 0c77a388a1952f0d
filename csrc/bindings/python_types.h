// What every binding file shares: exact argument types and error translation.
#pragma once

#include <pybind11/pybind11.h>

namespace unspool::bindings {

namespace py = pybind11;

/// Maps unspool::Error and its children to the classes of unspool.errors.
void register_errors(py::module_& module);

void register_vocabulary(py::module_& module);
void register_channel(py::module_& module);

/// Live objects hold native state: refuse copy and pickle with a reason.
template <typename Class>
void refuse_pickle(Class& cls, const char* what) {
  cls.def("__reduce__", [what](const py::object&) -> py::object {
    throw py::type_error(std::string(what) + " cannot be copied or pickled: it is a live native object");
  });
}

}  // namespace unspool::bindings
