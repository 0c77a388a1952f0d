// One event in the shape that travels: owns its text, so that it can cross threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parser/event.h"
#include "text/archive.h"
#include "vocabulary/token_id.h"

namespace unspool {

struct Delta {
  EventKind kind = EventKind::content;
  std::int32_t index = -1;  // the call's number in the message; -1 where no call is meant
  CallStatus status = CallStatus::complete;         // of tool_call_end
  FinishReason finish_reason = FinishReason::stop;  // of finish
  std::int32_t choice = 0;                          // which of the request's answers it belongs to
  std::string text;    // content, reasoning, an arguments fragment, raw text of malformed
  std::string id;      // of tool_call_begin
  std::string name;    // of tool_call_begin
  std::string reason;  // of malformed: what was wrong
  TokenSpan span;      // positions of the token ids that it came from
  std::vector<TokenId> token_ids;

  void visit(Archive& archive) {
    archive.choice(kind, EventKind::call_text);
    archive.choice(status, CallStatus::malformed);
    archive.choice(finish_reason, FinishReason::cancelled);
    archive(index, choice, text, id, name, reason, span, token_ids);
  }
};

/// All that most deltas have: a fragment of content, reasoning or arguments.
struct TextFragment {
  EventKind kind;
  std::int32_t index;
  std::int32_t choice;
  std::string_view text;
  std::uint64_t token_end;
};

}  // namespace unspool
