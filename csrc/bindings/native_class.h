// A class of pybind11 with the rules of every native class: it is documented as in the stub, no
// method runs before __init__, and instances are not copied or pickled unless the class says how.
#pragma once

#include <pybind11/pybind11.h>

#include <concepts>
#include <string>
#include <utility>

#include "bindings/docs.h"
#include "bindings/native_instance.h"
#include "bindings/pickling.h"
#include "bindings/python_types.h"

namespace unspool::bindings {

template <typename T, typename... Options>
class NativeClass : public py::class_<T, Options...> {
  using Base = py::class_<T, Options...>;

 public:
  template <typename... Extra>
  NativeClass(py::handle scope, const char* name, const Extra&... extra)
      : Base(scope, name, doc_of(name), extra...), name_(name) {
    refuse_unmade_instances<T>();
    refuse_pickle(*this);
  }

  /// A constructor. The first one has the documentation of all.
  template <typename Init, typename... Extra>
  NativeClass& def_init(Init&& init, const Extra&... extra) {
    const std::string text = std::exchange(has_init_, true) ? "" : function("__init__");
    Base::def(std::forward<Init>(init), extra..., py::doc(text.c_str()));
    return *this;
  }

  template <typename Function, typename... Extra>
  NativeClass& def(const char* name, Function&& body, const Extra&... extra) {
    Base::def(name, std::forward<Function>(body), extra..., py::doc(function(name).c_str()));
    return *this;
  }

  /// An operator, or `py::pickle`.
  template <typename Definition>
    requires(!std::convertible_to<Definition, const char*>)
  NativeClass& def(Definition&& definition) {
    Base::def(std::forward<Definition>(definition));
    return *this;
  }

  template <typename Function, typename... Extra>
  NativeClass& def_static(const char* name, Function&& body, const Extra&... extra) {
    Base::def_static(name, std::forward<Function>(body), extra..., py::doc(function(name).c_str()));
    return *this;
  }

  template <typename Getter>
  NativeClass& def_property_readonly(const char* name, const Getter& getter) {
    Base::def_property_readonly(name, getter, py::doc(doc_of(full(name))));
    return *this;
  }

  template <typename Class, typename Value>
  NativeClass& def_readonly(const char* name, const Value Class::* member) {
    Base::def_readonly(name, member, py::doc(doc_of(full(name))));
    return *this;
  }

  /// A method of the hot path (fast_method.h); `definition` must have static lifetime.
  NativeClass& def_fast(PyMethodDef& definition) {
    definition.ml_doc = doc_of(full(definition.ml_name));
    PyObject* method = PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(this->ptr()), &definition);
    if (method == nullptr) throw py::error_already_set();
    this->attr(definition.ml_name) = py::reinterpret_steal<py::object>(method);
    return *this;
  }

 private:
  std::string full(const char* member) const { return name_ + "." + member; }
  std::string function(const char* member) const { return doc_of_function(full(member)); }

  std::string name_;
  bool has_init_ = false;
};

}  // namespace unspool::bindings
