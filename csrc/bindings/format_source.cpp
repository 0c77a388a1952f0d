// FormatSource, and the frozen objects that show its facts.
#include "format/format_source.h"

#include <pybind11/operators.h>
#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "bindings/native_class.h"
#include "bindings/python_types.h"
#include "bindings/records.h"
#include "format/explain.h"
#include "format/file_words.h"
#include "format/free_text_words.h"
#include "text/error.h"

namespace unspool::bindings {

namespace {

py::object to_object(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::boolean: return py::bool_(value.is_true);
    case JsonValue::Kind::string: return py::str(value.text);
    case JsonValue::Kind::number: {
      const bool is_whole = value.text.find_first_of(".eE") == std::string::npos;
      const py::str digits(value.text);
      return is_whole ? py::object(py::int_(digits)) : py::object(py::float_(digits));
    }
    case JsonValue::Kind::array: {
      py::list made;
      for (const JsonValue& item : value.items) made.append(to_object(item));
      return made;
    }
    case JsonValue::Kind::object: {
      py::dict made;
      for (const auto& [key, member] : value.members) made[py::str(key)] = to_object(member);
      return made;
    }
    default: return py::none();
  }
}

/// The value of a key, or `missing` if the file lacks it.
py::object value_of(const FormatSource& source, const char* key, py::object missing) {
  const JsonValue* value = source.keys.find(key);
  return value == nullptr ? missing : to_object(*value);
}

void register_facts(py::module_& module) {
  add_record(module, "ReasoningFacts", field("openers", &ReasoningFacts::openers),
             field("closers", &ReasoningFacts::closers), field("label", &ReasoningFacts::label),
             field("starts_open", &ReasoningFacts::starts_open),
             field("tool_calls", &ReasoningFacts::calls));
  add_record(module, "HeaderFacts", field("openers", &HeaderFacts::openers),
             field("closers", &HeaderFacts::closers), field("names_tool", &HeaderFacts::names_tool),
             field("is_inline", &HeaderFacts::is_inline));
  add_record(module, "CallFacts", field("openers", &CallFacts::openers),
             field("closers", &CallFacts::closers), field("bare", &CallFacts::bare),
             field("first_letters", &CallFacts::first_letters),
             field("after_header", &CallFacts::after_header),
             field("may_be_content", &CallFacts::may_be_content),
             field("needs_known_tool", &CallFacts::needs_known_tool),
             field("body", &CallFacts::body));
  add_record(module, "FormatFacts", field("markers", &FormatFacts::markers),
             field("marker_tokens", &FormatFacts::marker_tokens), field("ends", &FormatFacts::ends),
             field("reasoning", &FormatFacts::reasoning), field("headers", &FormatFacts::headers),
             field("dropped", &FormatFacts::dropped),
             field("section_openers", &FormatFacts::section_openers),
             field("section_closers", &FormatFacts::section_closers),
             field("calls", &FormatFacts::calls), field("call_ids", &FormatFacts::call_ids));
}

py::tuple pattern_keys() {
  py::list made;
  for (const FileKey& key : file_keys()) {
    if (is_patterns(key)) made.append(key.name);
  }
  return py::tuple(made);
}

py::dict patterns_of(const FormatSource& self) {
  py::dict made;
  for (const FileKey& key : file_keys()) {
    const std::vector<std::string> texts = self.texts(key.name);
    if (is_patterns(key) && !texts.empty()) made[py::cast(key.name)] = to_tuple(texts);
  }
  return made;
}

using Texts = std::vector<std::string>;

FormatSource of_patterns(const std::string& name, const std::map<std::string, Texts>& patterns) {
  JsonValue keys = JsonValue::object();
  keys.set("name", JsonValue::of_string(name));
  for (const auto& [key, texts] : patterns) {
    JsonValue list;
    list.kind = JsonValue::Kind::array;
    for (const std::string& text : texts) list.items.push_back(JsonValue::of_string(text));
    keys.set(key, std::move(list));
  }
  return FormatSource::of(std::move(keys));
}

py::object with_reasoning(const py::object& self, const FormatSource* other) {
  const auto& source = self.cast<const FormatSource&>();
  return make_instance(Py_TYPE(self.ptr()),
                       std::make_unique<FormatSource>(source.with_reasoning(other)));
}

/// For pickle: the keys as JSON, the file's name and the lines of the examples.
using State = std::tuple<std::string, std::string, std::vector<std::uint32_t>>;

State to_state(const FormatSource& self) {
  std::string json;
  append_json(self.keys, json);
  return {json, self.source, self.example_lines};
}

FormatSource from_state(const State& state) {
  std::optional<JsonValue> keys = parse_json(std::get<0>(state));
  if (!keys) throw FormatError("the pickled format is damaged");
  FormatSource made = FormatSource::of(std::move(*keys));
  made.source = std::get<1>(state);
  made.example_lines = std::get<2>(state);
  return made;
}

void register_source(py::module_& module) {
  NativeClass<FormatSource, std::shared_ptr<FormatSource>> source(module, "FormatSource");
  source.def_init(py::init(&FormatSource::read), py::arg("text"), py::arg("source") = "<format>")
      .def_init(py::init(&of_patterns), py::kw_only(), py::arg("name"), py::arg("patterns"))
      .def_init(py::init<const FormatSource&>(), py::arg("other"))
      .def_property_readonly("name", &FormatSource::name)
      .def_property_readonly(
          "models", [](const FormatSource& self) { return to_tuple(self.texts("models")); })
      .def_property_readonly(
          "aliases", [](const FormatSource& self) { return to_tuple(self.texts("aliases")); })
      .def_property_readonly("notes",
                             [](const FormatSource& self) {
                               return value_of(self, "notes", py::str()).attr("strip")();
                             })
      .def_property_readonly(
          "examples",
          [](const FormatSource& self) { return py::tuple(value_of(self, "example", py::list())); })
      .def_property_readonly("example_lines",
                             [](const FormatSource& self) { return to_tuple(self.example_lines); })
      .def_property_readonly(
          "detect", [](const FormatSource& self) { return value_of(self, "detect", py::dict()); })
      .def_property_readonly("source", [](const FormatSource& self) { return self.source; })
      .def_property_readonly("patterns", &patterns_of)
      .def_property_readonly("shape",
                             [](const FormatSource& self) -> const Shape& { return self.shape; })
      .def_property_readonly(
          "facts", [](const FormatSource& self) -> const FormatFacts& { return self.facts; })
      .def_property_readonly(
          "free_text_words",
          [](const FormatSource& self) { return free_text_words(self.shape, self.facts); })
      .def_property_readonly("sentences",
                             [](const FormatSource& self) { return explain(self.program); })
      .def_property_readonly("fingerprint",
                             [](const FormatSource& self) { return self.patterns.fingerprint; })
      .def_property_readonly("has_tools", &FormatSource::has_tools)
      .def_property_readonly("has_reasoning", &FormatSource::has_reasoning)
      .def_property_readonly(
          "is_plain",
          [](const FormatSource& self) { return !self.has_tools() && !self.has_reasoning(); })
      .def("with_reasoning", &with_reasoning, py::arg("other").none(true))
      .def(py::pickle(&to_state, &from_state))
      .def(py::self == py::self)
      .def("__hash__", [](const FormatSource& self) { return self.patterns.fingerprint; })
      .def("__repr__", [](const py::object& self) {
        return std::string(py::str(py::type::of(self).attr("__name__"))) + "('" +
               self.cast<const FormatSource&>().name() + "')";
      });
  pickle_by_state(source);
}

}  // namespace

void register_format_source(py::module_& module) {
  register_shape(module);
  register_facts(module);
  register_source(module);
  module.attr("PATTERN_KEYS") = pattern_keys();
  module.def("format_words", &file_words_json, py::doc(doc_of("format_words")));
}

}  // namespace unspool::bindings
