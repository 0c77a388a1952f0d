// FormatSource, and the frozen objects that show its patterns and facts.
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
#include "format/explain.h"
#include "format/file_words.h"
#include "format/named_values.h"
#include "text/error.h"

namespace unspool::bindings {

namespace {

py::object to_python(const JsonValue& value) {
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
      for (const JsonValue& item : value.items) made.append(to_python(item));
      return made;
    }
    case JsonValue::Kind::object: {
      py::dict made;
      for (const auto& [key, member] : value.members) made[py::str(key)] = to_python(member);
      return made;
    }
    default: return py::none();
  }
}

/// The value of a key, or `missing` if the file lacks it.
py::object value_of(const FormatSource& source, const char* key, py::object missing) {
  const JsonValue* value = source.keys.find(key);
  return value == nullptr ? missing : to_python(*value);
}

template <typename Item>
py::tuple to_tuple(const std::vector<Item>& items) {
  return py::tuple(py::cast(items));
}

py::object to_python(const std::string& text) { return py::str(text); }
py::object to_python(bool flag) { return py::bool_(flag); }
template <typename Item>
py::object to_python(const std::vector<Item>& items) {
  return to_tuple(items);
}
template <typename Item>
py::object to_python(const std::optional<Item>& item) {
  return py::cast(item);
}
py::object to_python(HoleKind kind) { return py::cast(name_of(kind)); }
py::object to_python(BarePlace place) { return py::cast(name_of(kPlaces, place)); }
py::object to_python(BodyKind kind) { return py::cast(name_of(kBodies, kind)); }
py::object to_python(CallIdStyle style) { return py::cast(name_of(kCallIds, style)); }
py::object to_python(CallsInReasoning calls) { return py::cast(name_of(kCallsInReasoning, calls)); }

/// A read-only attribute.
template <typename Class, typename Value>
void add_field(py::class_<Class>& made, const char* name, Value Class::* member) {
  made.def_property_readonly(name, [member](const Class& self) { return to_python(self.*member); });
}

/// A class of such attributes; its repr shows them all.
template <typename Class, typename... Values>
py::class_<Class> add_record(py::module_& module, const char* name,
                             const std::pair<const char*, Values Class::*>&... fields) {
  py::class_<Class> made(module, name, py::is_final());
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

HoleKind kind_of(std::string_view name) {
  for (const HoleWord& word : hole_words()) {
    if (word.name == name) return word.kind;
  }
  throw ArgumentError("there is no hole of kind '" + std::string(name) + "'; use one of " +
                      listed(hole_words()));
}

std::size_t index_of(const Pattern& pattern, std::string_view kind) {
  const HoleKind wanted = kind_of(kind);
  if (!pattern.has(wanted))
    throw py::value_error("the pattern has no hole '" + std::string(kind) + "'");
  return pattern.index(wanted);
}

void register_patterns(py::module_& module) {
  add_record(module, "Hole", field("kind", &Hole::kind), field("options", &Hole::options))
      .def(py::self == py::self);
  auto pattern = add_record(module, "Pattern", field("texts", &Pattern::texts),
                            field("holes", &Pattern::holes));
  pattern.def_static("parse", &Pattern::parse, py::arg("text"))
      .def_property_readonly("first", [](const Pattern& self) { return self.first(); })
      .def_property_readonly("last", [](const Pattern& self) { return self.last(); })
      .def("count",
           [](const Pattern& self, std::string_view kind) { return self.count(kind_of(kind)); })
      .def("has",
           [](const Pattern& self, std::string_view kind) { return self.has(kind_of(kind)); })
      .def("index", &index_of)
      .def("before", [](const Pattern& self,
                        std::string_view kind) { return self.texts[index_of(self, kind)]; })
      .def("after", [](const Pattern& self,
                       std::string_view kind) { return self.texts[index_of(self, kind) + 1]; })
      .def("options",
           [](const Pattern& self, std::string_view kind) {
             const HoleKind wanted = kind_of(kind);
             return self.has(wanted) ? to_tuple(self.hole(wanted).options) : py::tuple();
           })
      .def("with_last", &Pattern::with_last, py::arg("text"))
      .def(py::self == py::self)
      .def("__hash__", [](const Pattern& self) { return py::hash(to_tuple(self.texts)); });
  add_record(module, "Patterns", field("turn", &PatternFile::turn), field("end", &PatternFile::end),
             field("reasoning", &PatternFile::reasoning), field("content", &PatternFile::content),
             field("calls", &PatternFile::calls), field("call", &PatternFile::call),
             field("parameter", &PatternFile::parameter), field("object", &PatternFile::object),
             field("string", &PatternFile::string), field("header", &PatternFile::header),
             field("id", &PatternFile::id), field("leftovers", &PatternFile::leftovers));
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
  py::class_<FormatSource, std::shared_ptr<FormatSource>> source(module, "FormatSource");
  source.def(py::init(&FormatSource::read), py::arg("text"), py::arg("source") = "<format>")
      .def(py::init(&of_patterns), py::kw_only(), py::arg("name"), py::arg("patterns"))
      .def(py::init<const FormatSource&>(), py::arg("other"))
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
      .def_property_readonly(
          "split_patterns",
          [](const FormatSource& self) -> const PatternFile& { return self.patterns; })
      .def_property_readonly(
          "facts", [](const FormatSource& self) -> const FormatFacts& { return self.facts; })
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
}

}  // namespace

void register_format_source(py::module_& module) {
  register_patterns(module);
  register_facts(module);
  register_source(module);
  module.attr("PATTERN_KEYS") = pattern_keys();
  module.def("format_words", &file_words_json);
}

}  // namespace unspool::bindings
