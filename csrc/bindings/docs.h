// The documentation of the native classes and functions: the texts of the stub,
// python/unspool/_core.pyi. A build writes them to docs.inc with make_docs.py.
#pragma once

#include <string>
#include <string_view>

namespace unspool::bindings {

/// The text for "Class", "Class.member" or "function"; null if the stub has none. It begins with
/// the signature, if there is one, as CPython and `inspect` read it from a native docstring.
const char* doc_of(std::string_view name);

/// The same for a function of pybind11; may be empty. `inspect` would take a marked `self` for the
/// function's `__self__`, which is no instance.
std::string doc_of_function(std::string_view name);

}  // namespace unspool::bindings
