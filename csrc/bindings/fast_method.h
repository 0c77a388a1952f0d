// Methods for the hot path: CPython's vectorcall convention without pybind11's dispatch, which
// costs 90 to 130 ns per call, more than the work itself.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <stdexcept>
#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif

#include "bindings/native_instance.h"
#include "bindings/python_types.h"

namespace unspool::bindings {

/// The native object in `self`, an instance of T's class. Throws a Python TypeError if __init__ has
/// not run.
template <typename T>
T& native(PyObject* self) {
  T* object = native_or_null<T>(self);
  if (object == nullptr) refuse_unmade();
  return *object;
}

/// Runs `body`; converts exceptions to Python's.
template <typename Body>
PyObject* guarded(Body&& body) {
  try {
    return body();
  } catch (py::error_already_set& error) {
    // The error came from Python, and goes back as it was.
    error.restore();
  } catch (const py::cast_error&) {
    set_python_error(std::current_exception());
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::out_of_range& error) {  // as in pybind11; possible after a forged snapshot
    PyErr_SetString(PyExc_IndexError, error.what());
  } catch (const std::length_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
#ifdef __GLIBCXX__
  } catch (abi::__forced_unwind&) {
    throw;  // CPython ends a thread while it finalizes
#endif
  } catch (...) {
    if (!set_python_error(std::current_exception())) {
      PyErr_SetString(PyExc_SystemError, "unspool: unexpected native exception");
    }
  }
  return nullptr;
}

template <typename Function>
PyCFunction as_method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace unspool::bindings
