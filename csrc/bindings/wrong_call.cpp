// What a call with wrong arguments raises: unspool.core.native_call says it in our own words.
//
// pybind11 lists the C++ signature and the values as they are, however long. Each of its functions
// gets a shell, a function of CPython that calls it and, only after an error, Python. The shell
// costs 80 instructions of 2,000, some 5 ns of 145. pybind11's own means, a function of py::args
// and py::kwargs, would cost 5,300 instructions, 650 ns. The methods of a token (fast_method.h)
// have neither.
#include <deque>
#include <string>

#include "bindings/fast_method.h"
#include "bindings/python_types.h"
#include "bindings/signatures.h"

namespace unspool::bindings {

namespace {

// Of a shell: the function and its full name.
PyObject* function_of(PyObject* self) { return PyTuple_GET_ITEM(self, 0); }

void explain(PyObject* self, PyObject* const* values, Py_ssize_t count, PyObject* names) {
  const py::error_already_set error;  // takes it
  try {
    py::tuple args(count);
    for (Py_ssize_t i = 0; i < count; ++i) args[i] = py::handle(values[i]);
    py::dict kwargs;
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i)
      kwargs[PyTuple_GET_ITEM(names, i)] = py::handle(values[count + i]);
    const py::str name(PyTuple_GET_ITEM(self, 1));
    const py::object said =
        py::module_::import("unspool.core.native_call")
            .attr("explain")(error.value(), name, typed_signature_of(std::string(name)), args,
                             kwargs);
    if (!said.is_none()) {
      PyErr_SetObject(py::type::of(said).ptr(), said.ptr());
      return;
    }
  } catch (const py::error_already_set&) {  // a repr or a str of the caller's has raised
  }
  PyErr_SetObject(error.type().ptr(), error.value().ptr());
}

PyObject* call(PyObject* self, PyObject* const* values, Py_ssize_t count, PyObject* names) {
  PyObject* result =
      PyObject_Vectorcall(function_of(self), values, static_cast<std::size_t>(count), names);
  if (result == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0)
    explain(self, values, count, names);
  return result;
}

/// `owner`: "Class.", or "" for a function of the module.
py::object shell_of(py::handle function, const std::string& owner) {
  static std::deque<PyMethodDef> definitions;  // of functions that live as long as the process
  const PyMethodDef* own = reinterpret_cast<PyCFunctionObject*>(function.ptr())->m_ml;
  definitions.push_back(
      {own->ml_name, as_method(call), METH_FASTCALL | METH_KEYWORDS, own->ml_doc});
  const py::tuple self = py::make_tuple(function, owner + own->ml_name);
  const py::object module = function.attr("__module__");
  PyObject* shell = PyCFunction_NewEx(&definitions.back(), self.ptr(), module.ptr());
  if (shell == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(shell);
}

/// The member with a shell; null if it is not pybind11's.
py::object with_shell(py::handle member, const std::string& owner) {
  PyObject* object = member.ptr();
  if (PyInstanceMethod_Check(object) != 0) {  // a method
    const py::object shell = shell_of(PyInstanceMethod_GET_FUNCTION(object), owner);
    return py::reinterpret_steal<py::object>(PyInstanceMethod_New(shell.ptr()));
  }
  if (py::isinstance<py::staticmethod>(member)) {
    const py::object function = member.attr("__func__");
    if (PyCFunction_Check(function.ptr()) != 0) return py::staticmethod(shell_of(function, owner));
  }
  return {};
}

void explain_in(py::handle cls, const std::string& owner) {
  for (const auto& [name, member] : py::dict(cls.attr("__dict__"))) {
    if (const py::object shell = with_shell(member, owner)) cls.attr(name) = shell;
  }
}

}  // namespace

void explain_wrong_calls(const py::module_& module) {
  for (const auto& [name, value] : py::dict(module.attr("__dict__"))) {
    if (PyType_Check(value.ptr()) != 0) explain_in(value, std::string(py::str(name)) + ".");
    // Our own functions have no `__self__`.
    if (PyCFunction_Check(value.ptr()) != 0 && PyCFunction_GET_SELF(value.ptr()) != nullptr)
      module.attr(name) = shell_of(value, "");
  }
}

}  // namespace unspool::bindings
