#include "bindings/python_types.h"

PYBIND11_MODULE(_core, module) {
  using namespace unspool::bindings;
  module.attr("__version__") = UNSPOOL_VERSION;
  register_errors(module);
}
