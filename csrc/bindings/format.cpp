// Format files, Format and ToolSchemas.
#include "format/format.h"

#include <pybind11/stl.h>

#include "bindings/native_class.h"
#include "bindings/python_types.h"
#include "format/explain.h"
#include "format/file_words.h"
#include "format/format_facts.h"
#include "format/format_file.h"
#include "format/named_values.h"
#include "format/pattern_compiler.h"
#include "format/read_format.h"
#include "format/tool_schemas.h"
#include "format/turn.h"
#include "parser/event_parser.h"
#include "text/error.h"

namespace unspool::bindings {

namespace {

using namespace py::literals;
using Tokens = std::vector<std::pair<TokenId, std::string>>;

PatternFile read_pattern_file(const py::handle& patterns) {
  std::string text;
  try {
    text = py::module_::import("json").attr("dumps")(patterns).cast<std::string>();
  } catch (py::error_already_set& error) {
    const bool is_of_json = error.matches(PyExc_TypeError) || error.matches(PyExc_ValueError) ||
                            error.matches(PyExc_RecursionError);
    if (!is_of_json) throw;
    throw FormatError("the patterns are not JSON: " + std::string(py::str(error.value())));
  }
  const std::optional<JsonValue> json = parse_json(text);
  if (!json) throw FormatError("the patterns hold a value that JSON does not have");
  return PatternFile::read(*json);
}

Program read_patterns(const py::handle& patterns) {
  return compile_patterns(read_pattern_file(patterns));
}

// The keys of a file, and the lines of its examples, as JSON.
std::string read_file(std::string_view text, std::string_view source) {
  FormatFile file = FormatFile::read(text, source);
  JsonValue lines;
  lines.kind = JsonValue::Kind::array;
  for (const std::uint32_t line : file.example_lines)
    lines.items.push_back(JsonValue::of_number(std::to_string(line)));
  JsonValue whole = JsonValue::object();
  whole.set("file", std::move(file.value));
  whole.set("example_lines", std::move(lines));
  std::string json;
  append_json(whole, json);
  return json;
}

py::tuple to_tuple(const std::vector<std::string>& texts) { return py::tuple(py::cast(texts)); }

std::string_view word_of(HoleKind kind) {
  for (const HoleWord& word : hole_words()) {
    if (word.kind == kind) return word.name;
  }
  return {};
}

// Each pattern as its texts and, between them, holes with their kinds and options.
py::tuple to_tuple(const std::vector<Pattern>& patterns) {
  py::list made;
  for (const Pattern& pattern : patterns) {
    py::list holes;
    for (const Hole& hole : pattern.holes)
      holes.append(py::make_tuple(word_of(hole.kind), to_tuple(hole.options)));
    made.append(py::make_tuple(to_tuple(pattern.texts), py::tuple(holes)));
  }
  return py::tuple(made);
}

// The arguments of unspool.patterns.Patterns.
py::dict split_patterns(const py::dict& patterns) {
  const PatternFile file = read_pattern_file(patterns);
  return py::dict("turn"_a = to_tuple(file.turn), "end"_a = to_tuple(file.end),
                  "reasoning"_a = to_tuple(file.reasoning), "content"_a = to_tuple(file.content),
                  "calls"_a = to_tuple(file.calls), "call"_a = to_tuple(file.call),
                  "parameter"_a = to_tuple(file.parameter), "object"_a = to_tuple(file.object),
                  "string"_a = to_tuple(file.string), "header"_a = to_tuple(file.header),
                  "id"_a = to_tuple(file.id), "leftovers"_a = to_tuple(file.leftovers));
}

py::dict to_dict(const ReasoningFacts& facts) {
  return py::dict("openers"_a = to_tuple(facts.openers), "closers"_a = to_tuple(facts.closers),
                  "label"_a = facts.label, "starts_open"_a = facts.starts_open,
                  "tool_calls"_a = name_of(kCallsInReasoning, facts.calls));
}

py::dict to_dict(const HeaderFacts& facts) {
  return py::dict("openers"_a = to_tuple(facts.openers), "closers"_a = to_tuple(facts.closers),
                  "names_tool"_a = facts.names_tool, "is_inline"_a = facts.is_inline);
}

py::dict to_dict(const CallFacts& facts) {
  return py::dict("openers"_a = to_tuple(facts.openers), "closers"_a = to_tuple(facts.closers),
                  "bare"_a = name_of(kPlaces, facts.bare), "first_letters"_a = facts.first_letters,
                  "after_header"_a = facts.after_header, "may_be_content"_a = facts.may_be_content,
                  "needs_known_tool"_a = facts.needs_known_tool,
                  "body"_a = name_of(kBodies, facts.body));
}

// The arguments of unspool.format_facts.FormatFacts.
py::dict read_facts(const py::dict& patterns) {
  const FormatFacts facts = facts_of(read_patterns(patterns));
  py::list headers, calls;
  for (const HeaderFacts& header : facts.headers) headers.append(to_dict(header));
  for (const CallFacts& call : facts.calls) calls.append(to_dict(call));
  return py::dict(
      "markers"_a = to_tuple(facts.markers), "marker_tokens"_a = to_tuple(facts.marker_tokens),
      "ends"_a = to_tuple(facts.ends),
      "reasoning"_a = facts.reasoning ? py::object(to_dict(*facts.reasoning)) : py::none(),
      "headers"_a = headers, "dropped"_a = to_tuple(facts.dropped),
      "section_openers"_a = to_tuple(facts.section_openers),
      "section_closers"_a = to_tuple(facts.section_closers), "calls"_a = calls,
      "call_ids"_a = name_of(kCallIds, facts.call_ids));
}

std::shared_ptr<const Format> compile(const py::dict& patterns, const Tokens& tokens,
                                      const std::string& trust, const ToolUse& tools,
                                      const ReasoningUse& reasoning) {
  std::vector<MarkerToken> marker_tokens;
  for (const auto& [id, text] : tokens) marker_tokens.push_back({id, text});
  const MarkerTrust how = trust == "text"     ? MarkerTrust::by_text
                          : trust == "either" ? MarkerTrust::either
                          : trust == "strict" ? MarkerTrust::strict
                                              : MarkerTrust::by_id;
  Program program = with_reasoning(read_patterns(patterns), reasoning);
  return Format::compile(for_tools(std::move(program), tools), marker_tokens, how);
}

// Names, and the parameters' schemas as JSON texts, already checked by unspool.schema.
std::shared_ptr<const ToolSchemas> make_schemas(const std::map<std::string, std::string>& tools) {
  auto schemas = std::make_shared<ToolSchemas>();
  SchemaReader reader;
  for (const auto& [name, json] : tools) {
    const std::optional<JsonValue> schema = parse_json(json, DeepJson::null);
    if (!schema) throw ArgumentError("the parameters of tool '" + name + "' are not valid JSON");
    schemas->tools[name] = reader.read(*schema);
  }
  return schemas;
}

void register_files(py::module_& module) {
  module.def("read_format_file", &read_file, py::arg("text"), py::arg("source"));
  module.def("format_words", &file_words_json);
  module.def("format_facts", &read_facts, py::arg("patterns"));
  module.def("split_patterns", &split_patterns, py::arg("patterns"));
  module.def(
      "explain_format", [](const py::dict& patterns) { return explain(read_patterns(patterns)); },
      py::arg("patterns"));
}

void register_compiled(py::module_& module) {
  py::class_<Format, std::shared_ptr<Format>> format(module, "Format", py::is_final());
  format
      .def(py::init([](const py::dict& patterns, const Tokens& tokens, const std::string& trust,
                       bool has_tools, bool is_required, const std::string& tool_choice,
                       const py::object& reasoning, const std::string& tool_calls_in_reasoning,
                       bool unmarked_calls) {
             ReasoningUse use;
             if (py::isinstance<py::bool_>(reasoning)) use.is_on = reasoning.cast<bool>();
             if (py::isinstance<py::dict>(reasoning)) use.other = read_patterns(reasoning);
             if (const auto* word = find_word(kCallsInReasoning, tool_calls_in_reasoning))
               use.calls = word->value;
             return std::const_pointer_cast<Format>(
                 compile(patterns, tokens, trust,
                         {has_tools, is_required, tool_choice, unmarked_calls}, use));
           }),
           py::arg("patterns"), py::arg("tokens") = Tokens{}, py::arg("trust") = "id",
           py::kw_only(), py::arg("has_tools") = true, py::arg("is_required") = false,
           py::arg("tool_choice") = "", py::arg("reasoning") = py::bool_(true),
           py::arg("tool_calls_in_reasoning") = "", py::arg("unmarked_calls") = false)
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
          "ends_reasoning",
          [](const Format& self, const std::string& text, const std::string& before) {
            const std::size_t end = reasoning_end(self.program(), before + text);
            return end != std::string::npos && end > before.size();
          },
          py::arg("text"), py::arg("before") = "")
      .def("__repr__", [](const Format& self) { return "Format('" + self.program().name + "')"; });
  refuse_pickle(format, "a Format");
}

void register_schemas(py::module_& module) {
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

}  // namespace

void register_format(py::module_& module) {
  register_files(module);
  register_compiled(module);
  register_schemas(module);
}

}  // namespace unspool::bindings
