// Follows the markup that a value quotes: what its text has opened, and which closer may be the
// value's own.
//
// A value may quote calls of its own format:
//
//   <parameter=content>
//   Example: <tool_call><function=f><parameter=a>1</parameter></function></tool_call>
//   </parameter></function>
//
// A closer whose opener stands in the value belongs to the quote. The first `</parameter>` without
// an opener closes the value, if another parameter or the end of the call follows it.
//
// An opener that is only mentioned has no closer, so the output's end may come first. Then the last
// closers of the output decide (`end`).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "text/archive.h"

namespace unspool {

class QuotedText {
 public:
  enum class Part : char {
    section = 's',
    call = 'c',
    key = 'k',    // a parameter up to its value
    value = 'v',  // a parameter's value, or a bare tag that its closer would close
  };
  static constexpr std::size_t kNone = std::string::npos;

  /// The value begins.
  void clear() { *this = {}; }

  bool is_empty() const { return open_.empty(); }
  bool has_opened(Part part) const { return find(part) != kNone; }

  void open(Part part) {
    const bool is_next = part == Part::section || part == Part::call;
    const bool is_closed = closed_at_ != kNone;
    has_ended_ = has_ended_ || closes_call_ || (is_next && is_closed && !has_opened(Part::call));
    if (!is_next && is_closed && is_own_) note_end(closed_at_, 1);
    begin_markup();
    has_called_ = has_called_ || part == Part::call;
    if (part == Part::call) ++closers_;
    // Far above what a quote nests; bounds the memory.
    if (open_.size() < kMaxDepth) open_ += static_cast<char>(part);
  }
  /// The markup to come begins with what may be the call's next parameter.
  void expect_parameter() { parameter_ = open_.size(); }
  /// The value of the parameter that was opened last begins. A tag of its own opens one too.
  void open_value(bool is_tag) {
    if (!open_.empty() && open_.back() == static_cast<char>(Part::key)) {
      open_.back() = static_cast<char>(Part::value);
    } else if (is_tag) {
      open(Part::value);
    }
  }

  /// A value's closer, at this place of the held text.
  void close_value(std::size_t at) {
    // Written twice: the first one counts.
    const bool ends_parameter = is_own_ || has_ended_ || open_.size() == parameter_ + 1;
    if (closed_at_ != kNone && ends_parameter) return;
    if (closes_ == Closes::call) closes_ = Closes::nothing;  // the call's closer was in the value
    follows_call_ = closes_call_;
    begin_markup();
    is_own_ = !is_in_value();
    closed_at_ = at;
    if (!is_own_) closes_ = Closes::value;
  }
  /// A call's closer. After a value's closer it may be the end of the call.
  void close_call() {
    const std::size_t closed_at = closed_at_;
    begin_markup();
    const std::size_t call = find(Part::call);
    closes_call_ = call == kNone;
    if (closed_at != kNone && (is_own_ || (closes_call_ && has_called_))) {
      note_end(closed_at, 0);
    } else {
      has_ended_ = has_ended_ || (closes_call_ && closed_at != kNone);
      is_unclear_ = is_unclear_ || (end_ != kNone && closers_ == 0);
      if (closers_ > 0) --closers_;
    }
    if (closes_call_) return;
    if (is_in_value()) {
      closes_ = Closes::call;
    } else {
      open_.resize(call);
    }
  }
  void close_section() {
    if (closes_ == Closes::value) return;  // what follows decides about the value
    const bool closes_call = closes_call_;
    has_ended_ = has_ended_ || closes_call;
    begin_markup();
    closes_call_ = closes_call;
    pop(Part::section);
  }
  /// Whether a value's closer without an opener is text, and nothing is open: a parameter's opener
  /// is missing if the rest of one follows.
  bool misses_opener() const { return holds_closer_ && open_.empty(); }
  /// Text that is not white space: the closers before it are part of a value.
  void put_text() {
    holds_closer_ = holds_closer_ || (closed_at_ != kNone && is_own_);
    closed_at_ = kNone;
    closes_call_ = false;
    closes_ = Closes::nothing;
  }

  /// Where the value ends, if a parameter or the call's closer follows; else `kNone`.
  std::size_t own_closer() const { return is_own_ && !has_opened(Part::call) ? closed_at_ : kNone; }
  /// The same if the section or the output ends: a call's closer before the value's is no text
  /// then.
  std::size_t last_closer() const { return follows_call_ ? kNone : own_closer(); }
  /// The output ends. Where the value ends, if a closer may be its own; else `kNone`.
  std::size_t end() const {
    if (closed_at_ != kNone && is_own_) return follows_call_ ? kNone : closed_at_;
    return is_unclear_ || has_ended_ ? kNone : end_;
  }
  /// Whether the call has ended without the closer of its value, or without its own.
  bool has_ended() const { return end_ == kNone && (has_ended_ || closes_call_); }

  void visit(Archive& archive) {
    archive.choice(closes_, Closes::call);
    archive(holds_closer_, follows_call_, open_, parameter_, closed_at_, end_, closers_,
            is_unclear_, is_own_, has_called_, closes_call_, has_ended_);
    archive.expect(open_.size() <= kMaxDepth);
  }

 private:
  enum class Closes : std::uint8_t { nothing, value, call };
  static constexpr std::size_t kMaxDepth = 256;

  std::size_t find(Part part) const { return open_.rfind(static_cast<char>(part)); }
  /// Whether a value is open in the innermost open call.
  bool is_in_value() const {
    const std::size_t value = find(Part::value);
    const std::size_t call = find(Part::call);
    return value != kNone && (call == kNone || value > call);
  }
  /// Closes the innermost part of this kind, with all that is open in it.
  void pop(Part part) {
    if (const std::size_t at = find(part); at != kNone) open_.resize(at);
  }
  void note_end(std::size_t at, std::uint32_t closers) {
    is_unclear_ = is_unclear_ || (end_ != kNone && end_ != at);
    end_ = at;
    closers_ = closers;
  }
  /// Markup follows: the last closer counts.
  void begin_markup() {
    if (closes_ == Closes::value) pop(Part::value);
    if (closes_ == Closes::call) pop(Part::call);
    put_text();
  }

  std::string open_;                   // the parts, the innermost last
  std::size_t parameter_ = kNone - 1;  // where in `open_` the call's next parameter may begin
  std::size_t closed_at_ = kNone;      // the last closer of a value, if only white space follows it
  std::size_t end_ = kNone;            // one that another parameter or the call's end follows
  std::uint32_t closers_ = 0;          // how many of calls may follow it
  bool is_unclear_ = false;            // there are several such, or more closers
  bool is_own_ = false;                // nothing in the text opened what `closed_at_` closes
  Closes closes_ = Closes::nothing;    // what the last closer ends, if no text follows it
  bool holds_closer_ = false;          // an own closer was text
  bool follows_call_ = false;          // a call's closer without an opener precedes `closed_at_`
  bool has_called_ = false;            // the text has opened a call
  bool closes_call_ = false;           // a call's closer without an opener, and no text follows it
  bool has_ended_ = false;  // markup follows such a closer, or a call the value's own closer
};

}  // namespace unspool
