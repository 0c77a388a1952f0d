// Arguments as bytes, to find what was made from the same ones before.
//
// Equal bytes mean plain data that nobody can tell apart: the types, the order of a dict's keys and
// the sign of a zero count. A format is its address, since it never changes. To find a key, its
// bytes are compared as they are made, so nothing is allocated and the first difference ends it.
#include <pybind11/critical_section.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "bindings/docs.h"
#include "bindings/fast_method.h"
#include "bindings/state_lock.h"
#include "format/format.h"
#include "format/format_source.h"

namespace unspool::bindings {

namespace {

// Deeper data has no key, so that it cannot exhaust the stack.
constexpr int kMaxDepth = 200;

/// Appends the bytes of a key.
struct Writer {
  std::string& bytes;

  bool put_number(std::uint64_t number) { return put(&number, sizeof number); }
  bool put(const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return true;
  }
};

/// Compares them with those of a known key.
struct Matcher {
  const char* at;
  const char* end;

  // Without a call: most of a key's bytes are such heads.
  bool put_number(std::uint64_t number) {
    std::uint64_t known = 0;
    if (static_cast<std::size_t>(end - at) < sizeof known) return false;
    std::memcpy(&known, at, sizeof known);
    at += sizeof known;
    return known == number;
  }
  bool put(const void* data, std::size_t size) {
    if (static_cast<std::size_t>(end - at) < size || std::memcmp(data, at, size) != 0) return false;
    at += size;
    return true;
  }
};

/// What a value is, and its size.
template <typename Sink>
bool put_head(Sink& sink, char type, std::uint64_t size) {
  return sink.put_number(size << 8 | static_cast<unsigned char>(type));
}

template <typename Sink>
bool put_value(Sink& sink, PyObject* value, int depth);

template <typename Sink>
bool put_text(Sink& sink, PyObject* text) {
  const auto length = static_cast<std::size_t>(PyUnicode_GET_LENGTH(text));
  const auto kind = static_cast<std::size_t>(PyUnicode_KIND(text));
  return put_head(sink, 's', length << 4 | kind) && sink.put(PyUnicode_DATA(text), length * kind);
}

// An item of a list or a dict; most are texts, which take no call.
template <typename Sink>
bool put_item(Sink& sink, PyObject* item, int depth) {
  if constexpr (kFreeThreaded) {
    // Another thread may take the item out meanwhile.
    const auto held = py::reinterpret_borrow<py::object>(item);
    return put_value(sink, item, depth);
  }
  return PyUnicode_CheckExact(item) ? put_text(sink, item) : put_value(sink, item, depth);
}

template <typename Sink>
bool put_int(Sink& sink, PyObject* value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0 && put_head(sink, 'i', 0) &&
         sink.put_number(static_cast<std::uint64_t>(number));
}

template <typename Sink>
bool put_list(Sink& sink, PyObject* list, int depth) {
  const py::scoped_critical_section section(list);
  if (!put_head(sink, 'l', static_cast<std::uint64_t>(PyList_GET_SIZE(list)))) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i)
    if (!put_item(sink, PyList_GET_ITEM(list, i), depth)) return false;
  return true;
}

template <typename Sink>
bool put_tuple(Sink& sink, PyObject* tuple, int depth) {
  const Py_ssize_t size = PyTuple_GET_SIZE(tuple);
  if (!put_head(sink, 't', static_cast<std::uint64_t>(size))) return false;
  for (Py_ssize_t i = 0; i < size; ++i)
    if (!put_value(sink, PyTuple_GET_ITEM(tuple, i), depth)) return false;
  return true;
}

template <typename Sink>
bool put_dict(Sink& sink, PyObject* dict, int depth) {
  const py::scoped_critical_section section(dict);
  if (!put_head(sink, 'd', static_cast<std::uint64_t>(PyDict_GET_SIZE(dict)))) return false;
  Py_ssize_t at = 0;
  PyObject *key, *value;
  while (PyDict_Next(dict, &at, &key, &value) != 0)
    if (!put_item(sink, key, depth) || !put_item(sink, value, depth)) return false;
  return true;
}

template <typename T>
bool is_a(PyObject* value) {
  return PyObject_TypeCheck(value, type_info_of<T>()->type) != 0;
}

/// False: it is nothing plain, or the sink has refused it.
template <typename Sink>
bool put_value(Sink& sink, PyObject* value, int depth) {
  const PyTypeObject* type = Py_TYPE(value);
  if (type == &PyUnicode_Type) return put_text(sink, value);
  if (value == Py_None) return put_head(sink, 'n', 0);
  if (type == &PyBool_Type) return put_head(sink, value == Py_True ? '1' : '0', 0);
  if (type == &PyLong_Type) return put_int(sink, value);
  if (type == &PyFloat_Type) {
    return put_head(sink, 'f', 0) &&
           sink.put_number(std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(value)));
  }
  if (depth == kMaxDepth) return false;
  if (type == &PyDict_Type) return put_dict(sink, value, depth + 1);
  if (type == &PyList_Type) return put_list(sink, value, depth + 1);
  if (type == &PyTuple_Type) return put_tuple(sink, value, depth + 1);
  return (is_a<Format>(value) || is_a<FormatSource>(value)) && put_head(sink, 'o', 0) &&
         sink.put_number(reinterpret_cast<std::uintptr_t>(value));
}

// The bytes of a key; None if it holds something else.
PyObject* key_of(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 1) throw py::type_error("_key_of takes a value");
    std::string bytes;
    Writer writer{bytes};
    if (!put_value(writer, args[0], 0)) Py_RETURN_NONE;
    return py::bytes(bytes).release().ptr();
  });
}

// The index of the first of `entries`, tuples that begin with a key's bytes, whose key is `value`;
// else -1.
PyObject* find_key(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 2 || !PyTuple_CheckExact(args[0]))
      throw py::type_error("_find_key takes a tuple of entries, and a value");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[0]); ++i) {
      PyObject* entry = PyTuple_GET_ITEM(args[0], i);
      if (!PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) == 0 ||
          !PyBytes_CheckExact(PyTuple_GET_ITEM(entry, 0)))
        throw py::type_error("an entry is no tuple that begins with bytes");
      PyObject* key = PyTuple_GET_ITEM(entry, 0);
      const char* bytes = PyBytes_AS_STRING(key);
      Matcher matcher{bytes, bytes + PyBytes_GET_SIZE(key)};
      if (put_value(matcher, args[1], 0) && matcher.at == matcher.end) return PyLong_FromSsize_t(i);
    }
    return PyLong_FromLong(-1);
  });
}

std::array kFunctions = {
    PyMethodDef{"_key_of", as_method(key_of), METH_FASTCALL, nullptr},
    PyMethodDef{"_find_key", as_method(find_key), METH_FASTCALL, nullptr},
};

}  // namespace

void register_data_key(py::module_& module) {
  for (PyMethodDef& definition : kFunctions) {
    definition.ml_doc = doc_of(definition.ml_name);
    PyObject* function = PyCFunction_NewEx(&definition, nullptr, module.attr("__name__").ptr());
    if (function == nullptr) throw py::error_already_set();
    module.attr(definition.ml_name) = py::reinterpret_steal<py::object>(function);
  }
}

}  // namespace unspool::bindings
