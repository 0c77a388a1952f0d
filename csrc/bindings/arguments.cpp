// Reads Python arguments: token ids in their many forms, and text.
#include <pybind11/critical_section.h>

#include <limits>
#include <optional>

#include "bindings/gil.h"
#include "bindings/python_types.h"
#include "bindings/text_argument.h"
#include "text/error.h"

namespace unspool::bindings {

namespace {

constexpr std::size_t kMaxTextBytes = 1 << 30;

TokenId checked(long long id) {
  if (id < 0)
    throw ArgumentError("token id " + std::to_string(id) + " is negative; ids start at 0");
  if (id > std::numeric_limits<TokenId>::max()) {
    throw ArgumentError("token id " + std::to_string(id) +
                        " is above 4,294,967,295; is this a token id?");
  }
  return static_cast<TokenId>(id);
}

}  // namespace

TokenId read_token_id(PyObject* object) {
  int overflow = 0;
  const long long id = PyLong_AsLongLongAndOverflow(object, &overflow);
  // Any value outside the range gives the same error.
  if (overflow != 0) return checked(overflow < 0 ? -1 : std::numeric_limits<long long>::max());
  if (id == -1 && PyErr_Occurred()) throw py::error_already_set();
  return checked(id);
}

namespace {

[[noreturn]] void refuse(PyObject* object, const char* where) {
  throw py::type_error(std::string(where) + " is of type " + Py_TYPE(object)->tp_name +
                       "; pass an int, a list of ints, or a one-row integer array or tensor");
}

// An int, or an object with __index__ (a NumPy scalar); not a bool, not a float.
TokenId read_item(PyObject* object) {
  if (PyLong_CheckExact(object)) return read_token_id(object);
  // `True` and `1.0` are equal to an id, but not meant as one.
  if (PyBool_Check(object) || PyFloat_Check(object) || !PyIndex_Check(object))
    refuse(object, "a token id");
  const py::object index = to_index(object);
  return read_token_id(index.ptr());
}

// A list or tuple. From the first non-int item on it reads a copy, because that item's __index__
// may change the list. Without the GIL other threads may change it, so the list is locked.
void read_sequence(PyObject* object, std::vector<TokenId>& ids) {
  std::optional<py::scoped_critical_section> section(object);
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
  PyObject** items = PySequence_Fast_ITEMS(object);
  Py_ssize_t i = 0;
  // The items of most lists: no Python code can run here, so the list cannot change.
  for (; i < count && PyLong_CheckExact(items[i]); ++i) ids.push_back(read_token_id(items[i]));
  if (i == count) return;
  const auto copy = py::reinterpret_steal<py::object>(
      PyList_Check(object) ? PyList_GetSlice(object, 0, count) : Py_NewRef(object));
  if (!copy) throw py::error_already_set();
  section.reset();
  for (; i < count; ++i) ids.push_back(read_item(PySequence_Fast_GET_ITEM(copy.ptr(), i)));
}

void check_one_row(const std::vector<long long>& shape) {
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) {
    // A row of a batch of one, as tokenizers return it.
    if (shape[i] == 1) continue;
    std::string text;
    for (const long long size : shape) {
      if (!text.empty()) text += ", ";
      text += std::to_string(size);
    }
    throw ArgumentError("ids has shape (" + text + "); pass one row, a stream each");
  }
}

template <typename T>
void read_items(const Py_buffer& view, std::vector<TokenId>& ids) {
  const Py_ssize_t count = view.ndim == 0 ? 1 : view.shape[view.ndim - 1];
  const Py_ssize_t stride = view.ndim == 0 ? 0 : view.strides[view.ndim - 1];
  const char* item = static_cast<const char*>(view.buf);
  for (Py_ssize_t i = 0; i < count; ++i, item += stride) {
    T value;
    // The items of a view need not be aligned.
    std::memcpy(&value, item, sizeof(T));
    if constexpr (std::is_signed_v<T>) {
      ids.push_back(checked(value));
    } else {
      ids.push_back(checked(value > 0x7FFFFFFFFFFFFFFFULL ? std::numeric_limits<long long>::max()
                                                          : static_cast<long long>(value)));
    }
  }
}

void read_row(const Py_buffer& view, std::vector<TokenId>& ids) {
  const std::string_view format = view.format == nullptr ? "B" : view.format;
  const bool is_native = format.size() == 2 && format[0] != '>';
  switch (format.size() == 1 ? format[0] : is_native ? format[1] : '\0') {
    case 'h': return read_items<short>(view, ids);
    case 'H': return read_items<unsigned short>(view, ids);
    case 'i': return read_items<int>(view, ids);
    case 'I': return read_items<unsigned int>(view, ids);
    case 'l':
      return view.itemsize == 4 ? read_items<std::int32_t>(view, ids)
                                : read_items<std::int64_t>(view, ids);
    case 'L':
      return view.itemsize == 4 ? read_items<std::uint32_t>(view, ids)
                                : read_items<std::uint64_t>(view, ids);
    case 'q': return read_items<long long>(view, ids);
    case 'Q': return read_items<unsigned long long>(view, ids);
    default:
      throw py::type_error("ids has items of format '" + std::string(format) +
                           "'; pass integers (int32 or int64)");
  }
}

void read_buffer(PyObject* object, std::vector<TokenId>& ids) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_FORMAT | PyBUF_STRIDES) != 0)
    throw py::error_already_set();
  struct Release {
    Py_buffer* view;
    ~Release() { PyBuffer_Release(view); }
  } release{&view};
  check_one_row(std::vector<long long>(view.shape, view.shape + view.ndim));
  for (int i = 0; i < view.ndim; ++i) {
    // Such a buffer may have no data.
    if (view.shape[i] == 0) return;
  }
  read_row(view, ids);
}

