// Responses and Messages send an answer as a list of blocks, chat as three fields. The deltas are
// the same, so the borders of the blocks follow from them:
//
//   reasoning "Hm"  content "Hi"  tool_call_begin  arguments  tool_call_end  finish
//   [reasoning    ] [text       ] [call                                   ]
#include "delta/parts.h"

#include <algorithm>

#include "delta/chat_writer.h"
#include "text/error.h"

namespace unspool {

namespace {

bool is_text(const Delta& delta) {
  return is_wire_content(delta) || delta.kind == EventKind::reasoning;
}

PartKind kind_of(const Delta& delta) {
  if (is_wire_content(delta)) return PartKind::text;
  return delta.kind == EventKind::reasoning ? PartKind::reasoning : PartKind::call;
}

}  // namespace

bool is_cut(FinishReason reason) { return !ended_itself(reason); }

bool Parts::closes(const Delta& delta) const {
  if (!has_open()) return false;
  switch (delta.kind) {
    case EventKind::tool_call_begin:
    case EventKind::tool_call_end:
    case EventKind::dropped:
    case EventKind::finish: return true;
    case EventKind::tool_call_arguments: return false;
    // Text closes a call or a text of the other kind. Reports about a call (malformed, with an
    // index) are no text and close nothing.
    default: return is_text(delta) && !delta.text.empty() && kind_of(delta) != list_.back().kind;
  }
}

void Parts::close(const Delta& delta) {
  Part& part = list_.back();
  part.is_open = false;
  // A call's status comes with its end. If the call is closed by anything else, it stays
  // incomplete.
  if (delta.kind == EventKind::tool_call_end) {
    part.status = delta.status;
  } else if (part.kind != PartKind::call) {
    part.status = delta.kind == EventKind::finish && is_cut(delta.finish_reason)
                      ? CallStatus::incomplete
                      : CallStatus::complete;
  }
}

bool Parts::opens(const Delta& delta) const {
  if (delta.kind == EventKind::tool_call_begin) return true;
  // An empty text would open a part that stays without content.
  return is_text(delta) && !delta.text.empty() && !has_open();
}

Part& Parts::open(const Delta& delta) {
  Part& part = list_.emplace_back();
  part.kind = kind_of(delta);
  if (part.kind == PartKind::call) {
    part.id = delta.id;
    part.name = delta.name;
    part.is_custom = delta.is_custom;
  }
  return part;
}

std::string_view Parts::text_of(const Delta& delta) {
  return is_text(delta) || delta.kind == EventKind::tool_call_arguments ? delta.text
                                                                        : std::string_view{};
}

// A writer restored from forged bytes may have none.
Part& Parts::last() {
  if (list_.empty()) throw StreamError("this writer was restored from a false snapshot");
  return list_.back();
}

void Parts::add(std::string_view text) {
  if (keeps_text_) last().text += text;
}

void Parts::put(const Delta& delta) {
  if (closes(delta)) close(delta);
  if (opens(delta)) open(delta);
  const std::string_view text = text_of(delta);
  if (!text.empty()) add(text);
}

void Parts::take_logprobs(const Delta& delta, LogprobQueue& queue) {
  if (!queue.is_used()) return;
  const bool is_shown = !text_of(delta).empty() && has_open() && last().kind == PartKind::text;
  // Tokens of markup and of other regions have no place in the parts of this protocol.
  queue.drop(is_shown ? delta.span.begin : delta.span.end);
  if (is_shown) queue.take(delta.span.end, last().logprobs);
}

bool has_part(const std::vector<Part>& parts, PartKind kind) {
  return std::any_of(parts.begin(), parts.end(),
                     [kind](const Part& part) { return part.kind == kind; });
}

}  // namespace unspool
