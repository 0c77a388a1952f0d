// What every binding file shares: exact argument types and error translation.
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

/// Maps unspool::Error and its children to the classes of unspool.errors.
void register_errors(py::module_& module);
void register_vocabulary(py::module_& module);
void register_format(py::module_& module);
void register_response_template(py::module_& module);
void register_delta(py::module_& module);
void register_token_streamer(py::module_& module);
void register_parse_batch(py::module_& module);
void register_stream_batch(py::module_& module);
void register_channel(py::module_& module);
void register_argument_reader(py::module_& module);
void register_wire(py::module_& module);

/// Sets the Python error for an exception of ours; false for any other.
bool set_python_error(const std::exception_ptr& pointer);

/// The int that `object` counts as, by `__index__`. Throws what that raises.
py::object to_index(py::handle object);

/// An attribute; null where there is none. Throws what else the look-up raises.
py::object attribute_or_null(py::handle object, const char* name);

/// Appends the token ids of `object`: an int, a list, tuple or range of ints, a one-row buffer of
/// integers (NumPy), or a tensor of one row. Throws a Python TypeError or an ArgumentError.
void read_token_ids(py::handle object, std::vector<TokenId>& ids);

/// The number of one of `items`, from 0 and in 32 bits; `name` is the argument's. Throws a Python
/// TypeError or an ArgumentError.
std::int32_t read_number(py::handle object, const char* name, const char* items);

/// The UTF-8 of a str; a lone surrogate is refused. Valid as long as the object.
std::string_view read_text(py::handle object);

/// A str; None for an empty text.
inline py::object text_or_none(std::string_view text) {
  if (text.empty()) return py::none();
  return py::str(text.data(), text.size());
}

/// Live objects hold native state: refuse copy and pickle with a reason. `can_fork`: another method
/// copies it.
template <typename Class>
void refuse_pickle(Class& cls, const char* what, bool can_fork = false) {
  cls.def("__reduce__", [what, can_fork](const py::object&) -> py::object {
    throw py::type_error(std::string(what) +
                         " cannot be copied or pickled: it is a live native object" +
                         (can_fork ? "; call its fork() for a copy" : ""));
  });
}

}  // namespace unspool::bindings
