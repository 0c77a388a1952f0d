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

CallSpec read_call(const Table& table) {
  CallSpec call;
  call.open = table.marker("open");
  call.close = table.marker("close");
  call.name_close = table.marker("name_close");
  table.choose("bare", call.bare, {{"start", BarePlace::start}, {"line", BarePlace::line}});
  table.get("fenced", call.fenced);
  table.get("starts", call.starts);
  table.get("separators", call.separators);
  table.get("name_stops", call.name_stops);
  table.get("name_prefix", call.name_prefix);
  table.get("fixed_name", call.fixed_name);
  table.get("certain", call.is_certain);
  table.choose("known_tools", call.known_tools,
               {{"any", KnownTools::any},
                {"if_given", KnownTools::if_given},
                {"required", KnownTools::required}});
  table.choose("body", call.body,
               {{"json_call", BodyKind::json_call},
                {"json_arguments", BodyKind::json_arguments},
                {"xml_parameters", BodyKind::xml_parameters}});
  if (table.has("json_call")) {
    const Table body = table.table("json_call");
    body.get("name_keys", call.json_call.name_keys);
    body.get("arguments_keys", call.json_call.arguments_keys);
    body.get("id_keys", call.json_call.id_keys);
    body.get("wrapper_keys", call.json_call.wrapper_keys);
  }
  if (table.has("xml_parameters")) {
    const Table body = table.table("xml_parameters");
    call.xml_parameters.open = body.marker("open");
    call.xml_parameters.name_close = body.marker("name_close");
    call.xml_parameters.close = body.marker("close");
    body.get("guess_types", call.xml_parameters.guess_types);
    body.choose(
        "trim", call.xml_parameters.trim,
        {{"none", ValueTrim::none}, {"newline", ValueTrim::newline}, {"space", ValueTrim::space}});
  }
  return call;
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
    part.get("starts_open", reasoning.starts_open);
    part.get("turn", reasoning.turn);
    part.choose("tool_calls", reasoning.ends_at_tool_call, {{"keep", false}, {"end", true}});
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

bool starts_in_reasoning(const std::shared_ptr<const Format>& format, std::string_view prompt) {
  const auto parser = make_event_parser(format, {});
  parser->put_prompt(prompt);
  return parser->region() == Region::reasoning;
}

std::shared_ptr<const ToolSchemas> make_schemas(
    const std::map<std::string, std::map<std::string, std::uint8_t>>& tools) {
  auto schemas = std::make_shared<ToolSchemas>();
  for (const auto& [name, parameters] : tools) {
    ToolSchema& schema = schemas->tools[name];
    for (const auto& [parameter, types] : parameters)
      schema.parameters.emplace(parameter, TypeSet(types));
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
      .def(py::init([](const std::map<std::string, std::map<std::string, std::uint8_t>>& tools) {
             return std::const_pointer_cast<ToolSchemas>(make_schemas(tools));
           }),
           py::arg("tools"))
      .def("__contains__", [](const ToolSchemas& self,
                              const std::string& name) { return self.find(name) != nullptr; })
      .def("__len__", [](const ToolSchemas& self) { return self.tools.size(); });
  refuse_pickle(schemas, "a ToolSchemas");
}

}  // namespace unspool::bindings
