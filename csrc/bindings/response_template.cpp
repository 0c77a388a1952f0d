// Response templates: converts a checked template to a Format; also searches their patterns.
#include "template/response_template.h"

#include <pybind11/stl.h>

#include "bindings/native_class.h"
#include "bindings/python_types.h"
#include "format/format.h"
#include "text/error.h"
#include "text/regex.h"

namespace unspool::bindings {

namespace {

// The first match of a pattern in a text that arrives in pieces: (begin, end, groups), in bytes.
py::object find_pattern(const std::string& pattern, const std::vector<std::string>& pieces) {
  const auto regex = Regex::compile(pattern);
  std::string text;
  // For the tests, which compare it with Python's `regex` at every split.
  RegexSearch search(regex, 0, 0, false);
  for (const std::string& piece : pieces) {
    if (piece.empty()) continue;  // no new text
    text += piece;
    search.advance({text, 0, false});
  }
  search.advance({text, 0, true});
  const RegexMatch& match = search.match();
  if (match.begin == kNoPlace) return py::none();
  py::dict groups;
  for (std::size_t i = 0; i < regex->groups().size(); ++i) {
    const std::uint64_t begin = match.slots[2 * i];
    const std::uint64_t end = match.slots[2 * i + 1];
    if (end != kNoPlace) groups[py::str(regex->groups()[i])] = text.substr(begin, end - begin);
  }
  return py::make_tuple(match.begin, match.end, groups);
}

using Tokens = std::vector<std::pair<TokenId, std::string>>;

std::vector<MarkerToken> marker_tokens(const Tokens& tokens) {
  std::vector<MarkerToken> markers;
  for (const auto& [id, text] : tokens) markers.push_back({id, text});
  return markers;
}

}  // namespace

void register_response_template(py::module_& module) {
  py::type::of<Format>().attr("from_response_template") = py::staticmethod(py::cpp_function(
      [](const py::args& args, const py::kwargs& kwargs) {
        return py::module_::import("unspool.core.format.response_template")
            .attr("format_from_response_template")(*args, **kwargs);
      },
      py::name("from_response_template"), py::doc(doc_of("Format.from_response_template"))));
  module.def(
      "_compile_template",
      [](const std::string& json, const std::string& name, const Tokens& tokens) {
        const auto spec = parse_json(json);
        if (!spec) throw FormatError("the response template is not JSON");
        return std::const_pointer_cast<Format>(
            make_format(ResponseTemplate::compile(*spec), name, marker_tokens(tokens)));
      },
      py::arg("json"), py::arg("name"), py::arg("tokens"), py::doc(doc_of("_compile_template")));
  module.def(
      "_bind_template",
      [](const std::shared_ptr<Format>& format, const Tokens& tokens) {
        return std::const_pointer_cast<Format>(make_format(
            format->response_template(), format->program().name, marker_tokens(tokens)));
      },
      py::arg("format"), py::arg("tokens"), py::doc(doc_of("_bind_template")));
  module.def(
      "_is_template", [](const Format& format) { return format.response_template() != nullptr; },
      py::arg("format"), py::doc(doc_of("_is_template")));
  module.def("_find_pattern", &find_pattern, py::arg("pattern"), py::arg("pieces"),
             py::doc(doc_of("_find_pattern")));
}

}  // namespace unspool::bindings
