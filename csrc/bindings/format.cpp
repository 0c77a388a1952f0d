// Format and ToolSchemas from plain Python data; the files are read in Python.
#include "format/format.h"

#include <pybind11/stl.h>

#include "bindings/native_class.h"
#include "bindings/python_types.h"
#include "format/format_file.h"
#include "format/tool_schemas.h"
#include "format/pattern_compiler.h"
#include "format/describe.h"
#include "parser/event_parser.h"
#include "text/error.h"

namespace unspool::bindings {

namespace {

using Tokens = std::vector<std::pair<TokenId, std::string>>;

// Descriptions and schemas go to the core as JSON, as embedders hand them over.
JsonValue read_json(const py::handle& value) {
  std::string text;
  try {
    text = py::module_::import("json").attr("dumps")(value).cast<std::string>();
  } catch (py::error_already_set& error) {
    const bool is_of_json = error.matches(PyExc_TypeError) || error.matches(PyExc_ValueError) ||
                            error.matches(PyExc_RecursionError);
    if (!is_of_json) throw;
    throw FormatError("the description is not JSON: " + std::string(py::str(error.value())));
  }
  std::optional<JsonValue> json = parse_json(text);
  if (!json) throw FormatError("the description holds a number that is none in JSON");
  return std::move(*json);
}

std::shared_ptr<const Format> compile(const py::dict& description, const Tokens& tokens,
                                      const std::string& trust, const ToolUse& tools) {
  std::vector<MarkerToken> marker_tokens;
  for (const auto& [id, text] : tokens) marker_tokens.push_back({id, text});
  const MarkerTrust how = trust == "text"     ? MarkerTrust::by_text
                          : trust == "either" ? MarkerTrust::either
                                              : MarkerTrust::by_id;
  return Format::compile(for_tools(read_format_spec(read_json(description)), tools), marker_tokens,
                         how);
}

bool starts_in_reasoning(const std::shared_ptr<const Format>& format, std::string_view prompt) {
  const auto parser = make_event_parser(format, {});
  parser->put_prompt(prompt);
  return parser->region() == Region::reasoning;
}

// Names, and their parameters' schemas as JSON texts, as unspool.schema has checked them.
std::shared_ptr<const ToolSchemas> make_schemas(const std::map<std::string, std::string>& tools) {
  auto schemas = std::make_shared<ToolSchemas>();
  SchemaReader reader;
  for (const auto& [name, json] : tools) {
    const std::optional<JsonValue> schema = parse_json(json, DeepJson::null);
    if (!schema) throw ArgumentError("the parameters of tool '" + name + "' are no JSON");
    schemas->tools[name] = reader.read(*schema);
  }
  return schemas;
}

}  // namespace

void register_format(py::module_& module) {
  module.def(
      "compile_patterns",
      [](const py::dict& file) {
        std::string json;
        append_json(describe(compile_patterns(PatternFile::read(read_json(file)))), json);
        return json;
      },
      py::arg("file"));
  py::class_<Format, std::shared_ptr<Format>> format(module, "Format", py::is_final());
  format
      .def(py::init([](const py::dict& description, const Tokens& tokens, const std::string& trust,
                       bool has_tools, bool is_required, const std::string& tool_choice) {
             return std::const_pointer_cast<Format>(
                 compile(description, tokens, trust, {has_tools, is_required, tool_choice}));
           }),
           py::arg("description"), py::arg("tokens") = Tokens{}, py::arg("trust") = "id",
           py::kw_only(), py::arg("has_tools") = true, py::arg("is_required") = false,
           py::arg("tool_choice") = "")
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
      .def(
          "ends_reasoning",
          [](const Format& self, const std::string& text, const std::string& before) {
            const std::size_t end = self.reasoning_end(before + text);
            return end != std::string::npos && end > before.size();
          },
          py::arg("text"), py::arg("before") = "")
      .def("__repr__", [](const Format& self) { return "Format('" + self.spec().name + "')"; });
  refuse_pickle(format, "a Format");

  py::class_<ToolSchemas, std::shared_ptr<ToolSchemas>> schemas(module, "ToolSchemas",
                                                                py::is_final());
  schemas
      .def(py::init([](const std::map<std::string, std::string>& tools) {
             return std::const_pointer_cast<ToolSchemas>(make_schemas(tools));
           }),
           py::arg("tools"))
      .def("__contains__", [](const ToolSchemas& self,
                              const std::string& name) { return self.find(name) != nullptr; })
      .def("__len__", [](const ToolSchemas& self) { return self.tools.size(); });
  refuse_pickle(schemas, "a ToolSchemas");
}

}  // namespace unspool::bindings
