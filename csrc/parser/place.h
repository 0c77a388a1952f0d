// The parser's position in the output. A trial keeps a copy of it, to go back to.
//
// `space` and `idle` hold what lies between two things and is not decided by either:
//
//   Hi.</think> \n <tool_call>      " \n " is `space`; the opener makes it markup
//   Hi. \n you                      the same, and the text makes it text
//   Hi. <|im_end|> you              the marker is `idle`, with the space before it
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "parser/quotes.h"
#include "text/archive.h"

namespace unspool {

struct Place {
  /// The current region.
  enum class State : std::uint8_t {
    content,
    reasoning,
    markup,   // inside a header of markup
    fence,    // in the opening line of a fenced block
    opening,  // after a call's opener
    header,   // inside a name outside the body
    body,
    malformed,
  };
  /// The meaning of white space: between two markers it is markup.
  enum class Boundary : std::uint8_t { none, start, after_markup };
  /// The position in the line; a call without an opener may begin only at some positions.
  enum class Line : std::uint8_t { start, begin, inside };

  /// Whether a header announced the content, and says that it is for the user: it holds no call.
  enum class Headed : std::uint8_t { no, yes, for_user };

  /// Whether a call has been opened and not ended.
  bool is_in_call() const {
    return state == State::opening || state == State::header || state == State::body;
  }

  // All of it is plain data, since a trial copies it and a snapshot writes it.
  State state = State::content;
  State markup_return = State::content;  // the region around inline markup
  Boundary boundary = Boundary::start;
  Line line = Line::start;
  std::uint8_t call = 0;    // the kind of the current or the last call
  std::uint8_t markup = 0;  // of the current header: index into Program::markup
  int bare_candidate = -1;  // the call that may have begun, while the text may also be a marker
  char last_byte = '\n';    // the last byte emitted between calls
  bool in_section = false;
  bool in_fence = false;
  bool closer_pending = false;   // the last call still lacks its closer
  bool closer_is_calls = false;  // it is part of the call's text, because the opener was
  bool may_chain = false;        // another call of the same kind may follow without an opener
  bool has_slip = false;         // a marker since the last call was misspelled
  bool reasoning_is_empty = true;
  bool reasoning_is_cut = false;      // a call ended it; its own closer may still come
  bool reasoning_is_assumed = false;  // the format's own turn opened it, not a prompt or the output
  bool has_content = false;
  bool has_mention = false;                    // an opener was text, so that what closes it is text
  Headed headed = Headed::no;                  // of the content
  Quotes quotes;                               // of the content
  bool skip_is_reasonings = false;             // the last marker was the reasoning's
  std::size_t label_read = std::string::npos;  // of ReasoningRegion::label; npos: not expected
  std::string_view skip;                       // white space that belongs to the last marker
  std::string space;                           // white space that may turn out to be markup
  std::string idle;  // before `space`: a marker without effect; it is text if text follows
  std::size_t stray_begin = 0, stray_end = 0;  // in it: closers that close nothing

  void visit(Archive& archive);
};

}  // namespace unspool
