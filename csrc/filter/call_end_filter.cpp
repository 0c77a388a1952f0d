#include "filter/call_end_filter.h"

namespace unspool {

void CallEndFilter::pass(const Events& in, std::uint64_t, Events& out) {
  for (const Event& event : in.list()) pass_event(event, in, out);
  for (const Events::Audited& piece : in.audit()) out.add_audit(piece, piece.text);
}

void CallEndFilter::pass_event(const Event& event, const Events& in, Events& out) {
  // The text of the repetition belongs to the call, and may come before its second end.
  if (event.kind == EventKind::call_text) return out.add(event, in);
  // So does a bracket that follows the call.
  const bool is_calls = end_ && event.index == end_->index;
  if (is_calls && event.kind == EventKind::malformed) return out.add(event, in);
  if (event.kind != EventKind::tool_call_end) {
    release(out);
    return out.add(event, in);
  }
  if (is_calls) {
    end_->repairs |= event.repairs;
    return;
  }
  release(out);
  end_ = event;
}

void CallEndFilter::release(Events& out) {
  if (!end_) return;
  out.add_end(end_->index, end_->status, end_->span.end, end_->repairs);
  end_.reset();
}

}  // namespace unspool
