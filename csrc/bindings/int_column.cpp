// Engines hold ids in NumPy arrays or tensors. Their memory is read in place if an item has the
// width of T, the items are contiguous and every value fits; otherwise it is copied and checked:
//
//   source              way
//   list, tuple, range  item by item
//   buffer protocol     NumPy, memoryview, array
//   __dlpack__          torch, without importing it; only on the CPU
#include "bindings/int_column.h"

#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "bindings/gil.h"
#include "text/error.h"

namespace unspool::bindings {

namespace {

/// Items of one width with a stride between them, from any source.
struct Items {
  const char* data = nullptr;
  std::int64_t count = 0;
  std::int64_t stride = 0;  // in bytes
  int width = 0;            // likewise
  bool is_signed = false;
};

// DLPack's structures, as laid out in its header (github.com/dmlc/dlpack, version 0.x).
struct DlTensor {
  void* data;
  std::int32_t device_type;
  std::int32_t device_id;
  std::int32_t ndim;
  std::uint8_t type_code;
  std::uint8_t bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;  // in items; null: contiguous
  std::uint64_t byte_offset;
};

constexpr std::int32_t kCpu = 1;
constexpr std::uint8_t kInt = 0, kUInt = 1;

[[noreturn]] void refuse(const char* name, const std::string& what) {
  throw py::type_error(std::string(name) + " " + what +
                       "; pass a one-dimensional array of int32 or int64 on the CPU");
}

void check_width(const char* name, int width) {
  if (width != 4 && width != 8) refuse(name, "has items of " + std::to_string(width * 8) + " bits");
}

Items items_of(const Py_buffer& buffer, const char* name) {
  if (buffer.ndim != 1) refuse(name, "has " + std::to_string(buffer.ndim) + " dimensions");
  const std::string_view format = buffer.format == nullptr ? "B" : buffer.format;
  // `<i` is native on every machine that this runs on; `>i` has its bytes the other way round.
  const bool is_native = format.size() == 1 || (format.size() == 2 && format[0] != '>');
  const char letter = is_native ? format.back() : '\0';
  const bool is_signed = std::string_view("ilq").find(letter) != std::string_view::npos;
  if (!is_signed && std::string_view("ILQ").find(letter) == std::string_view::npos)
    refuse(name, "has items of format '" + std::string(format) + "'");
  check_width(name, static_cast<int>(buffer.itemsize));
  return {static_cast<const char*>(buffer.buf), buffer.shape[0], buffer.strides[0],
          static_cast<int>(buffer.itemsize), is_signed};
}

Items items_of(const DlTensor& tensor, const char* name) {
  if (tensor.device_type != kCpu) refuse(name, "is not on the CPU");
  if (tensor.ndim != 1) refuse(name, "has " + std::to_string(tensor.ndim) + " dimensions");
  if ((tensor.type_code != kInt && tensor.type_code != kUInt) || tensor.lanes != 1)
    refuse(name, "does not hold integers");
  const int width = tensor.bits / 8;
  check_width(name, width);
  const std::int64_t stride = tensor.strides == nullptr ? 1 : tensor.strides[0];
  return {static_cast<const char*>(tensor.data) + tensor.byte_offset, tensor.shape[0],
          stride * width, width, tensor.type_code == kInt};
}

template <typename T, typename Item>
void copy_items(const Items& items, const char* name, std::vector<T>& out) {
  out.resize(static_cast<std::size_t>(items.count));
  for (std::int64_t i = 0; i < items.count; ++i) {
    Item item;
    std::memcpy(&item, items.data + i * items.stride, sizeof(Item));
    if (!std::in_range<T>(item)) {
      throw ArgumentError(std::string(name) + " has " + std::to_string(item) + " at " +
                          std::to_string(i) + "; its items are from 0 to " +
                          std::to_string(std::numeric_limits<T>::max()));
    }
    out[static_cast<std::size_t>(i)] = static_cast<T>(item);
  }
}

// Whether the items can be read in place; items of the other signedness too, if the values fit.
template <typename T>
std::optional<std::span<const T>> view_of(const Items& items) {
  if (items.width != sizeof(T) || (items.stride != sizeof(T) && items.count > 1)) return {};
  // A slice of bytes that is viewed as integers may begin anywhere.
  if (reinterpret_cast<std::uintptr_t>(items.data) % alignof(T) != 0) return {};
  const std::span view(reinterpret_cast<const T*>(items.data),
                       static_cast<std::size_t>(items.count));
  if (items.is_signed == std::is_signed_v<T>) return view;
  using Bits = std::make_unsigned_t<T>;
  Bits all = 0;
  // One pass over all items, without a branch: only the highest bits matter.
  for (const T item : view) all |= static_cast<Bits>(item);
  if (all >> (sizeof(T) * 8 - 1) != 0) return {};
  return view;
}

template <typename T>
std::span<const T> read_items(const Items& items, const char* name, std::vector<T>& scratch) {
  // An empty tensor may have no data.
  if (items.count == 0) return {};
  if (const auto view = view_of<T>(items)) return *view;
  if (items.width == 4) {
    items.is_signed ? copy_items<T, std::int32_t>(items, name, scratch)
                    : copy_items<T, std::uint32_t>(items, name, scratch);
  } else {
    items.is_signed ? copy_items<T, std::int64_t>(items, name, scratch)
                    : copy_items<T, std::uint64_t>(items, name, scratch);
  }
  return scratch;
}

template <typename T>
void read_ints(py::handle object, const char* name, std::vector<T>& out) {
  const auto items =
      py::reinterpret_steal<py::tuple>(call_python([&] { return PySequence_Tuple(object.ptr()); }));
  if (!items) throw py::error_already_set();
  for (const py::handle& item : items) {
    // A float would be cut off, and a bool is no id.
    if (PyBool_Check(item.ptr()) || PyIndex_Check(item.ptr()) == 0) {
      refuse(name, std::string("has an item of type ") + Py_TYPE(item.ptr())->tp_name);
    }
    const py::object number = to_index(item);
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow != 0 || !std::in_range<T>(value)) {
      throw ArgumentError(std::string(name) + " has " + std::string(py::str(number)) +
                          "; its items are from 0 to " +
                          std::to_string(std::numeric_limits<T>::max()));
    }
    out.push_back(static_cast<T>(value));
  }
}

}  // namespace

