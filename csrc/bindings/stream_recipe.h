// Creates a StreamRecipe from Python options.
#pragma once

#include <memory>

#include "bindings/native_class.h"
#include "bindings/python_types.h"
#include "stream/stream_recipe.h"

namespace unspool::bindings {

/// Adds the constructor of StreamRecipe, and `stream_options` to the module.
void add_recipe_options(py::module_& module,
                        NativeClass<StreamRecipe, std::shared_ptr<StreamRecipe>>& recipe);

/// A recipe with a request's own parts: its ToolSchemas, and its prompt as text or ids; each may be
/// None.
StreamRecipe for_request(const StreamRecipe& recipe, const py::object& tools,
                         const py::object& prompt);

}  // namespace unspool::bindings