// A tensor: any object with a shape and tolist(), recognized without importing its library.
void read_tensor(py::handle object, std::vector<TokenId>& ids) {
  std::vector<long long> shape;
  for (const py::handle& size : object.attr("shape")) shape.push_back(size.cast<long long>());
  check_one_row(shape);
  py::object list = object.attr("tolist")();
  // The shape allows dimensions of one around the row.
  while (PyList_Check(list.ptr()) && PyList_GET_SIZE(list.ptr()) == 1 &&
         PyList_Check(PyList_GET_ITEM(list.ptr(), 0))) {
    list = py::reinterpret_borrow<py::object>(PyList_GET_ITEM(list.ptr(), 0));
  }
  const auto read = [&](PyObject* item) {
    if (!PyLong_Check(item) || PyBool_Check(item)) {
      throw py::type_error("ids has dtype " + std::string(py::str(object.attr("dtype"))) +
                           "; pass integers (int32 or int64)");
    }
    ids.push_back(read_token_id(item));
  };
  if (!PyList_Check(list.ptr())) return read(list.ptr());
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.ptr()); ++i) read(PyList_GET_ITEM(list.ptr(), i));
}

// Text and numbers that would accidentally be accepted as an int or a list of ints.
bool is_no_id(PyObject* object) {
  return PyBool_Check(object) || PyFloat_Check(object) || PyBytes_Check(object) ||
         PyByteArray_Check(object) || PyUnicode_Check(object);
}

}  // namespace

py::object to_index(py::handle object) {
  auto index =
      py::reinterpret_steal<py::object>(call_python([&] { return PyNumber_Index(object.ptr()); }));
  if (!index) throw py::error_already_set();
  return index;
}

py::object attribute_or_null(py::handle object, const char* name) {
  auto attribute = py::reinterpret_steal<py::object>(PyObject_GetAttrString(object.ptr(), name));
  if (attribute) return attribute;
  // A property may raise anything else, which the caller should see.
  if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw py::error_already_set();
  PyErr_Clear();
  return attribute;
}

void read_token_ids(py::handle handle, std::vector<TokenId>& ids) {
  PyObject* object = handle.ptr();
  // One id, as a streamer gets it for each token.
  if (PyLong_CheckExact(object)) {
    ids.push_back(read_token_id(object));
    return;
  }
  if (PyList_Check(object) || PyTuple_Check(object)) {
    return read_sequence(object, ids);
  }
  if (PyRange_Check(object)) {
    for (const py::handle& item : handle) ids.push_back(read_token_id(item.ptr()));
    return;
  }
  // Before the buffers: bytes are a buffer of integers.
  if (is_no_id(object)) refuse(object, "ids");
  // NumPy's 1-element arrays also have __index__, so the shape is checked first.
  if (attribute_or_null(handle, "shape") && attribute_or_null(handle, "tolist")) {
    if (PyObject_CheckBuffer(object) != 0) return read_buffer(object, ids);
    return read_tensor(handle, ids);
  }
  if (PyObject_CheckBuffer(object) != 0) return read_buffer(object, ids);
  if (PyIndex_Check(object)) {
    ids.push_back(read_item(object));
    return;
  }
  refuse(object, "ids");
}

std::int32_t read_number(py::handle object, const char* name, const char* items) {
  if (PyBool_Check(object.ptr()) || PyIndex_Check(object.ptr()) == 0) {
    throw py::type_error(std::string(name) + " is of type " + Py_TYPE(object.ptr())->tp_name +
                         "; pass an int");
  }
  const py::object number = to_index(object);
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow < 0 || (overflow == 0 && value < 0))
    throw ArgumentError(std::string(name) + " is negative; " + items + " are numbered from 0");
  if (overflow > 0 || value > std::numeric_limits<std::int32_t>::max())
    throw ArgumentError(std::string(name) + " is above 2,147,483,647; " + items +
                        " are numbered from 0");
  return static_cast<std::int32_t>(value);
}

std::string_view read_text(py::handle object) {
  if (!PyUnicode_Check(object.ptr())) {
    throw py::type_error(std::string("text is of type ") + Py_TYPE(object.ptr())->tp_name +
                         "; pass a str");
  }
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (data == nullptr) {
    PyErr_Clear();
    throw ArgumentError(
        "text has a lone surrogate, which no output can hold; pass the UTF-8 bytes instead");
  }
  return {data, static_cast<std::size_t>(size)};
}

TextArgument::TextArgument(PyObject* object) {
  if (PyUnicode_Check(object)) {
    view_ = read_text(object);
  } else if (PyBytes_Check(object)) {
    view_ = {PyBytes_AS_STRING(object), static_cast<std::size_t>(PyBytes_GET_SIZE(object))};
  } else if (PyByteArray_Check(object) || PyMemoryView_Check(object)) {
    // A copy, because other code may change it while the GIL is released.
    const auto bytes = py::reinterpret_steal<py::bytes>(PyBytes_FromObject(object));
    if (!bytes) throw py::error_already_set();
    copy_ = std::string(bytes);
    is_copy_ = true;
  } else {
    throw py::type_error(std::string("text is of type ") + Py_TYPE(object)->tp_name +
                         "; pass a str, or bytes of UTF-8");
  }
  // Events count their text in 32 bits.
  if (view().size() > kMaxTextBytes)
    throw ArgumentError("text is longer than 1 GiB; pass it in chunks");
}

}  // namespace unspool::bindings
