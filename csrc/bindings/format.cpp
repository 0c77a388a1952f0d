// Format and ToolSchemas.
#include "format/format.h"

#include <pybind11/stl.h>

#include <optional>
#include <variant>

#include "bindings/fast_method.h"
#include "bindings/native_class.h"
#include "bindings/python_types.h"
#include "format/for_request.h"
#include "format/format_source.h"
#include "format/named_values.h"
#include "format/other_families.h"
#include "format/tool_schemas.h"
#include "format/turn.h"
#include "template/make_event_parser.h"
#include "text/error.h"

namespace unspool::bindings {

namespace {

using Tokens = std::vector<std::pair<TokenId, std::string>>;

std::shared_ptr<const Format> compile(const FormatSource& source, const Tokens& tokens,
                                      const std::string& trust, const ToolUse& tools,
                                      const ReasoningUse& reasoning,
                                      std::shared_ptr<const OtherFamilies> others) {
  std::vector<MarkerToken> marker_tokens;
  for (const auto& [id, text] : tokens) marker_tokens.push_back({id, text});
  const MarkerTrust how = trust == "text"     ? MarkerTrust::by_text
                          : trust == "either" ? MarkerTrust::either
                          : trust == "strict" ? MarkerTrust::strict
                                              : MarkerTrust::by_id;
  Program program = with_reasoning(source.program, reasoning);
  return Format::compile(for_tools(std::move(program), tools), marker_tokens, how,
                         std::move(others));
}

// Names, and the parameters' schemas as JSON texts, already checked by
// unspool.core.stream.tool_schemas.
std::shared_ptr<const ToolSchemas> make_schemas(const std::map<std::string, std::string>& tools) {
  auto schemas = std::make_shared<ToolSchemas>();
  SchemaReader reader;
  for (const auto& [name, json] : tools) {
    std::optional<JsonValue> schema = parse_json(json, DeepJson::null);
    if (!schema) throw ArgumentError("the parameters of tool '" + name + "' are not valid JSON");
    ToolSchema& tool = schemas->tools[name] = reader.read(std::move(*schema));
    tool.json = json;
  }
  return schemas;
}

void register_compiled(py::module_& module) {
  NativeClass<Format, std::shared_ptr<Format>> format(module, "Format", py::is_final());
  format
      .def_init(
          py::init([](const FormatSource& source, const Tokens& tokens, const std::string& trust,
                      bool has_tools, bool is_required, const std::string& tool_choice,
                      const std::variant<bool, const FormatSource*>& reasoning,
                      const std::string& tool_calls_in_reasoning, bool unmarked_calls,
                      std::shared_ptr<OtherFamilies> others) {
            ReasoningUse use;
            if (const bool* is_on = std::get_if<bool>(&reasoning)) use.is_on = *is_on;
            if (const auto* other = std::get_if<const FormatSource*>(&reasoning))
              // Compiled already, as part of its own file.
              use.other = (*other)->program;
            if (const auto* word = find_word(kCallsInReasoning, tool_calls_in_reasoning))
              use.calls = word->value;
            return std::const_pointer_cast<Format>(compile(
                source, tokens, trust, {has_tools, is_required, tool_choice, unmarked_calls}, use,
                std::move(others)));
          }),
          py::arg("source"), py::arg("tokens") = Tokens{}, py::arg("trust") = "id", py::kw_only(),
          py::arg("has_tools") = true, py::arg("is_required") = false, py::arg("tool_choice") = "",
          py::arg("reasoning") = true, py::arg("tool_calls_in_reasoning") = "",
          py::arg("unmarked_calls") = false, py::arg("others") = nullptr)
      .def_property_readonly("name", [](const Format& self) { return self.program().name; })
      .def_property_readonly("strict_markers", &Format::is_strict)
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
          "end_of_prompt",
          [](const Format& self, const std::string& prompt) {
            return std::string(end_of_prompt(self.program(), prompt));
          },
          py::arg("prompt"))
      .def(
          "ends_reasoning",
          [](const Format& self, const std::string& text, const std::string& before) {
            const std::size_t end = reasoning_end(self.program(), before + text);
            return end != std::string::npos && end > before.size();
          },
          py::arg("text"), py::arg("before") = "")
      .def("__repr__", [](const Format& self) { return "Format('" + self.program().name + "')"; });
  refuse_pickle(format, "a Format");
}

void register_others(py::module_& module) {
  NativeClass<OtherFamilies, std::shared_ptr<OtherFamilies>> others(module, "OtherFamilies",
                                                                    py::is_final());
  others
      .def_init(py::init([](const std::vector<const FormatSource*>& sources) {
                  std::vector<Program> programs;
                  for (const FormatSource* source : sources) programs.push_back(source->program);
                  return std::make_shared<OtherFamilies>(programs);
                }),
                py::arg("sources"))
      .def(
          "with_unmarked",
          [](const OtherFamilies& self, const FormatSource& own) {
            return std::make_shared<OtherFamilies>(self, own.program);
          },
          py::arg("own"))
      .def_property_readonly("names", [](const OtherFamilies& self) {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < self.size(); ++i) {
          const auto family = static_cast<OtherFamilies::Index>(i);
          if (self.unmarked_way(family) == nullptr) names.emplace_back(self.name(family));
        }
        return names;
      });
  refuse_pickle(others, "OtherFamilies");
}

PyObject* count_tools(PyObject* object, PyObject*) {
  return guarded([&] { return PyLong_FromSize_t(native<ToolSchemas>(object).tools.size()); });
}

PyMethodDef kToolCount = {"__len__", as_method(count_tools), METH_NOARGS, nullptr};

void register_schemas(py::module_& module) {
  NativeClass<ToolSchemas, std::shared_ptr<ToolSchemas>> schemas(module, "ToolSchemas",
                                                                 py::is_final());
  schemas
      .def_init(py::init([](const std::map<std::string, std::string>& tools) {
                  return std::const_pointer_cast<ToolSchemas>(make_schemas(tools));
                }),
                py::arg("tools"))
      .def("__contains__", [](const ToolSchemas& self,
                              const std::string& name) { return self.find(name) != nullptr; })
      .def(
          "schema",
          [](const ToolSchemas& self, const std::string& name) -> std::optional<std::string> {
            const ToolSchema* tool = self.find(name);
            if (tool == nullptr) return std::nullopt;
            return tool->json;
          },
          py::arg("name"));
  schemas.def_property_readonly("names", [](const ToolSchemas& self) {
    py::list names;
    for (const auto& tool : self.tools) names.append(tool.first);
    return py::tuple(names);
  });
  describe_by(schemas, "names");
  schemas.def_fast(kToolCount);
  refuse_pickle(schemas, "a ToolSchemas");
}

}  // namespace

void register_format(py::module_& module) {
  register_others(module);
  register_compiled(module);
  register_schemas(module);
}

}  // namespace unspool::bindings
