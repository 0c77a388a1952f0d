// The input after a marker that may be a mention. Its events wait until it parses as a call. If it
// does not, the input is read again without that marker.
//
// The life of a trial:
//
//   begin     at a marker, or where a call without one begins. The state before it is kept
//             (Start), and events go to `events()`
//   keep      every piece of input after the marker is kept as well
//   settle    the text parses as a call: the waiting events are appended to the caller's
//   drop      it does not: the state of Start returns, and the input is read again
//
// One trial at a time: openers within a trial's input are part of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parser/audit_trail.h"
#include "parser/call_writer.h"
#include "parser/events.h"
#include "parser/place.h"
#include "text/archive.h"
#include "text/held.h"
#include "text/marker_set.h"

namespace unspool {

class Trial {
 public:
  /// The result, once the input of this step is kept.
  enum class Outcome : std::uint8_t { open, mention, malformed, empty, rehearsal, closed };

  /// The state at the marker, to go back to.
  struct Start {
    Place place;
    CallWriter::Place calls;
    AuditTrail::Place audit;
    std::uint64_t begin_at = 0;  // how many bytes of the output precede it

    void visit(Archive& archive) { archive(place, calls, audit, begin_at); }
  };
  bool is_amid_line = false;
  // About the marker:
  bool tries_call = false;  // it opens a call or a section of calls
  bool opens_section = false;
  bool is_word = false;  // it may be a word in the text
  bool quotes = false;   // it is quoted: prose after the call shows that it is an example
  // A call that ended the reasoning precedes it, and no marker: the reasoning may go on.
  bool follows_call = false;
  // About the text after it:
  bool is_quoted = false;  // the last call, if the marker is
  bool has_call_markup = false;
  std::size_t rehearsed_bytes = 0;  // of reasoning after a rehearsed call
  std::size_t call_at = 0;          // where the last call begins in the input
  std::size_t closed_at = 0;        // where the reasoning's closer follows it directly; 0: nowhere
  Outcome outcome = Outcome::open;
  const char* problem = "";  // why the outcome is malformed
  void fail(const char* why) {
    outcome = Outcome::malformed;
    problem = why;
  }
  // After the trial was dropped:
  std::size_t replay_left = 0;  // of the input that is read again
  bool replays_quote = false;   // and it is an example
  bool has_read_rest = false;   // what followed a rehearsal that swallowed it has been read

  /// A run of text, or one token that the format matches by id.
  struct Piece {
    std::size_t begin, end;
    Symbol symbol;  // kText, kSpecial, or the token's symbol
    std::uint64_t token_end;

    void visit(Archive& archive) { archive(begin, end, symbol, token_end); }
  };
  static constexpr Symbol kText = 0;
  static constexpr Symbol kSpecial = 1;  // a special token that is not a marker

  /// Starts a trial at a marker; `is_token`: the marker includes a token of the vocabulary.
  void begin(std::string_view marker, bool is_token, Start start) {
    kept_ = std::make_unique<Kept>();
    kept_->start = std::move(start);
    kept_->marker = marker;
    kept_->is_token = is_token;
    ++number_;
    is_on_ = true;
  }
  /// Takes off the input from `begin` on.
  std::pair<std::string, std::vector<Piece>> take_rest(std::size_t begin) {
    std::string rest = kept_->input.substr(begin);
    kept_->input.resize(begin);
    std::vector<Piece>& pieces = kept_->pieces;
    std::vector<Piece> rest_pieces;
    for (Piece piece : pieces) {
      if (piece.end <= begin) continue;
      piece.begin = std::max(piece.begin, begin) - begin;
      piece.end -= begin;
      rest_pieces.push_back(piece);
    }
    while (!pieces.empty() && pieces.back().begin >= begin) pieces.pop_back();
    if (!pieces.empty()) pieces.back().end = std::min(pieces.back().end, begin);
    return {std::move(rest), std::move(rest_pieces)};
  }
  /// Ends the trial; its data stays until `forget`.
  void end() { is_on_ = false; }
  /// Frees the memory of an ended trial.
  void forget() {
    if (!is_on_) kept_.reset();
  }
  bool is_on() const { return is_on_; }
  /// Whether a marker is in input that is read again.
  bool is_read_again(const MarkerCursor::Found& match) const {
    return replay_left > match.consumed;
  }
  /// The trial's number; each trial has another one.
  std::uint64_t number() const { return number_; }

  /// Keeps input that was read while `trial` was the latest trial. The trial's marker is not part
  /// of it. Returns false if there is no trial.
  // By the trial's number: the input may have begun another trial, which must not keep the text
  // before its own marker.
  bool keep(std::uint64_t trial, std::string_view text, Symbol symbol, std::uint64_t token_end) {
    replay_left -= std::min(replay_left, text.size());
    if (is_on_ && number_ == trial) add(text, symbol, token_end);
    return is_on_ || outcome != Outcome::open;
  }

  /// Whether it tries a marker within a line, or one that is no token amid reasoning. In content a
  /// token proves nothing: models write quoted markers as their tokens.
  bool is_amid_text() const {
    if (!is_on_) return false;
    if (is_token() && start().place.state == Place::State::reasoning) return false;
    const Place& place = start().place;
    const bool is_amid_reasoning =
        place.state == Place::State::reasoning && !place.reasoning_is_empty;
    return is_amid_line || is_amid_reasoning;
  }

  /// Whether the marker is from the prompt, not the output.
  bool is_of_turn() const { return kept_ && kept_->marker.empty() && !quotes && !follows_call; }

  // Valid from `begin` to `forget`:
  Start& start() { return kept_->start; }
  const Start& start() const { return kept_->start; }
  std::string_view marker() const { return kept_->marker; }
  bool is_token() const { return kept_->is_token; }
  /// The input after the marker.
  std::string_view input() const { return kept_->input; }
  const std::vector<Piece>& pieces() const { return kept_->pieces; }
  /// The marker that closes the rehearsal; its `marker` is null until there is one.
  MarkerCursor::Found& closer() { return kept_->closer; }
  /// The marker and the text after it, without special tokens.
  std::string text() const {
    std::string text = kept_->marker;
    for (const Piece& piece : kept_->pieces) {
      if (piece.symbol != kSpecial) text.append(kept_->input, piece.begin, piece.end - piece.begin);
    }
    return text;
  }
  Events& events() { return kept_->events; }

  /// Appends everything that waits, in the order of the input.
  void add_held(Held& out, HeldReason reason) const {
    out.add(HeldReason::marker, kept_->start.place.idle);
    out.add(HeldReason::space, kept_->start.place.space);
    out.add(reason, kept_->marker);
    out.add(reason, kept_->input);
  }

  void visit(Archive& archive);

 private:
  void add(std::string_view text, Symbol symbol, std::uint64_t token_end) {
    std::string& input = kept_->input;
    std::vector<Piece>& pieces = kept_->pieces;
    // One piece per token: each keeps the position that its events need.
    const bool goes_on = symbol == kText && !pieces.empty() && pieces.back().symbol == kText &&
                         pieces.back().token_end == token_end;
    if (!goes_on) pieces.push_back({input.size(), input.size(), symbol, token_end});
    input += text;
    pieces.back().end = input.size();
  }

  struct Kept {
    Start start;
    std::string marker;
    bool is_token = false;
    std::string input;
    std::vector<Piece> pieces;
    MarkerCursor::Found closer = {};
    Events events;

    void visit(Archive& archive);
  };

  bool is_on_ = false;
  std::uint64_t number_ = 0;
  ClonedPtr<Kept> kept_;  // null before and after a trial
};

}  // namespace unspool
