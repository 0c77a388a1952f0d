#include "delta/whole_calls.h"

#include <string>
#include <utility>

#include "text/error.h"

namespace unspool {

IncompleteCalls parse_incomplete_calls(std::string_view name) {
  if (name == "forward") return IncompleteCalls::forward;
  if (name == "withhold") return IncompleteCalls::withhold;
  throw ArgumentError("incomplete_calls is '" + std::string(name) +
                      "'; use 'forward' or 'withhold'");
}

bool WholeCalls::passes(const Delta& delta) const {
  return held_.empty() && !has_left_out_ &&
         (delta.kind == EventKind::content || delta.kind == EventKind::reasoning);
}

void WholeCalls::put(Delta delta, std::vector<Delta>& out) {
  switch (delta.kind) {
    case EventKind::tool_call_begin:
      leave_out();  // a call without an end
      return hold(std::move(delta));
    case EventKind::tool_call_arguments: return hold(std::move(delta));
    case EventKind::tool_call_end: {
      const bool is_complete = delta.status == CallStatus::complete;
      hold(std::move(delta));
      // Its tokens are kept: the next delta's span covers them, so that no token id is without a
      // delta.
      if (!is_complete) return leave_out();
      for (Delta& part : held_) {
        // Calls that were left out leave no gap in the numbers.
        part.index = sent_;
        send(std::move(part), out);
      }
      held_.clear();
      ++sent_;
      return;
    }
    case EventKind::malformed:
      // A report about the held call shares the call's fate. Other malformed text became no call.
      if (delta.index >= 0) return hold(std::move(delta));
      leave_out();
      hold(std::move(delta));
      return leave_out();
    default: break;
  }
  // The call is open and something else comes: it has no end, and can no longer become complete.
  leave_out();
  send(std::move(delta), out);
}

void WholeCalls::hold(Delta delta) {
  // Joined, because a client of this mode sees the arguments at once in any case.
  const bool goes_on = !held_.empty() && held_.back().kind == EventKind::tool_call_arguments &&
                       delta.kind == EventKind::tool_call_arguments;
  if (!goes_on) return held_.push_back(std::move(delta));
  Delta& last = held_.back();
  last.text += delta.text;
  last.span.end = delta.span.end;
  last.token_ids.insert(last.token_ids.end(), delta.token_ids.begin(), delta.token_ids.end());
}

void WholeCalls::leave_out() {
  for (const Delta& part : held_) {
    if (!has_left_out_) left_out_begin_ = part.span.begin;
    has_left_out_ = true;
    left_out_.insert(left_out_.end(), part.token_ids.begin(), part.token_ids.end());
  }
  held_.clear();
}

void WholeCalls::send(Delta delta, std::vector<Delta>& out) {
  if (has_left_out_) {
    // The spans of the deltas that are sent have no gaps between them.
    delta.span.begin = left_out_begin_;
    delta.token_ids.insert(delta.token_ids.begin(), left_out_.begin(), left_out_.end());
    left_out_.clear();
    has_left_out_ = false;
  }
  out.push_back(std::move(delta));
}

}  // namespace unspool
