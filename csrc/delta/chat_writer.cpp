#include "delta/chat_writer.h"

#include "parser/events.h"
#include "text/json_escape.h"

namespace unspool {

namespace {

void append_text_field(std::string_view name, std::string_view text, std::string& out) {
  out.append("{\"").append(name).append("\":");
  append_json_line_string(text, out);
  out += '}';
}

void append_call_head(const Delta& delta, std::string& out) {
  out.append("{\"tool_calls\":[{\"index\":").append(std::to_string(delta.index));
}

}  // namespace

bool is_wire_content(const Delta& delta) {
  // Nothing is lost: text of a call that was never announced is all that the client sees of it.
  return delta.kind == EventKind::content ||
         (delta.kind == EventKind::malformed && delta.index < 0 && delta.reason != kStray);
}

std::string_view to_string(ReasoningField field) {
  return field == ReasoningField::reasoning ? "reasoning" : "reasoning_content";
}

void append_chat_delta(const Delta& delta, ReasoningField field, std::string& out) {
  if (is_wire_content(delta)) return append_text_field("content", delta.text, out);
  switch (delta.kind) {
    case EventKind::reasoning: append_text_field(to_string(field), delta.text, out); return;
    case EventKind::tool_call_begin:
      append_call_head(delta, out);
      out += ",\"id\":";
      append_json_line_string(delta.id, out);
      out += ",\"type\":\"function\",\"function\":{\"name\":";
      append_json_line_string(delta.name, out);
      // Empty and not absent: clients append the fragments that follow to this text.
      out += ",\"arguments\":\"\"}}]}";
      return;
    case EventKind::tool_call_arguments:
      append_call_head(delta, out);
      out += ",\"function\":{\"arguments\":";
      append_json_line_string(delta.text, out);
      out += "}}]}";
      return;
    // The end of a call and reports: the protocol has no words for them.
    default: out += "{}"; return;
  }
}

namespace {

void append_joined(const std::vector<Part>& parts, PartKind kind, std::string& out) {
  out += '"';
  for (const Part& part : parts) {
    // Text before and after a call is one text in this protocol.
    if (part.kind == kind) append_json_line_escaped(part.text, out);
  }
  out += '"';
}

}  // namespace

void append_chat_message(const std::vector<Part>& parts, ReasoningField field, std::string& out) {
  const bool has_calls = has_part(parts, PartKind::call);
  out += "{\"role\":\"assistant\",\"content\":";
  if (has_calls && !has_part(parts, PartKind::text)) {
    out += "null";
  } else {
    append_joined(parts, PartKind::text, out);
  }
  if (has_part(parts, PartKind::reasoning)) {
    out.append(",\"").append(to_string(field)).append("\":");
    append_joined(parts, PartKind::reasoning, out);
  }
  if (has_calls) {
    out += ",\"tool_calls\":";
    char before = '[';
    for (const Part& part : parts) {
      if (part.kind != PartKind::call) continue;
      out += before;
      before = ',';
      out += "{\"id\":";
      append_json_line_string(part.id, out);
      out += part.is_custom ? ",\"type\":\"custom\",\"custom\":{\"name\":"
                            : ",\"type\":\"function\",\"function\":{\"name\":";
      append_json_line_string(part.name, out);
      out += part.is_custom ? ",\"input\":" : ",\"arguments\":";
      append_json_line_string(part.text, out);
      out += "}}";
    }
    out += ']';
  }
  out += '}';
}

}  // namespace unspool
