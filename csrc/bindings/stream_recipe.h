// Creates a StreamRecipe from Python options.
#pragma once

#include <memory>

#include "bindings/python_types.h"
#include "stream/stream_recipe.h"

namespace unspool::bindings {

/// Adds the constructor of StreamRecipe, and `stream_options` to the module.
void add_recipe_options(py::module_& module,
                        py::class_<StreamRecipe, std::shared_ptr<StreamRecipe>>& recipe);

}  // namespace unspool::bindings
