#include "delta/chat_writer.h"

#include "text/json_escape.h"

namespace unspool {

namespace {

void append_text_field(std::string_view name, std::string_view text, std::string& out) {
  out.append("{\"").append(name).append("\":");
  append_json_string(text, out);
  out += '}';
}

void append_call_head(const Delta& delta, std::string& out) {
  out.append("{\"tool_calls\":[{\"index\":").append(std::to_string(delta.index));
}

}  // namespace

bool is_wire_content(const Delta& delta) {
  return delta.kind == EventKind::content ||
         (delta.kind == EventKind::malformed && delta.index < 0);
}

void append_chat_delta(const Delta& delta, ReasoningField field, std::string& out) {
  if (is_wire_content(delta)) return append_text_field("content", delta.text, out);
  switch (delta.kind) {
    case EventKind::reasoning:
      append_text_field(field == ReasoningField::reasoning ? "reasoning" : "reasoning_content",
                        delta.text, out);
      return;
    case EventKind::tool_call_begin:
      append_call_head(delta, out);
      out += ",\"id\":";
      append_json_string(delta.id, out);
      out += ",\"type\":\"function\",\"function\":{\"name\":";
      append_json_string(delta.name, out);
      out += ",\"arguments\":\"\"}}]}";
      return;
    case EventKind::tool_call_arguments:
      append_call_head(delta, out);
      out += ",\"function\":{\"arguments\":";
      append_json_string(delta.text, out);
      out += "}}]}";
      return;
    default: out += "{}"; return;
  }
}

}  // namespace unspool
