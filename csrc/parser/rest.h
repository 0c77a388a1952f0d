// Where a stream is at rest: most tokens only continue the text, and change nothing else.
//
//   <think> Let me see        in reasoning, at rest: a marker may begin with `<` or a line break
//   {"city": "Par             in a string of the arguments: a quote or a backslash means something
//   get_weather               in a call's name, not at rest: each letter counts
//
// `stops` has the classes of bytes that mean something at this place. A token without any of them
// passes by: its text is an event like the last one, and the parser hears of it later
// (`EventParser::pass_over`). What does not say where it is at rest never is, so that a reader that
// forgets to answer is slow and not wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "parser/event.h"
#include "text/byte_classes.h"

namespace unspool {

/// What has passed by of the lines: nothing that counts, a line's beginning, or more of a line.
enum class PassedLine : std::uint8_t { none, begun, text };

/// What may mean something at the beginning of a line: bullets, numbers, `>` and fences.
inline constexpr ByteClasses kLineMarks = class_of('-') | class_of('*') | class_of('+') |
                                          class_of('>') | class_of('~') | class_of('`') | kAnyDigit;

struct Rest {
  ByteClasses stops = kAllClasses;      // what no token may have that passes by
  ByteClasses tells = 0;                // what the parser must hear of at once, if it passes by
  ByteClasses told = 0;                 // these, `stops`, and those of lines
  std::size_t room = kUnbounded;        // for how many bytes this holds
  std::int32_t index = -1;              // the call of the event that such a token makes
  EventKind kind = EventKind::content;  // its kind
  bool escapes = false;                 // it has the text as the inside of a JSON string
  bool holds = false;                   // text is held that it begins with
  bool holds_line_break = false;        // of a line, only the line break at its end is held
  bool passes_lines = false;            // a line's beginning without `kLineMarks` passes by
  bool begins_line = false;             // it is at a line's beginning

  static constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();
  bool is_at_rest() const { return stops != kAllClasses; }
};

/// Where it is now, after text that the parser has not read.
struct Passed {
  std::size_t room;  // what is left of it
  char last_byte;
  PassedLine line;             // of the text before `last_text`
  std::string_view last_text;  // all of it since the text before, which had none of `Rest::tells`
  std::uint64_t token_end;     // as of a put
};

}  // namespace unspool
