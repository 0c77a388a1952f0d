#include "bindings/python_types.h"
#include "text/error.h"

namespace unspool::bindings {

namespace {

// A message may quote a lone surrogate, which is not valid UTF-8.
void raise(const char* name, const char* what) {
  const py::object text = py::reinterpret_steal<py::object>(new_str(what));
  PyErr_SetObject(py::module_::import("unspool.errors").attr(name).ptr(), text.ptr());
}

}  // namespace

bool set_python_error(const std::exception_ptr& pointer) {
  // Subclasses first: a ChannelClosedError is a StreamError too.
  try {
    std::rethrow_exception(pointer);
  } catch (const ChannelClosedError& error) {
    raise("ChannelClosedError", error.what());
  } catch (const ChannelCancelledError& error) {
    raise("ChannelCancelledError", error.what());
  } catch (const ChannelTimeoutError& error) {
    raise("ChannelTimeoutError", error.what());
  } catch (const StreamError& error) {
    raise("StreamError", error.what());
  } catch (const FormatError& error) {
    raise("FormatError", error.what());
  } catch (const VocabularyError& error) {
    raise("VocabularyError", error.what());
  } catch (const ArgumentError& error) {
    raise("ArgumentError", error.what());
  } catch (const py::cast_error&) {
    // pybind11's own is a RuntimeError about C++ types.
    PyErr_SetString(
        PyExc_TypeError,
        "an argument has a wrong type, or its __init__ has not run; see help() for what "
        "the call takes");
  } catch (...) {
    return false;
  }
  return true;
}

void refuse_type(const std::string& name, py::handle value, const char* wanted) {
  const py::object shown = py::module_::import("unspool.core.wrong_call").attr("shown")(value);
  throw py::type_error(name + " is " + std::string(py::str(shown)) + " (" +
                       Py_TYPE(value.ptr())->tp_name + "); pass " + wanted);
}

void register_errors(py::module_&) {
  py::register_local_exception_translator([](std::exception_ptr pointer) {
    if (pointer && !set_python_error(pointer)) std::rethrow_exception(pointer);
  });
}

}  // namespace unspool::bindings
