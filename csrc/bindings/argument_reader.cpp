// ArgumentReader: reads a call's deltas, and reports its values as they become known.
#include "delta/argument_reader.h"

#include <pybind11/stl.h>

#include <vector>

#include "bindings/delta_type.h"
#include "bindings/native_class.h"
#include "bindings/python_types.h"
#include "bindings/state_lock.h"

namespace unspool::bindings {

namespace {

struct PyArgumentReader {
  ArgumentReader reader = {};
  StateLock lock = {};
};

py::object path_of(const ArgumentEvent& event) {
  std::vector<const ArgumentPath*> steps;
  for (const ArgumentPath* step = event.path.get(); step != nullptr; step = step->parent.get()) {
    steps.push_back(step);
  }
  py::tuple path(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ArgumentPath& step = *steps[steps.size() - 1 - i];
    path[i] = step.index >= 0 ? py::object(py::int_(step.index)) : py::object(py::str(step.key));
  }
  return path;
}

void put_one(ArgumentReader& reader, const py::handle& object, std::vector<ArgumentEvent>& out) {
  const Delta* delta = as_delta(object.ptr());
  if (delta == nullptr) {
    throw py::type_error(std::string("put takes a Delta or several, not ") +
                         Py_TYPE(object.ptr())->tp_name);
  }
  reader.put(*delta, out);
}

std::vector<ArgumentEvent> put_deltas(PyArgumentReader& self, const py::object& deltas) {
  const StateGuard guard(self.lock);
  std::vector<ArgumentEvent> out;
  // What is neither leads to `put_one` as well, for its error.
  if (as_delta(deltas.ptr()) != nullptr || !py::isinstance<py::iterable>(deltas)) {
    put_one(self.reader, deltas, out);
    return out;
  }
  for (const py::handle& delta : py::cast<py::iterable>(deltas)) put_one(self.reader, delta, out);
  return out;
}

}  // namespace

void register_argument_reader(py::module_& module) {
  NativeClass<ArgumentEvent>(module, "ArgumentEvent")
      .def_readonly("call", &ArgumentEvent::call)
      .def_property_readonly("path", &path_of)
      .def_property_readonly("kind",
                             [](const ArgumentEvent& event) { return to_string(event.kind); })
      .def_readonly("text", &ArgumentEvent::text)
      .def_readonly("is_final", &ArgumentEvent::is_final)
      .def_readonly("start", &ArgumentEvent::begin)
      .def_readonly("end", &ArgumentEvent::end)
      .def_property_readonly(
          "pointer", [](const ArgumentEvent& event) { return to_json_pointer(event.path.get()); })
      .def_property_readonly(
          "json_path", [](const ArgumentEvent& event) { return to_json_path(event.path.get()); })
      .def("__repr__", [](const ArgumentEvent& event) {
        return "ArgumentEvent(call=" + std::to_string(event.call) +
               ", path=" + short_repr(py::str(to_json_path(event.path.get()))) +
               ", kind=" + to_string(event.kind) + ", text=" + short_repr(py::str(event.text)) +
               ", is_final=" + (event.is_final ? "True" : "False") + ")";
      });
  NativeClass<PyArgumentReader>(module, "ArgumentReader")
      .def_init(py::init<>())
      .def("put", &put_deltas, py::arg("deltas"));
}

}  // namespace unspool::bindings
