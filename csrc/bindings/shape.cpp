// The shape of a format, as frozen objects.
#include "format/shape.h"

#include <pybind11/operators.h>

#include <algorithm>
#include <iterator>

#include "bindings/records.h"
#include "format/free_text_words.h"

namespace unspool::bindings {

namespace {

/// A read-only attribute out of a method.
template <typename Class, typename Value>
void add_method(NativeClass<Class>& made, const char* name, Value (Class::*method)() const) {
  made.def_property_readonly(name,
                             [method](const Class& self) { return to_python((self.*method)()); });
}

/// What a model writes: the alternatives that begin with the turn as the file has them.
py::tuple written(const std::vector<TextShape>& alternatives) {
  std::vector<TextShape> shown;
  std::copy_if(alternatives.begin(), alternatives.end(), std::back_inserter(shown),
               [](const TextShape& each) { return !each.is_begun; });
  return to_tuple(shown);
}

void register_edge(py::module_& module) {
  NativeClass<Edge> edge(module, "Edge", py::is_final());
  edge.def_init(py::init<std::string_view>(), py::arg("literal") = "")
      .def_property_readonly("literal", [](const Edge& self) { return self.literal(); })
      .def("without", &Edge::without, py::arg("prefix"))
      .def("after_any", &Edge::after_any, py::arg("written"))
      .def("is_begun_by", &Edge::is_begun_by, py::arg("written"))
      .def(py::self == py::self)
      .def("__hash__", [](const Edge& self) { return py::hash(py::str(self.literal())); })
      .def("__repr__", [](const Edge& self) {
        return "Edge(" + std::string(py::repr(py::str(self.literal()))) + ")";
      });
  add_method(edge, "before", &Edge::before);
  add_method(edge, "text", &Edge::text);
  add_method(edge, "after", &Edge::after);
  add_method(edge, "rest", &Edge::rest);
  add_method(edge, "sign", &Edge::sign);
  add_method(edge, "tags", &Edge::tags);
  add_method(edge, "line_breaks", &Edge::line_breaks);
  add_method(edge, "is_blank", &Edge::is_blank);
  add_method(edge, "is_fence", &Edge::is_fence);
  add_method(edge, "begins_line", &Edge::begins_line);
  add_method(edge, "begins_tag", &Edge::begins_tag);
  add_method(edge, "ends_tag", &Edge::ends_tag);
}

void register_parts(py::module_& module) {
  add_record(module, "Hole", field("kind", &Hole::kind), field("options", &Hole::options))
      .def_property_readonly("number", &Hole::number)
      .def(py::self == py::self);
  add_record(module, "Repeat", field("items", &Repeat::items),
             field("separator", &Repeat::separator))
      .def(py::self == py::self);
  add_record(module, "SkippedText", field("letters", &SkippedText::letters),
             field("most", &SkippedText::most))
      .def(py::self == py::self);
  add_record(module, "TextShape", field("author", &TextShape::author),
             field("author_name", &TextShape::author_name), field("open", &TextShape::open),
             field("close", &TextShape::close), field("note", &TextShape::note),
             field("note_close", &TextShape::note_close), field("is_inline", &TextShape::is_inline),
             field("is_opened_by_turn", &TextShape::is_opened_by_turn))
      .def(py::self == py::self);
  auto parameter = add_record(
      module, "ParameterShape", field("items", &ParameterShape::items),
      field("open", &ParameterShape::open), field("after_key", &ParameterShape::after_key),
      field("close", &ParameterShape::close), field("last", &ParameterShape::last),
      field("between", &ParameterShape::between), field("key_stop", &ParameterShape::key_stop),
      field("has_type", &ParameterShape::has_type),
      field("is_element", &ParameterShape::is_element),
      field("is_verbatim", &ParameterShape::is_verbatim),
      field("is_json", &ParameterShape::is_json), field("is_python", &ParameterShape::is_python),
      field("has_entities", &ParameterShape::has_entities),
      field("key_has_entities", &ParameterShape::key_has_entities));
  parameter.def(py::self == py::self);
  add_method(parameter, "value_space", &ParameterShape::value_space);
  add_record(module, "ObjectShape", field("items", &ObjectShape::items),
             field("keys", &ObjectShape::keys), field("name_is_key", &ObjectShape::name_is_key));
  add_record(module, "IdShape", field("items", &IdShape::items));
}

void register_calls(py::module_& module) {
  auto call = add_record(
      module, "CallShape", field("author", &CallShape::author), field("open", &CallShape::open),
      field("close", &CallShape::close), field("list_open", &CallShape::list_open),
      field("list_close", &CallShape::list_close), field("inside", &CallShape::inside),
      field("separator", &CallShape::separator),
      field("shortest_close", &CallShape::shortest_close), field("joiner", &CallShape::joiner),
      field("name_stop", &CallShape::name_stop), field("holds_id", &CallShape::holds_id));
  add_method(call, "body", &CallShape::kind);
  add_method(call, "value_space", &CallShape::value_space);
  add_record(module, "FormShape", field("call", &FormShape::call),
             field("section", &FormShape::section), field("parameters", &FormShape::parameters),
             field("recipient", &FormShape::recipient), field("is_bare", &FormShape::is_bare));
}

}  // namespace

void register_shape(py::module_& module) {
  register_edge(module);
  register_parts(module);
  register_calls(module);
  add_record(module, "HeaderShape", field("open", &HeaderShape::open),
             field("close", &HeaderShape::close));
  add_record(module, "FreeTextWords", field("content", &FreeTextWords::content),
             field("value", &FreeTextWords::value));
  add_record(module, "Shape", field("turn", &Shape::turn), field("forms", &Shape::forms),
             field("objects", &Shape::objects), field("quote", &Shape::quote),
             field("header", &Shape::header), field("ids", &Shape::ids),
             field("call_tags", &Shape::call_tags), field("opens_messages", &Shape::opens_messages))
      .def_property_readonly("reasoning", [](const Shape& self) { return written(self.reasoning); })
      .def_property_readonly("contents", [](const Shape& self) { return written(self.contents); });
}

}  // namespace unspool::bindings
