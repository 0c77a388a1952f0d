// What is read after a marker that may be a mention. Its events wait until it reads as a call; if
// it does not, the same input is read again without that marker.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parser/call_writer.h"
#include "parser/events.h"
#include "parser/place.h"
#include "text/held.h"
#include "text/marker_set.h"

namespace unspool {

class Trial {
 public:
  /// What it comes to, once the input of this step is kept.
  enum class Outcome : std::uint8_t { open, mention, empty, rehearsal };

  // Where its marker stands, to go back to:
  Place place;
  CallWriter::Place calls;
  std::uint64_t audited_bytes = 0;
  std::uint64_t begin_at = 0;  // how many bytes of the output stand before it
  bool is_amid_line = false;
  // What its marker is:
  bool tries_call = false;  // it opens a call, or a section of calls
  bool is_word = false;     // it may be a word of the text
  // What came after it:
  bool has_call_markup = false;
  std::size_t rehearsed_bytes = 0;            // of reasoning after a rehearsed call
  MarkerCursor::Found closes_rehearsal = {};  // the marker that did
  Outcome outcome = Outcome::open;
  // After it has been dropped:
  std::size_t replay_left = 0;  // of the input that is read again

  /// A stretch of text, or one token that the format knows by its id.
  struct Piece {
    std::size_t begin, end;
    Symbol symbol;  // kText, kSpecial, or the token's
    std::uint64_t token_end;
  };
  static constexpr Symbol kText = 0;
  static constexpr Symbol kSpecial = 1;  // a special token that is no marker

  /// Starts a trial at a marker; `is_token`: a token of the vocabulary is part of it.
  void begin(std::string_view marker, bool is_token) {
    marker_ = marker;
    is_token_ = is_token;
    input_.clear();
    pieces_.clear();
    events_.clear();
    ++number_;
    is_on_ = true;
  }
  void end() { is_on_ = false; }
  bool is_on() const { return is_on_; }
  /// Whether a marker stands in input that is read again.
  bool is_read_again(const MarkerCursor::Found& found) const {
    return replay_left > found.consumed;
  }
  /// Which trial this is; the next one has another number.
  std::uint64_t number() const { return number_; }

  /// Keeps what was read while `trial` was the latest trial. A trial's marker is no part of it.
  /// False if nothing has come of any.
  bool keep(std::uint64_t trial, std::string_view text, Symbol symbol, std::uint64_t token_end) {
    replay_left -= std::min(replay_left, text.size());
    if (is_on_ && number_ == trial) add(text, symbol, token_end);
    return is_on_ || outcome != Outcome::open;
  }

  std::string_view marker() const { return marker_; }
  /// The prompt has written the marker, and not the output.
  bool is_of_turn() const { return marker_.empty(); }
  bool is_token() const { return is_token_; }
  /// What was read after the marker.
  std::string_view input() const { return input_; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  /// The marker and what was read after it, as text: without special tokens.
  std::string text() const {
    std::string text = marker_;
    for (const Piece& piece : pieces_) {
      if (piece.symbol != kSpecial) text.append(input_, piece.begin, piece.end - piece.begin);
    }
    return text;
  }
  Events& events() { return events_; }

  /// Appends all that waits, in the order of the input.
  void add_held(Held& out, HeldReason reason) const {
    out.add(HeldReason::marker, place.idle);
    out.add(HeldReason::space, place.space);
    out.add(reason, marker_);
    out.add(reason, input_);
  }

 private:
  void add(std::string_view text, Symbol symbol, std::uint64_t token_end) {
    const bool goes_on = symbol == kText && !pieces_.empty() && pieces_.back().symbol == kText &&
                         pieces_.back().token_end == token_end;
    if (!goes_on) pieces_.push_back({input_.size(), input_.size(), symbol, token_end});
    input_ += text;
    pieces_.back().end = input_.size();
  }

  std::string marker_;
  bool is_token_ = false;
  bool is_on_ = false;
  std::uint64_t number_ = 0;
  std::string input_;
  std::vector<Piece> pieces_;
  Events events_;
};

}  // namespace unspool
