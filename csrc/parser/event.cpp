#include "parser/event.h"

namespace unspool {

std::string_view to_string(EventKind kind) {
  switch (kind) {
    case EventKind::content: return "content";
    case EventKind::reasoning: return "reasoning";
    case EventKind::tool_call_begin: return "tool_call_begin";
    case EventKind::tool_call_arguments: return "tool_call_arguments";
    case EventKind::tool_call_end: return "tool_call_end";
    case EventKind::malformed: return "malformed";
    case EventKind::dropped: return "dropped";
    case EventKind::finish: return "finish";
    case EventKind::call_text: return "call_text";
  }
  return "";
}

std::string_view to_string(CallStatus status) {
  switch (status) {
    case CallStatus::complete: return "complete";
    case CallStatus::incomplete: return "incomplete";
    case CallStatus::malformed: return "malformed";
  }
  return "";
}

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop: return "stop";
    case FinishReason::length: return "length";
    case FinishReason::tool_calls: return "tool_calls";
    case FinishReason::error: return "error";
    case FinishReason::cancelled: return "cancelled";
  }
  return "";
}

}  // namespace unspool
