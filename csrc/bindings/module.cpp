#include "bindings/python_types.h"

namespace py = pybind11;

// Renames pybind11's entry point, so that ours can check the interpreter first.
#define PyInit__core initialize_core

PYBIND11_MODULE(_core, module, py::mod_gil_not_used()) {
  using namespace unspool::bindings;
  module.attr("__version__") = UNSPOOL_VERSION;
  py::options options;
  options.disable_function_signatures();  // the stub's are better: docs.h
  register_errors(module);
  register_vocabulary(module);
  register_format_source(module);
  register_format(module);
  register_response_template(module);
  register_delta(module);
  register_channel(module);
  register_argument_reader(module);
  register_wire(module);
  register_parse_batch(module);
  register_stream_batch(module);
  register_token_streamer(module);
  register_data_key(module);
  explain_wrong_calls(module);
}

#undef PyInit__core

// Types, interned words and the class registry belong to the process. Before 3.12, an import in a
// sub-interpreter would wait for a GIL that it holds.
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "unspool does not run in sub-interpreters; import it in the main interpreter, "
                    "or use processes");
    return nullptr;
  }
  return initialize_core();
}
