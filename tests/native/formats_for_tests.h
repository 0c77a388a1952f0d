// Formats that between them use every body and option, for native tests.
#pragma once

#include <vector>

#include "format/format.h"

namespace unspool::test {

inline MarkerSpec marker(std::vector<std::string> texts, std::string before = "",
                         std::string after = "") {
  return {std::move(texts), std::move(before), std::move(after)};
}

/// Reasoning, JSON calls in tags, and tagged parameters.
inline FormatSpec tagged() {
  FormatSpec spec;
  spec.name = "tagged";
  spec.ignore = {"<|im_end|>"};
  spec.reasoning = ReasoningSpec{
      marker({"<think>"}, "", "\n"), marker({"</think>"}, "\n", "\n\n"), false, false, {}};
  CallSpec call;
  call.open = marker({"<tool_call>"}, "\n");
  call.close = marker({"</tool_call>"});
  call.separators = ",";
  spec.calls.push_back(call);
  CallSpec parameters;
  parameters.open = marker({"<function="});
  parameters.close = marker({"</function>"});
  parameters.name_close = marker({">"});
  parameters.body = BodyKind::xml_parameters;
  parameters.xml_parameters.open = marker({"<parameter="});
  parameters.xml_parameters.name_close = marker({">"});
  parameters.xml_parameters.close = marker({"</parameter>"});
  spec.calls.push_back(parameters);
  return spec;
}

/// Bare and fenced calls, names outside JSON arguments, a section around calls.
inline FormatSpec bare() {
  FormatSpec spec;
  spec.name = "bare";
  spec.section_open = marker({"<calls>"}, "\n");
  spec.section_close = marker({"</calls>"});
  CallSpec fenced;
  fenced.bare = BarePlace::line;
  fenced.fenced = true;
  fenced.starts = "{[";
  fenced.close = marker({"```"}, "\n");
  fenced.separators = ",;";
  fenced.known_tools = KnownTools::if_given;
  spec.calls.push_back(fenced);
  CallSpec named;
  named.open = marker({"[TOOL_CALLS]"});
  named.name_close = marker({"[ARGS]"});
  named.name_stops = "{";
  named.body = BodyKind::json_arguments;
  spec.calls.push_back(named);
  CallSpec trimmed;
  trimmed.open = marker({"<invoke name=\""});
  trimmed.close = marker({"</invoke>"});
  trimmed.name_close = marker({"\">"});
  trimmed.body = BodyKind::xml_parameters;
  trimmed.xml_parameters.open = marker({"<parameter name=\""});
  trimmed.xml_parameters.name_close = marker({"\">"});
  trimmed.xml_parameters.close = marker({"</parameter>"});
  trimmed.xml_parameters.trim = ValueTrim::space;
  trimmed.xml_parameters.guess_types = true;
  spec.calls.push_back(trimmed);
  return spec;
}

}  // namespace unspool::test
