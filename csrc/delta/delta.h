// One event of an answer. It owns its text, so that it can cross threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parser/event.h"
#include "text/archive.h"
#include "vocabulary/token_id.h"

namespace unspool {

struct Delta {
  EventKind kind = EventKind::content;
  std::int32_t index = -1;                          // the call's index in the message, or -1
  CallStatus status = CallStatus::complete;         // of tool_call_end
  FinishReason finish_reason = FinishReason::stop;  // of finish
  std::int32_t choice = 0;                          // which of the request's answers it belongs to
  std::string text;    // content, reasoning, an arguments fragment, or raw malformed text
  std::string id;      // of tool_call_begin
  std::string name;    // of tool_call_begin
  std::string reason;  // of malformed: the problem
  TokenSpan span;      // positions of its token ids
  std::vector<TokenId> token_ids;
  // Of a custom tool's call, with its text decoded. Only a WireWriter sets it.
  bool is_custom = false;

  void visit(Archive& archive) {
    archive.choice(kind, EventKind::call_text);
    archive.choice(status, CallStatus::malformed);
    archive.choice(finish_reason, FinishReason::cancelled);
    archive(index, choice, text, id, name, reason, span, token_ids);
    archive.scratch(is_custom);
  }
};

/// The fields that most deltas need: a fragment of content, reasoning or arguments.
struct TextFragment {
  EventKind kind;
  std::int32_t index;
  std::int32_t choice;
  std::string_view text;
  std::uint64_t token_begin;
  std::uint64_t token_end;
  /// The text as the inside of a JSON string on one line, with room after it as
  /// `Vocabulary::kTextRoom`; empty if that is not at hand.
  std::string_view line = {};
};

/// Sets these fields of a delta that has had no others.
inline void fill(Delta& delta, const TextFragment& fragment, std::span<const TokenId> ids = {}) {
  delta.kind = fragment.kind;
  delta.index = fragment.index;
  delta.choice = fragment.choice;
  delta.text = fragment.text;
  delta.span = {fragment.token_begin, fragment.token_end};
  delta.token_ids.assign(ids.begin(), ids.end());
}

}  // namespace unspool
