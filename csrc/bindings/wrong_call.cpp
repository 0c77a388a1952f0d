// What a call with wrong arguments raises: unspool.core.wrong_call says it in our own words.
//
// pybind11 lists the C++ signature and the values as they are, however long. Its functions get a
// shell that calls the original and, only after an error, Python.
#include <cstddef>

#include "bindings/python_types.h"

namespace unspool::bindings {

namespace {

// The type that pybind11 gives its functions; CPython's has a signed count.
using Call = PyObject* (*)(PyObject*, PyObject* const*, std::size_t, PyObject*);
constexpr int kFlags = METH_FASTCALL | METH_KEYWORDS;

Call original = nullptr;  // one for all functions of pybind11

void explain(PyObject* const* values, Py_ssize_t count, PyObject* names) {
  const py::error_already_set error;  // takes it
  try {
    py::tuple args(count);
    for (Py_ssize_t i = 0; i < count; ++i) args[i] = py::handle(values[i]);
    py::dict kwargs;
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i)
      kwargs[PyTuple_GET_ITEM(names, i)] = py::handle(values[count + i]);
    const py::object said = py::module_::import("unspool.core.wrong_call")
                                .attr("explain")(py::str(error.value()), args, kwargs);
    if (!said.is_none()) {
      PyErr_SetObject(py::type::of(said).ptr(), said.ptr());
      return;
    }
  } catch (const py::error_already_set&) {  // a repr or a str of the caller's has raised
  }
  PyErr_SetObject(error.type().ptr(), error.value().ptr());
}

PyObject* call(PyObject* self, PyObject* const* values, std::size_t count, PyObject* names) {
  PyObject* result = original(self, values, count, names);
  if (result == nullptr && (PyErr_ExceptionMatches(PyExc_TypeError) != 0 ||
                            PyErr_ExceptionMatches(PyExc_RuntimeError) != 0)) {
    explain(values, PyVectorcall_NARGS(count), names);
  }
  return result;
}

void guard(py::handle member) {
  const py::handle bare = py::detail::get_function(member);
  if (!PyCFunction_Check(bare.ptr())) return;
  PyMethodDef* method = reinterpret_cast<PyCFunctionObject*>(bare.ptr())->m_ml;
  const auto function = reinterpret_cast<Call>(reinterpret_cast<void (*)()>(method->ml_meth));
  if (method->ml_flags != kFlags || function == call) return;
  if (original == nullptr) original = function;
  if (function == original)
    method->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call));
}

}  // namespace

void explain_wrong_calls(const py::module_& module) {
  for (const auto& [_, value] : module.attr("__dict__").cast<py::dict>()) {
    guard(value);
    if (!PyType_Check(value.ptr())) continue;
    for (const auto& [name, member] : py::dict(value.attr("__dict__"))) {
      if (py::isinstance<py::staticmethod>(member)) {
        guard(member.attr("__func__"));
      } else {
        guard(member);
      }
    }
  }
}

}  // namespace unspool::bindings
