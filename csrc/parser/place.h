// Where the parser stands in the output. A trial keeps a copy as a whole, to go back to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/archive.h"

namespace unspool {

struct Place {
  /// What is read.
  enum class State : std::uint8_t {
    content,
    reasoning,
    markup,   // inside a header of markup
    fence,    // in the opening line of a fenced block
    opening,  // after a call's opener
    header,   // inside a name that stands outside the body
    body,
    malformed,
  };
  /// What white space means: between two pieces of markup it is markup itself.
  enum class Boundary : std::uint8_t { none, start, after_markup };
  /// Where in a line the text stands; a call without an opener may begin only at some places.
  enum class Line : std::uint8_t { start, begin, inside };

  /// Whether a call has been opened and not ended.
  bool is_in_call() const {
    return state == State::opening || state == State::header || state == State::body;
  }

  State state = State::content;
  State markup_return = State::content;  // where inline markup stands
  Boundary boundary = Boundary::start;
  Line line = Line::start;
  std::uint8_t call = 0;    // the kind of the call being read, or of the last one
  std::uint8_t markup = 0;  // of the header being read: index into Program::markup
  int bare_candidate = -1;  // the call that may have begun, while it may be a marker too
  char last_byte = '\n';    // of what was emitted between calls
  bool in_section = false;
  bool in_fence = false;
  bool closer_pending = false;   // the last call's closer has yet to come
  bool closer_is_calls = false;  // it is part of the call's text: the opener was the call's own
  bool may_chain = false;        // another call of the same kind may follow without an opener
  bool has_slip = false;         // a marker since the last call is misspelled
  bool reasoning_is_empty = true;
  bool has_content = false;
  bool skip_is_reasonings = false;             // the last marker was the reasoning's
  std::size_t label_read = std::string::npos;  // of ReasoningRegion::label; npos: not looked for
  std::string_view skip;                       // white space that the last marker takes with it
  std::string space;                           // white space that may turn out to be markup
  std::string idle;  // before `space`: a marker that changes nothing; text if text follows

  void visit(Archive& archive);
};

}  // namespace unspool
