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
  spec.reasoning = ReasoningSpec{marker({"<think>"}, "", "\n"), marker({"</think>"}, "\n", "\n\n"),
                                 "", CallsInReasoning::keep};
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

/// Headers that tell what follows, inline markup, names that hold ids, keys that are names.
inline FormatSpec headed() {
  FormatSpec spec;
  spec.name = "headed";
  spec.turn = {"<|start|>assistant"};
  spec.reasoning = ReasoningSpec{marker({"<|channel|>analysis<|message|>"}), marker({"<|end|>"}),
                                 "", CallsInReasoning::keep};
  MarkupSpec header;
  header.open = marker({"<|start|>", "<|channel|>"});
  header.close = marker({"<|message|>"});
  header.recipient = "to=";
  header.header = R"((?:\s|assistant|analysis|<\|start\|>|<\|channel\|>)*(?:to=[^{"]*)?)";
  header.not_tools = {"user"};
  header.reasoning = {"analysis"};
  spec.markup.push_back(header);
  MarkupSpec end;
  end.open = marker({"<|end|>"});
  spec.markup.push_back(end);
  MarkupSpec citation;
  citation.open = marker({"</co:"});
  citation.close = marker({">"});
  citation.is_inline = true;
  spec.markup.push_back(citation);
  CallSpec message;
  message.by_recipient = true;
  message.close = marker({"<|call|>"});
  message.name_prefix = "functions.";
  message.body = BodyKind::json_arguments;
  spec.calls.push_back(message);
  CallSpec keyed;
  keyed.open = marker({"<|tools|>"});
  keyed.close = marker({"<|/tools|>"});
  keyed.starts = "[";
  keyed.json_call.name_is_key = true;
  spec.calls.push_back(keyed);
  CallSpec numbered;
  numbered.open = marker({"<|begin|>"});
  numbered.close = marker({"<|finish|>"});
  numbered.name_close = marker({"<|args|>"});
  numbered.name_prefix = "functions.";
  numbered.name_is_id = true;
  numbered.id_open = "#";
  numbered.body = BodyKind::json_arguments;
  spec.calls.push_back(numbered);
  return spec;
}

/// Python calls, a dialect with quotes of its own, elements within elements, keys and values.
inline FormatSpec foreign() {
  FormatSpec spec;
  spec.name = "foreign";
  CallSpec python;
  python.bare = BarePlace::start;
  python.starts = "[";
  python.body = BodyKind::pythonic;
  spec.calls.push_back(python);
  CallSpec lines;
  lines.open = marker({"<py>"}, "\n");
  lines.close = marker({"</py>"});
  lines.separators = ",;";
  lines.body = BodyKind::pythonic;
  spec.calls.push_back(lines);
  CallSpec json;
  json.open = marker({"<py>"}, "\n");
  json.close = marker({"</py>"});
  json.starts = "[";
  json.second = "{";
  spec.calls.push_back(json);
  CallSpec braces;
  braces.open = marker({"<brace>call:"});
  braces.next = marker({"call:"});
  braces.close = marker({"</brace>"});
  braces.name_stops = "{";
  braces.body = BodyKind::literal_arguments;
  braces.quotes = marker({"<q>"});
  spec.calls.push_back(braces);
  CallSpec elements;
  elements.open = marker({"]<invoke name="});
  elements.close = marker({"]</invoke>"});
  elements.name_close = marker({">"});
  elements.body = BodyKind::xml_elements;
  elements.xml_elements.open = marker({"]<"});
  spec.calls.push_back(elements);
  CallSpec pairs;
  pairs.open = marker({"<pairs>"});
  pairs.close = marker({"</pairs>"});
  pairs.name_close = marker({"\n", "<key>"});
  pairs.body = BodyKind::xml_parameters;
  pairs.xml_parameters.open = marker({"<key>"});
  pairs.xml_parameters.name_end = {"</key>"};
  pairs.xml_parameters.name_close = marker({"<value>"});
  pairs.xml_parameters.close = marker({"]]></value>", "</value>"});
  pairs.xml_parameters.value_open = "<![CDATA[";
  pairs.xml_parameters.types = {{"<t>s<", TypeSet(TypeSet::string)},
                                {"<t>j<", TypeSet(TypeSet::any().bits() & ~TypeSet::string)}};
  pairs.xml_parameters.trim = ValueTrim::none;
  pairs.xml_parameters.entities = true;
  pairs.xml_parameters.python_values = true;
  pairs.xml_parameters.json_body = true;
  spec.calls.push_back(pairs);
  CallSpec word;
  word.open = marker({"functools"});
  word.starts = "[";
  word.second = "{";
  word.may_be_text = true;
  spec.calls.push_back(word);
  return spec;
}

}  // namespace unspool::test
