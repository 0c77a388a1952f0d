// Format and ToolSchemas from plain Python data; the files are read in Python.
#include "format/format.h"

#include <pybind11/stl.h>

#include "bindings/python_types.h"
#include "format/schema.h"
#include "parser/event_parser.h"
#include "text/error.h"

namespace unspool::bindings {

namespace {

// A table of a format file. Keys and types were checked by unspool.format_files; a key that is not
// there leaves the default.
class Table {
 public:
  explicit Table(py::dict dict) : dict_(std::move(dict)) {}

  template <typename T>
  void get(const char* key, T& into) const {
    if (dict_.contains(key)) into = dict_[key].cast<T>();
  }

  template <typename Enum>
  void choose(const char* key, Enum& into,
              std::initializer_list<std::pair<const char*, Enum>> choices) const {
    if (!dict_.contains(key)) return;
    const auto value = dict_[key].cast<std::string>();
    for (const auto& [name, choice] : choices) {
      if (value == name) {
        into = choice;
        return;
      }
    }
    throw FormatError(std::string(key) + " is '" + value + "', which is none of its choices");
  }

  MarkerSpec marker(const std::string& key) const {
    MarkerSpec spec;
    get(key.c_str(), spec.texts);
    get((key + "_before").c_str(), spec.before);
    get((key + "_after").c_str(), spec.after);
    return spec;
  }

  bool has(const char* key) const { return dict_.contains(key); }
  Table table(const char* key) const { return Table(dict_[key].cast<py::dict>()); }
  py::object operator[](const char* key) const { return dict_[key]; }

