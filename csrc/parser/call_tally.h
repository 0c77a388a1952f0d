// Decides the finish reason from an answer's calls.
#pragma once

#include "parser/event.h"
#include "text/archive.h"

namespace unspool {

class CallTally {
 public:
  void put(CallStatus status) {
    has_complete_ |= status == CallStatus::complete;
    has_incomplete_ |= status == CallStatus::incomplete;
  }

  /// `tool_calls` if the model ended the answer, a call is complete, and none is cut off.
  FinishReason reason(FinishReason ended) const {
    if (!ended_itself(ended)) return ended;
    // `tool_calls` makes clients run the calls, so one that is cut off must prevent it. A malformed
    // one does not: it is reported, and the complete ones were meant.
    return has_complete_ && !has_incomplete_ ? FinishReason::tool_calls : FinishReason::stop;
  }

  void visit(Archive& archive) { archive(has_complete_, has_incomplete_); }

 private:
  bool has_complete_ = false;
  bool has_incomplete_ = false;
};

}  // namespace unspool
