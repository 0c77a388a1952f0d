#include "bindings/python_types.h"

PYBIND11_MODULE(_core, module) {
  using namespace unspool::bindings;
  module.attr("__version__") = UNSPOOL_VERSION;
  register_errors(module);
  register_vocabulary(module);
  register_format(module);
  register_response_template(module);
  register_delta(module);
  register_channel(module);
  register_wire(module);
  register_stream_batch(module);
  register_parser(module);
}
