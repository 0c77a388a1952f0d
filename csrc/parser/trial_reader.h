// Markers that may be mentions. What follows an opener decides: until it reads as a call its events
// wait; if it does not, the same input is read again, and the opener is text like any other.
#pragma once

#include <cstdint>
#include <string_view>

#include "parser/call_reader.h"
#include "parser/header_reader.h"
#include "parser/region_reader.h"

namespace unspool {

class TrialReader : RegionReader {
 public:
  TrialReader(ParserCore& core, Dispatcher& parser, HeaderReader& header, CallReader& call)
      : RegionReader(core, parser), header_(header), call_(call) {}

  /// Whether the marker can only be text where it stands. By its token it never is.
  bool is_mention(const MarkerCursor::Found& found) const;
  /// Begins a trial where what follows the marker shows if it counts.
  void try_marker(const MarkerCursor::Found& found);
  /// Whether a marker in the content after the one on trial decides what that one is.
  bool decides(const MarkerCursor::Found& found);

  /// Text or a token has been read while `trial` was the latest trial: keeps it, and does what the
  /// trial has come to.
  void after_reading(std::uint64_t trial, std::string_view text, Symbol symbol) {
    if (core_.trial.keep(trial, text, symbol, core_.token_end)) act();
  }
  void act();
  /// Ends the trial, with the output.
  void finish(FinishReason reason);
  /// Appends what waits for the trial that is on.
  void add_held(Held& out) const;

 private:
  bool is_tried(const MarkerCursor::Found& found) const;
  void act_on(Outcome outcome);
  void decide(FinishReason reason);
  void drop();
  void read_as_mention();
  void read_as_empty();
  void read_as_rehearsal(std::string_view rest);
  bool ends_as_mention(bool stopped);

  HeaderReader& header_;
  CallReader& call_;
};

}  // namespace unspool
