// Common parts of all binding files: exact argument types and error translation.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "vocabulary/token_id.h"

namespace unspool::bindings {

namespace py = pybind11;

/// Maps unspool::Error and its subclasses to the classes of unspool.errors.
void register_errors(py::module_& module);
void register_vocabulary(py::module_& module);
void register_format_source(py::module_& module);
void register_shape(py::module_& module);
void register_format(py::module_& module);
void register_response_template(py::module_& module);
void register_delta(py::module_& module);
void register_token_streamer(py::module_& module);
void register_parse_batch(py::module_& module);
void register_stream_batch(py::module_& module);
void register_channel(py::module_& module);
void register_argument_reader(py::module_& module);
void register_wire(py::module_& module);
void register_data_key(py::module_& module);
/// Has unspool.core.native_call write the errors of wrong arguments; called last.
void explain_wrong_calls(const py::module_& module);

/// Sets the Python error for one of our exceptions; returns false for others.
bool set_python_error(const std::exception_ptr& pointer);

/// Throws a Python TypeError: what is wrong, the value, and what to pass.
[[noreturn]] void refuse_type(const std::string& name, py::handle value, const char* wanted);

/// The int value of `object`, by `__index__`. Throws the errors of `__index__`.
py::object to_index(py::handle object);

/// An attribute, or null if there is none. Throws other errors of the lookup.
py::object attribute_or_null(py::handle object, const char* name);

/// Appends the token ids of `object`: an int, a list, tuple or range of ints, a one-row buffer of
/// integers (NumPy), or a tensor of one row. Throws a Python TypeError or an ArgumentError.
void read_token_ids(py::handle object, std::vector<TokenId>& ids);
/// The same for an int.
TokenId read_token_id(PyObject* object);

/// The index of one of `items`, as 32 bits; `name` is the argument's name. Throws a Python
/// TypeError or an ArgumentError.
std::int32_t read_number(py::handle object, const char* name, const char* items);

/// The UTF-8 of a str; rejects lone surrogates. Valid as long as the object.
std::string_view read_text(py::handle object);

/// A new str, with U+FFFD for bytes that are not UTF-8; null with a Python error if memory is
/// short.
inline PyObject* new_str(std::string_view text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

/// A str; None for an empty text.
inline py::object text_or_none(std::string_view text) {
  if (text.empty()) return py::none();
  return py::str(text.data(), text.size());
}

/// The `repr` of a text or another value, with long texts cut.
inline std::string short_repr(const py::object& value) {
  if (!py::isinstance<py::str>(value)) return py::repr(value);
  return py::str(py::module_::import("unspool.core.short_repr").attr("short_repr")(value));
}

/// Gives a class a `repr` with its name and these attributes.
template <typename Class, typename... Names>
void describe_by(Class& cls, Names... names) {
  cls.def("__repr__", [names...](const py::object& self) -> py::object {
    return py::module_::import("unspool.core.short_repr")
        .attr("describe")(self, py::make_tuple(names...));
  });
}

}  // namespace unspool::bindings
