// Calls on their way into events: every parser writes them through this, so that each call has its
// number, its id, and arguments that the guard has seen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/schema.h"
#include "parser/arguments_guard.h"
#include "parser/call_ids.h"
#include "parser/events.h"
#include "text/held.h"

namespace unspool {

/// Which finish reason the calls of an answer give it.
class CallTally {
 public:
  void put(CallStatus status) {
    has_complete_ |= status == CallStatus::complete;
    has_incomplete_ |= status == CallStatus::incomplete;
  }
  /// An answer that ended itself ends in `tool_calls` if it has a complete call and none cut off.
  FinishReason reason(FinishReason ended) const {
    if (!ended_itself(ended)) return ended;
    return has_complete_ && !has_incomplete_ ? FinishReason::tool_calls : FinishReason::stop;
  }

 private:
  bool has_complete_ = false;
  bool has_incomplete_ = false;
};

class CallWriter {
 public:
  CallWriter(CallIds ids, const ParserLimits& limits, bool repairs)
      : ids_(ids), guard_(limits, repairs), max_calls_(limits.max_calls) {}

  /// What a parser goes back to if what it wrote is no call after all.
  struct Place {
    std::int32_t index = -1;  // of the last call; -1: there is none
    CallTally tally = {};
  };
  const Place& place() const { return place_; }
  void go_back(const Place& place) {
    place_ = place;
    is_open_ = false;
  }

  /// A call has begun and not ended.
  bool is_open() const { return is_open_; }
  std::int32_t index() const { return place_.index; }
  /// The call that events at hand belong to; -1: none.
  std::int32_t open_index() const { return is_open_ ? place_.index : -1; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(place_.index + 1); }
  bool is_full() const { return count() >= max_calls_; }

  /// Announces a call. Without an id it gets one; `schema` is its tool's, or null.
  void begin(std::string_view name, std::string_view id, const ToolSchema* schema,
             std::uint64_t token_end, Events& out);

  /// Writes a fragment of the arguments; what the guard rejects is malformed.
  void put(std::string_view fragment, std::uint64_t token_end, Events& out) {
    guard_.write(fragment, place_.index, token_end, out);
  }

  /// Ends the call: complete if its arguments are whole. `repairs`: what its reader mended.
  void end(std::uint16_t repairs, std::uint64_t token_end, Events& out);

  /// Ends the call. Whatever the status, it is malformed if its arguments are.
  void end(CallStatus status, std::uint16_t repairs, std::uint64_t token_end, Events& out);

  FinishReason reason(FinishReason ended) const { return place_.tally.reason(ended); }

  /// Appends the arguments that the guard holds.
  void add_held(Held& out) const { guard_.add_held(out); }

 private:
  CallIds ids_;
  ArgumentsGuard guard_;
  std::size_t max_calls_;
  Place place_;
  bool is_open_ = false;
  std::string id_;  // reused
};

}  // namespace unspool
