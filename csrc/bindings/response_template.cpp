// Response templates: a checked description in, a Format out; and the patterns they are made of.
#include <pybind11/stl.h>

#include "bindings/python_types.h"
#include "text/regex.h"

namespace unspool::bindings {

namespace {

// The first match of a pattern in a text that comes in pieces: (begin, end, groups), in bytes.
py::object find_pattern(const std::string& pattern, const std::vector<std::string>& pieces) {
  const auto regex = Regex::compile(pattern);
  std::string text;
  RegexSearch search(regex, 0, 0, false);
  for (const std::string& piece : pieces) {
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

}  // namespace

void register_response_template(py::module_& module) {
  module.def("_find_pattern", &find_pattern, py::arg("pattern"), py::arg("pieces"));
}

}  // namespace unspool::bindings
