// Formats that between them use every body and option, for native tests.
#pragma once

#include <vector>

#include "format/format.h"

namespace unspool::test {

inline MarkerTexts marker(std::vector<std::string> texts, std::string before = "",
                          std::string after = "") {
  return {std::move(texts), std::move(before), std::move(after)};
}

/// Reasoning, JSON calls in tags, and tagged parameters.
inline Program tagged() {
  Program program;
  program.name = "tagged";
  program.ends = {"<|im_end|>"};
  program.reasoning =
      ReasoningRegion{marker({"<think>"}, "", "\n"), marker({"</think>"}, "\n", "\n\n"), "",
                      CallsInReasoning::keep};
  CallRegion call;
  call.open = marker({"<tool_call>"}, "\n");
  call.close = marker({"</tool_call>"});
  call.separators = ",";
  program.calls.push_back(call);
  CallRegion parameters;
  parameters.open = marker({"<function="});
  parameters.close = marker({"</function>"});
  parameters.name.close = marker({">"});
  ParametersSlot& parameters_slot = parameters.body.emplace<ParametersSlot>();
  parameters_slot.open = marker({"<parameter="});
  parameters_slot.key_close = marker({">"});
  parameters_slot.close = marker({"</parameter>"});
  program.calls.push_back(parameters);
  return program;
}

/// Bare and fenced calls, names outside JSON arguments, a section around calls.
inline Program bare() {
  Program program;
  program.name = "bare";
  program.section.open = marker({"<calls>"}, "\n");
  program.section.close = marker({"</calls>"});
  CallRegion fenced;
  fenced.start.place = BarePlace::line;
  fenced.start.fenced = true;
  fenced.start.letters = "{[";
  fenced.close = marker({"```"}, "\n");
  fenced.separators = ",;";
  fenced.start.known_tools = KnownTools::if_given;
  program.calls.push_back(fenced);
  CallRegion named;
  named.open = marker({"[TOOL_CALLS]"});
  named.name.close = marker({"[ARGS]"});
  named.name.stops = "{";
  named.body = ArgumentsSlot{};
  program.calls.push_back(named);
  CallRegion trimmed;
  trimmed.open = marker({"<invoke name=\""});
  trimmed.close = marker({"</invoke>"});
  trimmed.name.close = marker({"\">"});
  ParametersSlot& trimmed_slot = trimmed.body.emplace<ParametersSlot>();
  trimmed_slot.open = marker({"<parameter name=\""});
  trimmed_slot.key_close = marker({"\">"});
  trimmed_slot.close = marker({"</parameter>"});
  trimmed_slot.trim = ValueTrim::space;
  trimmed_slot.guess_types = true;
  program.calls.push_back(trimmed);
  return program;
}

/// Headers that tell what follows, inline markup, names that hold ids, keys that are names.
inline Program headed() {
  Program program;
  program.name = "headed";
  program.turn = {"<|start|>assistant"};
  program.reasoning = ReasoningRegion{marker({"<|channel|>analysis<|message|>"}),
                                      marker({"<|end|>"}), "", CallsInReasoning::keep};
  MarkupRegion header;
  header.open = marker({"<|start|>", "<|channel|>"});
  header.close = marker({"<|message|>"});
  header.recipient = "to=";
  header.header = R"((?:\s|assistant|analysis|<\|start\|>|<\|channel\|>)*(?:to=[^{"]*)?)";
  header.not_tools = {"user"};
  header.reasoning = {"analysis"};
  program.markup.push_back(header);
  MarkupRegion end;
  end.open = marker({"<|end|>"});
  program.markup.push_back(end);
  MarkupRegion citation;
  citation.open = marker({"</co:"});
  citation.close = marker({">"});
  citation.is_inline = true;
  program.markup.push_back(citation);
  CallRegion message;
  message.start.after_header = true;
  message.close = marker({"<|call|>"});
  message.name.prefix = "functions.";
  message.body = ArgumentsSlot{};
  program.calls.push_back(message);
  CallRegion keyed;
  keyed.open = marker({"<|tools|>"});
  keyed.close = marker({"<|/tools|>"});
  keyed.start.letters = "[";
  std::get<ObjectSlot>(keyed.body).name_is_key = true;
  program.calls.push_back(keyed);
  CallRegion numbered;
  numbered.open = marker({"<|begin|>"});
  numbered.close = marker({"<|finish|>"});
  numbered.name.close = marker({"<|args|>"});
  numbered.name.prefix = "functions.";
  numbered.name.is_id = true;
  numbered.name.id_open = "#";
  numbered.body = ArgumentsSlot{};
  program.calls.push_back(numbered);
  return program;
}

/// Python calls, a dialect with quotes of its own, elements within elements, keys and values.
inline Program foreign() {
  Program program;
  program.name = "foreign";
  CallRegion python;
  python.start.place = BarePlace::start;
  python.start.letters = "[";
  python.body = PythonSlot{};
  program.calls.push_back(python);
  CallRegion lines;
  lines.open = marker({"<py>"}, "\n");
  lines.close = marker({"</py>"});
  lines.separators = ",;";
  lines.body = PythonSlot{};
  program.calls.push_back(lines);
  CallRegion json;
  json.open = marker({"<py>"}, "\n");
  json.close = marker({"</py>"});
  json.start.letters = "[";
  json.start.second = "{";
  program.calls.push_back(json);
  CallRegion braces;
  braces.open = marker({"<brace>call:"});
  braces.next = marker({"call:"});
  braces.close = marker({"</brace>"});
  braces.name.stops = "{";
  braces.body = LiteralSlot{marker({"<q>"})};
  program.calls.push_back(braces);
  CallRegion elements;
  elements.open = marker({"]<invoke name="});
  elements.close = marker({"]</invoke>"});
  elements.name.close = marker({">"});
  elements.body = ElementsSlot{marker({"]<"})};
  program.calls.push_back(elements);
  CallRegion pairs;
  pairs.open = marker({"<pairs>"});
  pairs.close = marker({"</pairs>"});
  pairs.name.close = marker({"\n", "<key>"});
  ParametersSlot& pairs_slot = pairs.body.emplace<ParametersSlot>();
  pairs_slot.open = marker({"<key>"});
  pairs_slot.key_end = {"</key>"};
  pairs_slot.key_close = marker({"<value>"});
  pairs_slot.close = marker({"]]></value>", "</value>"});
  pairs_slot.value_open = "<![CDATA[";
  pairs_slot.types = {{"<t>s<", TypeSet(TypeSet::string)},
                      {"<t>j<", TypeSet(TypeSet::any().bits() & ~TypeSet::string)}};
  pairs_slot.trim = ValueTrim::none;
  pairs_slot.entities = true;
  pairs_slot.python_values = true;
  pairs_slot.json_body = true;
  program.calls.push_back(pairs);
  CallRegion word;
  word.open = marker({"functools"});
  word.start.letters = "[";
  word.start.second = "{";
  word.start.may_be_text = true;
  program.calls.push_back(word);
  return program;
}

}  // namespace unspool::test