 private:
  py::dict dict_;
};

// "json": anything but text; text is what is left where it is none of these.
TypeSet type_named(const std::string& name) {
  if (name == "string") return TypeSet(TypeSet::string);
  if (name == "json") return TypeSet(TypeSet::any().bits() & ~TypeSet::string);
  if (name == "number") return TypeSet(TypeSet::integer | TypeSet::number);
  if (name == "integer") return TypeSet(TypeSet::integer);
  if (name == "boolean") return TypeSet(TypeSet::boolean);
  if (name == "null") return TypeSet(TypeSet::null);
  if (name == "object") return TypeSet(TypeSet::object);
  if (name == "array") return TypeSet(TypeSet::array);
  throw FormatError("a type is '" + name + "', which is none of JSON's; or write \"json\"");
}

CallSpec read_call(const Table& table) {
  CallSpec call;
  call.open = table.marker("open");
  call.close = table.marker("close");
  call.name_close = table.marker("name_close");
  call.next = table.marker("next");
  call.quotes = table.marker("quotes");
  table.choose(
      "bare", call.bare,
      {{"start", BarePlace::start}, {"line", BarePlace::line}, {"section", BarePlace::section}});
  table.get("fenced", call.fenced);
  table.get("starts", call.starts);
  table.get("second", call.second);
  table.get("may_be_text", call.may_be_text);
  table.get("separators", call.separators);
  table.get("name_stops", call.name_stops);
  table.get("name_prefix", call.name_prefix);
  table.get("name_is_id", call.name_is_id);
  table.get("by_recipient", call.by_recipient);
  table.get("id_open", call.id_open);
  table.get("name_twice", call.name_twice);
  table.get("fixed_name", call.fixed_name);
  table.get("certain", call.is_certain);
  table.choose("known_tools", call.known_tools,
               {{"any", KnownTools::any},
                {"if_given", KnownTools::if_given},
                {"required", KnownTools::required}});
  table.choose("body", call.body,
               {{"json_call", BodyKind::json_call},
                {"json_arguments", BodyKind::json_arguments},
                {"literal_arguments", BodyKind::literal_arguments},
                {"pythonic", BodyKind::pythonic},
                {"xml_parameters", BodyKind::xml_parameters},
                {"xml_elements", BodyKind::xml_elements}});
  if (table.has("json_call")) {
    const Table body = table.table("json_call");
    body.get("name_keys", call.json_call.name_keys);
    body.get("arguments_keys", call.json_call.arguments_keys);
    body.get("id_keys", call.json_call.id_keys);
    body.get("wrapper_keys", call.json_call.wrapper_keys);
    body.get("name_is_key", call.json_call.name_is_key);
  }
  if (table.has("xml_parameters")) {
    const Table body = table.table("xml_parameters");
    call.xml_parameters.open = body.marker("open");
    call.xml_parameters.name_close = body.marker("name_close");
    call.xml_parameters.close = body.marker("close");
    body.get("name_end", call.xml_parameters.name_end);
    body.get("value_open", call.xml_parameters.value_open);
    body.get("entities", call.xml_parameters.entities);
    body.get("json_body", call.xml_parameters.json_body);
    body.get("python_values", call.xml_parameters.python_values);
    if (body.has("types")) {
      for (const auto& [text, type] : body["types"].cast<std::map<std::string, std::string>>()) {
        call.xml_parameters.types.emplace_back(text, type_named(type));
      }
    }
    body.get("next_closes", call.xml_parameters.next_closes);
    body.get("name_entities", call.xml_parameters.name_entities);
    body.get("guess_types", call.xml_parameters.guess_types);
    body.choose(
        "trim", call.xml_parameters.trim,
        {{"none", ValueTrim::none}, {"newline", ValueTrim::newline}, {"space", ValueTrim::space}});
  }
  if (table.has("xml_elements")) {
    const Table body = table.table("xml_elements");
    call.xml_elements.open = body.marker("open");
  }
  return call;
}

MarkupSpec read_markup(const Table& table) {
  MarkupSpec markup;
  markup.open = table.marker("open");
  markup.close = table.marker("close");
  table.get("begins", markup.begins);
  table.get("recipient", markup.recipient);
  table.get("not_tools", markup.not_tools);
  table.get("reasoning", markup.reasoning);
  table.get("inline", markup.is_inline);
  return markup;
}

FormatSpec read_spec(const py::dict& dict) {
  const Table table(dict);
  FormatSpec spec;
  table.get("name", spec.name);
  table.get("ignore", spec.ignore);
  table.choose("call_ids", spec.call_ids,
               {{"random", CallIdStyle::random},
                {"nine", CallIdStyle::nine},
                {"functions", CallIdStyle::functions}});
  if (table.has("reasoning")) {
    const Table part = table.table("reasoning");
    ReasoningSpec& reasoning = spec.reasoning.emplace();
    reasoning.open = part.marker("open");
    reasoning.close = part.marker("close");
    part.get("label", reasoning.label);
    part.get("starts_open", reasoning.starts_open);
    part.get("turn", reasoning.turn);
    part.choose("tool_calls", reasoning.ends_at_tool_call, {{"keep", false}, {"end", true}});
  }
  if (table.has("markup")) {
    for (const py::handle& item : table["markup"])
      spec.markup.push_back(read_markup(Table(item.cast<py::dict>())));
  }
  if (table.has("section")) {
    const Table part = table.table("section");
    spec.section_open = part.marker("open");
    spec.section_close = part.marker("close");
  }
  if (table.has("call")) {
    for (const py::handle& item : table["call"])
      spec.calls.push_back(read_call(Table(item.cast<py::dict>())));
  }
  return spec;
}

std::shared_ptr<const Format> compile(const py::dict& description,
                                      const std::vector<std::pair<TokenId, std::string>>& tokens,
                                      const std::string& trust) {
  std::vector<MarkerToken> marker_tokens;
  for (const auto& [id, text] : tokens) marker_tokens.push_back({id, text});
  const MarkerTrust how = trust == "text"     ? MarkerTrust::by_text
                          : trust == "either" ? MarkerTrust::either
                                              : MarkerTrust::by_id;
  return Format::compile(read_spec(description), marker_tokens, how);
}

// (types, {property: value}, value of items or None), as unspool.schema writes it.
ValueSchema read_value(const py::tuple& value) {
  ValueSchema schema;
  schema.types = TypeSet(value[0].cast<std::uint8_t>());
  for (const auto& [name, inner] : value[1].cast<py::dict>()) {
    schema.properties.emplace(name.cast<std::string>(), read_value(inner.cast<py::tuple>()));
  }
  if (!value[2].is_none()) schema.items.push_back(read_value(value[2].cast<py::tuple>()));
  return schema;
}

bool starts_in_reasoning(const std::shared_ptr<const Format>& format, std::string_view prompt) {
  const auto parser = make_event_parser(format, {});
  parser->put_prompt(prompt);
  return parser->region() == Region::reasoning;
}

std::shared_ptr<const ToolSchemas> make_schemas(
    const std::map<std::string, std::map<std::string, py::tuple>>& tools) {
  auto schemas = std::make_shared<ToolSchemas>();
  for (const auto& [name, parameters] : tools) {
    ToolSchema& schema = schemas->tools[name];
    for (const auto& [parameter, value] : parameters)
      schema.parameters.emplace(parameter, read_value(value));
  }
  return schemas;
}

}  // namespace

void register_format(py::module_& module) {
  py::class_<Format, std::shared_ptr<Format>> format(module, "Format", py::is_final());
  format
      .def(py::init([](const py::dict& description,
                       const std::vector<std::pair<TokenId, std::string>>& tokens,
                       const std::string& trust) {
             return std::const_pointer_cast<Format>(compile(description, tokens, trust));
           }),
           py::arg("description"),
           py::arg("tokens") = std::vector<std::pair<TokenId, std::string>>{},
           py::arg("trust") = "id")
      .def_property_readonly("name", [](const Format& self) { return self.spec().name; })
      .def_property_readonly("marker_ids",
                             [](const Format& self) {
                               std::vector<TokenId> ids;
                               for (const MarkerToken& token : self.symbols())
                                 ids.push_back(token.id);
                               return ids;
                             })
      .def(
          "starts_in_reasoning",
          [](const std::shared_ptr<Format>& self, const std::string& prompt) {
            return starts_in_reasoning(self, prompt);
          },
          py::arg("prompt"))
      .def("__repr__", [](const Format& self) { return "Format('" + self.spec().name + "')"; });
  refuse_pickle(format, "a Format");

  py::class_<ToolSchemas, std::shared_ptr<ToolSchemas>> schemas(module, "ToolSchemas",
                                                                py::is_final());
  schemas
      .def(py::init([](const std::map<std::string, std::map<std::string, py::tuple>>& tools) {
             return std::const_pointer_cast<ToolSchemas>(make_schemas(tools));
           }),
           py::arg("tools"))
      .def("__contains__", [](const ToolSchemas& self,
                              const std::string& name) { return self.find(name) != nullptr; })
      .def("__len__", [](const ToolSchemas& self) { return self.tools.size(); });
  refuse_pickle(schemas, "a ToolSchemas");
}

}  // namespace unspool::bindings
