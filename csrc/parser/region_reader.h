// The base of all region readers: access to the shared core, and a way to hand over other input.
#pragma once

#include <string_view>

#include "format/marker_table.h"
#include "parser/parser_core.h"
#include "text/letters.h"
#include "text/marker_set.h"

namespace unspool {

/// Continues where a region's reader stops; implemented by the parser.
class Dispatcher {
 public:
  /// Text released by the cursor: it belongs to the current region.
  virtual void release(std::string_view text) = 0;
  virtual void on_marker(const MarkerCursor::Found& match) = 0;
  /// Markup around text: its header begins, if it has one.
  virtual void on_markup(const MarkerCursor::Found& match) = 0;
  /// The end of a call, or of all calls.
  virtual void on_closer(Role role, const MarkerCursor::Found& match) = 0;
  /// Reads text again that was read and kept.
  virtual void read_again(const Letters& letters) = 0;
  /// Reads input, in the order of the stream.
  virtual void read_text(std::string_view text) = 0;
  virtual void read_token(Symbol symbol, std::string_view literal) = 0;
  virtual void read_special(std::string_view text) = 0;

 protected:
  ~Dispatcher() = default;
};

class RegionReader {
 protected:
  using State = Place::State;
  using Boundary = Place::Boundary;
  using Line = Place::Line;
  using Outcome = Trial::Outcome;

  RegionReader(ParserCore& core, Dispatcher& parser) : core_(core), parser_(parser), at_(core.at) {}
  // A copy would refer to the other parser's core.
  RegionReader(const RegionReader&) = delete;
  RegionReader& operator=(const RegionReader&) = delete;
  ~RegionReader() = default;

  void read_again(std::string_view text) {
    Letters letters;
    letters.put(text);
    parser_.read_again(letters);
  }
  /// Treats the text in the cursor as text, not as a marker.
  void flush_cursor() {
    core_.cursor.flush([this](std::string_view held) { parser_.release(held); });
  }

  ParserCore& core_;
  Dispatcher& parser_;
  Place& at_;
};

}  // namespace unspool
