// Frozen Python objects that show native values: each attribute is a member.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/native_class.h"
#include "bindings/python_types.h"
#include "format/file_words.h"
#include "format/named_values.h"

namespace unspool::bindings {

template <typename Item>
py::tuple to_tuple(const std::vector<Item>& items);

template <typename Value>
py::object to_python(const Value& value) {
  return py::cast(value);
}
template <typename Item>
py::object to_python(const std::vector<Item>& items) {
  return to_tuple(items);
}
inline py::object to_python(HoleKind kind) { return py::cast(name_of(kind)); }
inline py::object to_python(BarePlace place) { return py::cast(name_of(kPlaces, place)); }
inline py::object to_python(BodyKind kind) { return py::cast(name_of(kBodies, kind)); }
inline py::object to_python(CallIdStyle style) { return py::cast(name_of(kCallIds, style)); }
inline py::object to_python(CallsInReasoning calls) {
  return py::cast(name_of(kCallsInReasoning, calls));
}
template <typename One, typename Other>
py::object to_python(const std::pair<One, Other>& pair) {
  return py::make_tuple(to_python(pair.first), to_python(pair.second));
}

template <typename Item>
py::tuple to_tuple(const std::vector<Item>& items) {
  py::tuple tuple(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) tuple[i] = to_python(items[i]);
  return tuple;
}

/// A read-only attribute.
template <typename Class, typename Value>
void add_field(NativeClass<Class>& made, const char* name, Value Class::* member) {
  made.def_property_readonly(name, [member](const Class& self) { return to_python(self.*member); });
}

/// A class of such attributes; its repr shows them all.
template <typename Class, typename... Values>
NativeClass<Class> add_record(py::module_& module, const char* name,
                              const std::pair<const char*, Values Class::*>&... fields) {
  NativeClass<Class> made(module, name, py::is_final());
  (add_field(made, fields.first, fields.second), ...);
  made.def("__repr__",
           [name, names = std::vector<const char*>{fields.first...}](const py::object& self) {
             std::string text = name;
             for (const char* field : names)
               text += (field == names.front() ? "(" : ", ") + std::string(field) + "=" +
                       std::string(py::repr(self.attr(field)));
             return text + ")";
           });
  return made;
}

template <typename Class, typename Value>
std::pair<const char*, Value Class::*> field(const char* name, Value Class::* member) {
  return {name, member};
}

}  // namespace unspool::bindings
