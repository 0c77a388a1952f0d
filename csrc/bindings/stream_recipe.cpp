// StreamRecipe's constructor: converts Python values to the options in stream/stream_options.h.
#include "bindings/stream_recipe.h"

#include <pybind11/gil_safe_call_once.h>
#include <pybind11/stl.h>

#include <optional>
#include <utility>

#include "bindings/gil.h"
#include "bindings/native_class.h"
#include "bindings/python_types.h"
#include "stream/stream_options.h"
#include "text/error.h"

namespace unspool::bindings {

namespace {

[[noreturn]] void refuse(const StreamOption& option, py::handle value, const char* wanted) {
  throw py::type_error(std::string(option.name) + " is of type " + Py_TYPE(value.ptr())->tp_name +
                       "; pass " + wanted);
}

py::object to_python(const OptionValue& value) {
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value))
    return py::tuple(py::cast(*texts));
  return std::visit([](const auto& held) -> py::object { return py::cast(held); }, value);
}

/// An option for Python: its name as an interned str for fast lookup, and its default.
struct PyOption {
  py::object name;
  py::object initial;
};

const std::vector<PyOption>& py_options() {  // created once
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<std::vector<PyOption>> storage;
  return storage
      .call_once_and_store_result([] {
        std::vector<PyOption> options;
        for (const StreamOption& each : stream_options()) {
          PyObject* name = PyUnicode_InternFromString(std::string(each.name).c_str());
          if (name == nullptr) throw py::error_already_set();
          options.push_back({py::reinterpret_steal<py::object>(name), to_python(each.initial)});
        }
        return options;
      })
      .get_stored();
}

/// Whether a value is the default, as most are.
bool is_default(PyObject* value, const py::object& initial) {
  // Defaults come as the same objects, so most options of a request end here.
  if (value == initial.ptr()) return true;
  // `True == 1` in Python, but a flag is no number.
  if (Py_TYPE(value) != Py_TYPE(initial.ptr())) return false;
  if (!PyLong_CheckExact(value) && !PyUnicode_CheckExact(value)) return false;
  const int is_equal = PyObject_RichCompareBool(value, initial.ptr(), Py_EQ);
  if (is_equal < 0) throw py::error_already_set();
  return is_equal == 1;
}

std::uint64_t read_unsigned(const StreamOption& option, py::handle value) {
  // A bool is an int in Python; here it is a mistake.
  if (PyBool_Check(value.ptr()) || PyIndex_Check(value.ptr()) == 0) refuse(option, value, "an int");
  const py::object number = to_index(value);
  const unsigned long long read = PyLong_AsUnsignedLongLong(number.ptr());
  if (read != static_cast<unsigned long long>(-1) || PyErr_Occurred() == nullptr) return read;
  PyErr_Clear();  // negative, or above 64 bits
  throw ArgumentError(std::string(option.name) + " must be from " + std::to_string(option.lowest) +
                      " to " + std::to_string(option.highest) + "; got " +
                      std::string(py::str(number)));
}

// Reads a value as pybind11 reads an argument of this type.
template <typename Value>
Value read_as(const StreamOption& option, py::handle value, const char* wanted) {
  try {
    return value.cast<Value>();
  } catch (const py::cast_error&) {
    refuse(option, value, wanted);
  }
}

std::vector<std::string> read_texts(const StreamOption& option, py::handle value) {
  // One stop string. As a sequence, a str would be a list of its letters.
  if (PyUnicode_Check(value.ptr())) return {std::string(read_text(value))};
  if (!py::isinstance<py::iterable>(value)) refuse(option, value, "a str, or a list of str");
  const auto list =
      py::reinterpret_steal<py::object>(call_python([&] { return PySequence_List(value.ptr()); }));
  if (!list) throw py::error_already_set();
  return read_as<std::vector<std::string>>(option, list, "a str, or a list of str");
}

// A value must have the same kind as the default.
OptionValue read_value(const StreamOption& option, py::handle value) {
  if (std::holds_alternative<bool>(option.initial)) return read_as<bool>(option, value, "a bool");
  if (std::holds_alternative<std::uint64_t>(option.initial)) return read_unsigned(option, value);
  if (!std::holds_alternative<std::string>(option.initial)) return read_texts(option, value);
  if (!PyUnicode_Check(value.ptr())) refuse(option, value, "a str");
  return std::string(read_text(value));
}

// Sets the options in `values`, which may contain other keys.
void read_options(const py::dict& values, TokenStreamerOptions& options) {
  const std::vector<StreamOption>& table = stream_options();
  const std::vector<PyOption>& known = py_options();
  for (std::size_t i = 0; i < table.size(); ++i) {
    PyObject* value = PyDict_GetItemWithError(values.ptr(), known[i].name.ptr());
    if (value == nullptr && PyErr_Occurred() != nullptr) throw py::error_already_set();
    // The default is in the options already.
    if (value == nullptr || is_default(value, known[i].initial)) continue;
    set_option(options, table[i], read_value(table[i], value));
  }
}

std::shared_ptr<StreamRecipe> make_recipe(const std::shared_ptr<Format>& format,
                                          const py::dict& options,
                                          const std::shared_ptr<Vocabulary>& vocabulary,
                                          const std::optional<bool>& starts_in_reasoning,
                                          const std::shared_ptr<Format>& kept_reasoning) {
  auto recipe = std::make_shared<StreamRecipe>();
  recipe->format = format;
  read_options(options, recipe->options);
  ChunkParserOptions& stream = recipe->options.stream;
  stream.vocabulary = vocabulary;
  stream.kept_reasoning = kept_reasoning;
  stream.parser.starts_in_reasoning = starts_in_reasoning;
  return recipe;
}

// (name, default, words, meaning) of each option.
py::list list_options() {
  py::list list;
  for (std::size_t i = 0; i < stream_options().size(); ++i) {
    const StreamOption& option = stream_options()[i];
    list.append(py::make_tuple(option.name, py_options()[i].initial,
                               py::tuple(py::cast(option.words)), option.meaning));
  }
  return list;
}

}  // namespace

void add_recipe_options(py::module_& module,
                        NativeClass<StreamRecipe, std::shared_ptr<StreamRecipe>>& recipe) {
  module.def("_stream_options", &list_options, py::doc(doc_of("_stream_options")));
  recipe.def_init(py::init(&make_recipe), py::arg("format"), py::arg("options"),
                  py::arg("vocabulary") = py::none(), py::arg("starts_in_reasoning") = py::none(),
                  py::arg("kept_reasoning") = py::none());
}

StreamRecipe for_request(const StreamRecipe& recipe, const py::object& tools,
                         const py::object& prompt) {
  StreamRecipe made = recipe;
  // As objects: pybind11 would look in None for an object of another module, and make an error for
  // what it does not find.
  if (!tools.is_none()) {
    if (!py::isinstance<ToolSchemas>(tools)) {
      throw py::type_error(std::string("tools is of type ") + Py_TYPE(tools.ptr())->tp_name +
                           "; pass ToolSchemas");
    }
    made.options.stream.parser.tools = py::cast<std::shared_ptr<ToolSchemas>>(tools);
  }
  if (PyUnicode_Check(prompt.ptr())) {
    made.prompt = read_text(prompt);
  } else if (!prompt.is_none()) {
    read_token_ids(prompt, made.prompt_ids.emplace());
  }
  return made;
}

}  // namespace unspool::bindings
