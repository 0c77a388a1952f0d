// An example with the stop string `END`:
//
//   content    "The E"      "The " is emitted, "E" is held
//   content    "ND. More"   matched: the answer ends after "The "
//   call       …            not sent: it follows the stop string
//
// The parser is not told. What it has read of the same put is dropped, and only the finish passes.
// Calls that were sent before the match decide the finish reason.
#include "filter/content_stop.h"

#include <algorithm>
#include <utility>

namespace unspool {

void ContentStop::pass(Events& out, bool ends) {
  for (const Event& event : in_.list()) {
    const bool is_content = event.kind == EventKind::content;
    // Text of one put after the match is still in the list.
    if (!stops_.is_stopped()) {
      if (is_content) {
        stops_.put(in_.text(event), sure_);
      } else {
        stops_.flush(sure_);  // a stop string cannot span another event
      }
      emit(event.span.end, out);
    }
    if (event.kind == EventKind::tool_call_end && !stops_.is_stopped()) {
      tally_.put(event.status);
    }
    if (event.kind == EventKind::finish) {
      out.add_finish(reason_of(event.finish_reason), event.span.end);
    } else if (!is_content && !stops_.is_stopped()) {
      // After the held content, which `flush` has released: events keep their order.
      out.add(event, in_);
    }
  }
  if (audits_) pass_audit(out, ends);
  in_.clear();
}

// Calls after the stop string do not count, whether they are whole or cut off.
FinishReason ContentStop::reason_of(FinishReason reason) const {
  return stops_.is_stopped() ? tally_.reason(reason) : reason;
}

void ContentStop::emit(std::uint64_t token_end, Events& out) {
  if (sure_.empty()) return;
  out.add_text(EventKind::content, -1, sure_, token_end);
  if (audits_) {
    const std::size_t left_out = std::min(left_out_, sure_.size());
    left_out_ -= left_out;
    content_bytes_ += sure_.size() - left_out;
  }
  sure_.clear();
}

// The audit reports content once it is emitted, and later text after that. It may come later than
// its events, also than the stop string: white space that a filter holds is before it in the
// output.
void ContentStop::pass_audit(Events& out, bool ends) {
  if (!audit_has_ended_) audit_.insert(audit_.end(), in_.audit().begin(), in_.audit().end());
  while (!audit_.empty()) {
    Events::Audited& next = audit_.front();
    const bool is_content = next.fate == Fate::content || next.in_content;
    // Emitted content ends with an included stop string; one that is left out comes next. Text
    // after it is no part of the answer, so it has no fate.
    if (stops_.is_stopped() && content_bytes_ == 0 &&
        (is_content || stops_.includes_stop() || left_out_ > 0)) {
      audit_has_ended_ = true;
      break;
    }
    if (!is_content) {
      out.add_audit(next, next.text);
      audit_.pop_front();
      continue;
    }
    // A piece of the audit may be longer than what has been emitted of it.
    const std::size_t size = std::min(content_bytes_, next.text.size());
    out.add_audit(next, std::string_view(next.text).substr(0, size));
    content_bytes_ -= size;
    next.text.erase(0, size);
    if (!next.text.empty() && !stops_.is_stopped()) break;
    if (next.text.empty()) audit_.pop_front();
  }
  if (ends || audit_has_ended_) audit_.clear();
}

}  // namespace unspool