template <typename T>
IntColumn<T>::IntColumn(PyObject* object, const char* name, std::vector<T>& scratch) {
  scratch.clear();
  if (PyList_Check(object) || PyTuple_Check(object) || PyRange_Check(object)) {
    read_ints(object, name, scratch);
    view_ = scratch;
    return;
  }
  if (PyObject_CheckBuffer(object) != 0) {
    if (PyObject_GetBuffer(object, &buffer_, PyBUF_FORMAT | PyBUF_STRIDES) != 0)
      throw py::error_already_set();
    has_buffer_ = true;
    try {
      view_ = read_items(items_of(buffer_, name), name, scratch);
    } catch (...) {  // the destructor of a partly constructed object does not run
      PyBuffer_Release(&buffer_);
      throw;
    }
    return;
  }
  const py::object make_capsule = attribute_or_null(object, "__dlpack__");
  if (!make_capsule) refuse(name, std::string("is of type ") + Py_TYPE(object)->tp_name);
  capsule_ = make_capsule();  // frees the tensor, because no one takes it over
  const void* tensor = PyCapsule_GetPointer(capsule_.ptr(), "dltensor");
  if (tensor == nullptr) throw py::error_already_set();
  view_ = read_items(items_of(*static_cast<const DlTensor*>(tensor), name), name, scratch);
}

template class IntColumn<std::int32_t>;
template class IntColumn<std::uint32_t>;
template class IntColumn<std::int64_t>;

}  // namespace unspool::bindings
