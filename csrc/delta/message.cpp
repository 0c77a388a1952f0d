// The message grows by appending only. That makes a mark cheap (a few sizes), and it is why an
// answer can be taken back to an earlier place without a copy of it.
#include "delta/message.h"

#include <memory>
#include <utility>

#include "text/error.h"

namespace unspool {

void MessageBuilder::add(Events& events) {
  events.for_each_new([&](const Event& event, std::string_view text) {
    if (keeps_text_) {
      add(event, text, events);
    } else if (event.kind == EventKind::content || event.kind == EventKind::reasoning ||
               event.kind == EventKind::tool_call_arguments) {
      // The kind is needed even so: whether a following malformed text continues an earlier one.
      last_ = event.kind;  // nothing else of it is kept
    } else {
      add(event, {}, events);
    }
  });
}

MessageBuilder::Mark MessageBuilder::mark() const {
  Mark mark{message_.content.size(), message_.reasoning.size(), message_.tool_calls.size(),
            message_.malformed.size(), message_.dropped.size()};
  if (mark.calls > 0) {
    // Only the last entry of each list can still grow, so one size per list is enough.
    const ToolCall& call = message_.tool_calls.back();
    mark.arguments = call.arguments.size();
    mark.status = call.status;
    mark.repairs = call.repairs;
  }
  if (mark.malformed > 0) mark.malformed_text = message_.malformed.back().text.size();
  if (mark.dropped > 0) mark.dropped_text = message_.dropped.back().text.size();
  mark.last = last_;
  return mark;
}

void MessageBuilder::go_back(const Mark& mark) {
  message_.content.resize(mark.content);
  message_.reasoning.resize(mark.reasoning);
  message_.tool_calls.resize(mark.calls);
  message_.malformed.resize(mark.malformed);
  message_.dropped.resize(mark.dropped);
  if (mark.calls > 0) {
    ToolCall& call = message_.tool_calls.back();
    call.arguments.resize(mark.arguments);
    call.status = mark.status;
    call.repairs = mark.repairs;
  }
  if (mark.malformed > 0) message_.malformed.back().text.resize(mark.malformed_text);
  if (mark.dropped > 0) message_.dropped.back().text.resize(mark.dropped_text);
  last_ = mark.last;
}

void MessageBuilder::add(const Event& event, std::string_view text, const Events& events) {
  const EventKind before = std::exchange(last_, event.kind);
  switch (event.kind) {
    case EventKind::content:
    case EventKind::reasoning:
    case EventKind::tool_call_arguments: text_of(event.kind) += text; break;
    case EventKind::tool_call_begin:
      message_.tool_calls.push_back({std::string(events.id(event)),
                                     std::string(events.name(event)),
                                     {},
                                     CallStatus::incomplete,
                                     0,
                                     {}});
      if (!text.empty())
        message_.tool_calls.back().written_as = std::make_unique<std::string>(text);
      break;
    case EventKind::tool_call_end:
      last_call().status = event.status;
      last_call().repairs = event.repairs;
      break;
    case EventKind::malformed: add_malformed(event, text, before == event.kind); break;
    case EventKind::dropped:
      // A dropped text may arrive in several events; consecutive ones are one call.
      if (before != event.kind) message_.dropped.push_back({-1, {}, event.reason});
      message_.dropped.back().text += text;
      break;
    case EventKind::call_text: break;
    case EventKind::finish:
      message_.finish_reason = event.finish_reason;
      message_.is_finished = true;
      break;
  }
}

// A stream restored from forged bytes may have none.
ToolCall& MessageBuilder::last_call() {
  if (message_.tool_calls.empty())
    throw StreamError("this stream was restored from a false snapshot");
  return message_.tool_calls.back();
}

void MessageBuilder::add_malformed(const Event& event, std::string_view text, bool goes_on) {
  // Nothing is lost.
  if (event.index < 0 && std::string_view(event.reason) != kStray) message_.content += text;
  // Fragments of one problem are one entry, however the output was split (promise 1).
  const bool is_same = goes_on && message_.malformed.back().index == event.index &&
                       message_.malformed.back().reason == event.reason;
  if (!is_same) message_.malformed.push_back({event.index, {}, event.reason});
  message_.malformed.back().text += text;
}

}  // namespace unspool
