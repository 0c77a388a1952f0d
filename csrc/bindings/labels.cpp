// Labels are a Python class over columns of bytes, most of which it reads on demand.
#include <pybind11/gil_safe_call_once.h>

#include <span>
#include <vector>

#include "bindings/gil.h"
#include "bindings/message_type.h"

namespace unspool::bindings {

namespace {

template <typename Item>
py::bytes column(std::span<const Item> items) {
  // A column per attribute: a long answer has thousands of tokens, of which most are never looked
  // at.
  return py::bytes(reinterpret_cast<const char*>(items.data()), items.size_bytes());
}

template <typename Item, typename Get>
py::bytes column_of(std::span<const TokenLabels::Run> runs, Get&& get) {
  std::vector<Item> items;
  items.reserve(runs.size());
  for (const TokenLabels::Run& run : runs) items.push_back(static_cast<Item>(get(run)));
  return column(std::span<const Item>(items));
}

// For each run its token, whether it begins inside the token, its region, call and path.
py::tuple make_runs(std::span<const TokenLabels::Run> runs) {
  using Run = TokenLabels::Run;
  return py::make_tuple(
      column_of<std::int64_t>(runs, [](const Run& run) { return run.token; }),
      column_of<std::uint8_t>(runs, [](const Run& run) { return run.is_inside; }),
      column_of<std::uint8_t>(runs, [](const Run& run) { return run.label.region; }),
      column_of<std::int32_t>(runs, [](const Run& run) { return run.label.call; }),
      column_of<std::int32_t>(runs, [](const Run& run) { return run.label.path; }));
}

// JSON may escape half a surrogate pair, and a str may contain it.
py::object key_of(const std::string& key) {
  const auto size = static_cast<Py_ssize_t>(key.size());
  PyObject* str = PyUnicode_DecodeUTF8(key.data(), size, "surrogatepass");
  if (str == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(str);
}

// For each node its parent, and its key or index; the first one is the root.
py::list make_paths(const CallPaths& paths) {
  py::list list;
  for (const CallPaths::Node& node : paths.nodes()) {
    const py::object step = node.index < 0 ? key_of(node.key) : py::object(py::int_(node.index));
    list.append(py::make_tuple(node.parent, step));
  }
  return list;
}

}  // namespace

py::object labels_type() {
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> storage;
  return storage
      .call_once_and_store_result([] {
        return py::object(py::module_::import("unspool.core.stream.labels").attr("Labels"));
      })
      .get_stored();
}

py::object make_labels(const TokenLabels* labels, const Message& message) {
  if (labels == nullptr) return py::none();
  py::tuple complete(message.tool_calls.size());
  for (std::size_t i = 0; i < message.tool_calls.size(); ++i) {
    complete[i] = py::bool_(message.tool_calls[i].status == CallStatus::complete);
  }
  const py::object type = labels_type();
  const py::tuple arguments = py::make_tuple(
      column(labels->regions()), column(labels->calls()), column(labels->mixed()),
      make_runs(labels->runs()), make_paths(labels->paths()), complete, labels->is_final());
  auto object = py::reinterpret_steal<py::object>(
      call_python([&] { return PyObject_CallObject(type.ptr(), arguments.ptr()); }));
  if (!object) throw py::error_already_set();
  return object;
}

}  // namespace unspool::bindings
