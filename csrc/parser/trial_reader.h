// Handles markers that may be mentions. The text after an opener decides: its events wait until it
// parses as a call. If it does not, the input is read again, and the opener is text.
#pragma once

#include <string_view>
#include <vector>

#include "parser/call_reader.h"
#include "parser/header_reader.h"
#include "parser/region_reader.h"

namespace unspool {

class TrialReader : RegionReader {
 public:
  TrialReader(ParserCore& core, Dispatcher& parser, HeaderReader& header, CallReader& call)
      : RegionReader(core, parser), header_(header), call_(call) {}

  /// Whether the marker can only be text at this position. A marker given as a token never is.
  bool is_mention(const MarkerCursor::Found& match) const;
  /// Begins a trial if the text after the marker decides whether it counts.
  void try_marker(const MarkerCursor::Found& match);
  /// Whether a marker in the content decides about the earlier marker on trial.
  bool decides(const MarkerCursor::Found& match);

  /// Acts on the trial's result.
  void act();
  /// The part of a text that the trial may read at once.
  std::string_view room_of(std::string_view text) const;
  /// Whether the text after the marker decides whether it counts.
  bool is_tried(const MarkerCursor::Found& match) const;
  /// Ends the trial at the end of the output.
  void finish(FinishReason reason);
  /// Appends what waits for the current trial.
  void add_held(Held& out) const;

 private:
  void act_on(Outcome outcome);
  void decide(FinishReason reason);
  void drop();
  void read_as_mention();
  bool is_quoted_tag(const MarkerCursor::Found& match) const;
  bool is_closed(const MarkerCursor::Found& match);
  void read_as_malformed();
  /// `is_text`: its openers are text, not only what has been one already.
  void read_again(std::string_view input, const std::vector<Trial::Piece>& pieces,
                  bool is_text = true);
  void read_as_empty();
  void read_as_rehearsal(std::string_view rest);
  bool has_unquoted_prose() const;
  void close_reasoning();
  void read_as_closed_rehearsal();
  bool read_as_cut_rehearsal();
  std::size_t find_closer_in_call();
  bool ends_as_mention(bool stopped);

  HeaderReader& header_;
  CallReader& call_;
};

}  // namespace unspool
