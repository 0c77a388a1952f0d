// The signatures of the native functions, for the errors of wrong calls; made with docs.h.
#pragma once

#include <string_view>

namespace unspool::bindings {

/// The parameters of "Class.method" or "function" with their types, as `(self, id: int)`; empty if
/// the stub has none, or several. `inspect` rejects a docstring with types, so it has none.
const char* typed_signature_of(std::string_view name);

}  // namespace unspool::bindings
