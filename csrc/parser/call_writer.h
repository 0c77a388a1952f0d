// Writes calls as events. Every parser uses it, so that each call has its index, its id, and
// arguments that were checked by the guard.
//
// One call after the other: begin, put, end. The index counts all calls that began, also those
// beyond `max_calls`; the guard sees every byte of the arguments; the tally remembers how calls
// ended, for the finish reason.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "format/schema.h"
#include "parser/arguments_guard.h"
#include "parser/call_ids.h"
#include "parser/call_tally.h"
#include "parser/event_parser.h"
#include "parser/events.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"
#include "text/held.h"

namespace unspool {

class CallWriter {
 public:
  CallWriter(CallIdStyle style, const ParserOptions& options);

  /// The position in the calls of an answer, for a parser that goes back if its last text is not a
  /// call.
  struct Place {
    std::int32_t index = -1;  // of the last call; -1: none
    CallTally tally = {};

    void visit(Archive& archive) {
      archive(index, tally);
      archive.expect(index >= -1 && index < kMostCalls);
    }
    static constexpr std::int32_t kMostCalls = 1 << 30;
  };
  const Place& place() const { return place_; }
  void go_back(const Place& place) {
    place_ = place;
    // A call that the prompt had closed may have become text.
    closed_ = std::min(closed_, place.index + 1);
    is_open_ = end_waits_ = false;
    guard_.reset();
  }

  /// Whether a call has begun and not ended.
  bool is_open() const { return is_open_; }
  /// Whether the last call is whole, and its end has not been emitted.
  bool end_waits() const { return end_waits_; }
  /// Whether the last call has ended and is complete.
  bool is_complete() const { return !is_open_ && is_complete_; }
  /// The index of the last call that has begun, including calls beyond `max_calls`.
  std::int32_t index() const { return place_.index; }
  /// The index of the last call among those that are emitted; below 0: the prompt has closed it.
  std::int32_t number() const { return place_.index - closed_; }
  /// The prompt is read: which of its calls count is known at its end.
  void begin_turn() { is_in_turn_ = true; }
  /// The prompt has closed the first calls: they are not emitted, nor counted.
  void close_first(std::int32_t count, const CallTally& rest) {
    closed_ = count;
    place_.tally = rest;
    is_in_turn_ = false;
  }
  /// Whether the last call is beyond `max_calls`: only its text is emitted, as malformed.
  bool is_over() const { return number() >= max_calls_ && !is_in_turn_; }
  bool is_full() const { return number() + 1 >= max_calls_; }
  /// How many calls have been announced, up to the call `index`.
  std::uint32_t count_to(std::int32_t index) const {
    const std::int32_t count = index - closed_ + 1;
    return static_cast<std::uint32_t>(std::clamp(count, 0, max_calls_));
  }
  std::uint32_t count() const { return count_to(place_.index); }

  /// Announces a call. A call without an id gets one; `schema` is its tool's, or null.
  void begin(std::string_view name, std::string_view id, const ToolSchema* schema,
             std::uint64_t token_end, Events& out);

  /// Writes a fragment of the arguments; text that the guard rejects is malformed.
  void put(std::string_view fragment, std::uint64_t token_end, Events& out) {
    if (guard_) guard_->write(fragment, number(), token_end, out);
  }

  /// A fragment without a byte of the classes `stops` is written as it is.
  Rest rest(ByteClasses stops) const {
    if (!guard_ || !guard_->is_in_text()) return {};
    return {.stops = stops,
            .room = guard_->room(),
            .index = number(),
            .kind = EventKind::tool_call_arguments};
  }
  void pass_over(std::size_t room) { guard_->pass_over(room); }

  /// The source text of the last call and its closer. Required if `wants_text`.
  void put_text(std::string_view text, std::uint64_t token_end, Events& out);
  bool wants_text() const { return emits_text_ || is_over(); }
  /// The call that audited text belongs to; -1 if labels are off.
  std::int32_t text_index() const { return emits_text_ || (labels_ && !is_over()) ? number() : -1; }

  /// Text of the last call, open or not, that cannot be parsed.
  void put_malformed(std::string_view text, const char* problem, std::uint64_t token_end,
                     Events& out);

  /// Ends the call: complete if its arguments are. `repairs`: those of its reader.
  void end(std::uint16_t repairs, std::uint64_t token_end, Events& out);

  /// Ends the call. It is malformed if its arguments are, whatever the status.
  void end(CallStatus status, std::uint16_t repairs, std::uint64_t token_end, Events& out);

  /// Like `end`, but if the call is complete its end waits for what follows.
  void end_later(std::uint16_t repairs, std::uint64_t token_end, Events& out) {
    if (!guard_ || !guard_->is_whole() || guard_->has_failed()) return end(repairs, token_end, out);
    is_open_ = false;
    is_complete_ = end_waits_ = true;
    mended_ = static_cast<std::uint16_t>(guard_->repairs() | repairs);
    guard_.reset();
  }
  /// What follows agrees with the end that waits.
  void settle_end(std::uint64_t token_end, Events& out) {
    if (!std::exchange(end_waits_, false)) return;
    place_.tally.put(CallStatus::complete);
    out.add_end(number(), CallStatus::complete, token_end, mended_);
  }
  void mend_end(std::uint16_t repairs) { mended_ |= repairs; }
  /// What follows does not: the call is open again.
  void reopen() {
    if (std::exchange(end_waits_, false)) is_open_ = true;
  }

  FinishReason reason(FinishReason ended) const { return place_.tally.reason(ended); }

  /// Appends the arguments that the guard holds.
  void add_held(Held& out) const {
    if (guard_) guard_->add_held(out);
  }

  void visit(Archive& archive) {
    archive.given(limits_, max_calls_, repairs_, emits_text_, labels_);
    if (ids_) archive(*ids_);
    archive.part(guard_,
                 [this] { return std::make_unique<ArgumentsGuard>(limits_, repairs_, nullptr); });
    archive(is_open_, is_complete_, end_waits_, mended_, place_, closed_);
    archive.scratch(is_in_turn_);  // a prompt is read whole
    archive.expect(!end_waits_ || (!is_open_ && place_.index >= 0));
    archive.expect(closed_ >= 0 && closed_ <= Place::kMostCalls);
  }

 private:
  std::optional<CallIds> ids_;  // none: a filter assigns them
  ParserLimits limits_;
  ClonedPtr<ArgumentsGuard> guard_;  // null: no open call needs it
  std::int32_t max_calls_;
  bool repairs_;
  bool emits_text_;
  bool labels_;
  bool is_open_ = false;
  bool is_complete_ = false;
  bool end_waits_ = false;
  bool is_in_turn_ = false;
  std::uint16_t mended_ = 0;  // the repairs of the end that waits
  Place place_;
  std::int32_t closed_ = 0;  // calls, by the prompt
};

}  // namespace unspool
