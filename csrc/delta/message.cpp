#include "delta/message.h"

namespace unspool {

void MessageBuilder::add(Events& events) {
  events.for_each_new([&](const Event& event, std::string_view text) {
    add(event, keeps_text_ ? text : std::string_view{}, events);
  });
}

void MessageBuilder::add(const Event& event, std::string_view text, const Events& events) {
  const bool goes_on = malformed_is_open_ && event.kind == EventKind::malformed;
  const bool was_dropped = dropped_is_open_ && event.kind == EventKind::dropped;
  malformed_is_open_ = event.kind == EventKind::malformed;
  dropped_is_open_ = event.kind == EventKind::dropped;
  switch (event.kind) {
    case EventKind::content: message_.content += text; break;
    case EventKind::reasoning: message_.reasoning += text; break;
    case EventKind::tool_call_begin:
      message_.tool_calls.push_back({std::string(events.id(event)),
                                     std::string(events.name(event)),
                                     {},
                                     CallStatus::incomplete,
                                     0});
      break;
    case EventKind::tool_call_arguments: message_.tool_calls.back().arguments += text; break;
    case EventKind::tool_call_end:
      message_.tool_calls.back().status = event.status;
      message_.tool_calls.back().repairs = event.repairs;
      break;
    case EventKind::malformed:
      if (event.index < 0) message_.content += text;  // nothing is lost
      if (goes_on && message_.malformed.back().index == event.index &&
          message_.malformed.back().reason == event.reason) {
        message_.malformed.back().text += text;
      } else {
        message_.malformed.push_back({event.index, std::string(text), event.reason});
      }
      break;
    case EventKind::dropped:
      if (was_dropped) {
        message_.dropped.back().text += text;
      } else {
        message_.dropped.push_back({-1, std::string(text), event.reason});
      }
      break;
    case EventKind::call_text: break;
    case EventKind::finish:
      message_.finish_reason = event.finish_reason;
      message_.is_finished = true;
      break;
  }
}

}  // namespace unspool
