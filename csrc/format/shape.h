// The shape of a format: what its patterns mean, decided once.
//
// A shape stands between the file and the program. read_shape() looks at the patterns' text, and is
// the only one that does. What reads a shape never splits, strips or matches a text:
//
//   file ──read──► Shape ──lower──► Program     what the parser runs
//                    └───────────► writers      renderings and grammars, in Python
//
// An example. `call = "<tool_call>[${object}, ${...}]</tool_call>"` becomes a CallShape with
//   open <tool_call>, list_open [, inside ${object}, separator ", ", list_close ], close
//   </tool_call> and a body of the kind json_call.
//
// Alternatives that only damaged output needs are in the shape too. Writers do not see them: they
// walk `forms`, and the alternatives whose `is_begun` is false.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "format/edge.h"
#include "format/pattern.h"
#include "format/program.h"

namespace unspool {

struct Repeat;
/// A part of a call, in the order in which the model writes them.
using Item = std::variant<Edge, Hole, Repeat>;

/// ${key}=${value}, ${...}: any number of the same items, with a separator between them.
struct Repeat {
  std::vector<Item> items;
  Edge separator;
  bool operator==(const Repeat&) const = default;
};

/// What models write where a pattern has a hole ${_} beside a text. The parser skips any text
/// there. A grammar admits only these letters; otherwise a model could write its answer there.
struct SkippedText {
  std::vector<std::pair<std::string, std::string>> letters;  // ranges: first and last
  std::uint16_t most = 0;                                    // letters; the text may be missing
  bool operator==(const SkippedText&) const = default;
};

/// A text with markup around it: reasoning, content, all calls, a quoted string.
struct TextShape {
  std::optional<Edge> author;  // before the name of the message's author, which `open` follows
  Edge open;
  Edge close;
  std::optional<Edge> note_close;  // of content: ends a note after `close`
  std::optional<SkippedText> author_name, note;
  bool is_inline = false;          // content goes on before and after the markup
  bool is_begun = false;           // without the turn, which the prompt has written
  bool is_opened_by_turn = false;  // the format's own turn ends with `open`
  // For the parser.
  Edge own_open;      // without the label, and without the turn
  std::string label;  // optional markup at the end of `open`
  bool operator==(const TextShape&) const = default;
};

/// The white space around a value that is markup.
inline std::string space_of(ValueTrim trim) {
  if (trim == ValueTrim::none) return "";
  return trim == ValueTrim::space ? " " : "\n";
}

/// One alternative of a parameter between tags: <parameter=city>Paris</parameter>
struct ParameterShape {
  std::vector<Item> items;
  Edge open;                                      // before ${key}
  Edge after_key;                                 // the first one, if there are two
  Edge close;                                     // after ${value}
  Edge last;                                      // after the last hole
  std::vector<std::vector<std::string>> between;  // the tags after ${key} and after ${type}
  std::string key_stop;                           // what a key cannot hold
  bool has_type = false;
  bool is_element = false;    // <city>Paris</city>
  bool is_verbatim = false;   // of ${value:verbatim}: a string as it is
  bool is_json = false;       // of ${value:json}: any other type
  bool is_python = false;     // of ${value:python}
  bool has_entities = false;  // of ${value:xml}
  bool key_has_entities = false;
  // For the parser: the markers without quotes.
  ValueTrim trim = ValueTrim::none;
  std::string space_before, space_after;  // beside the value, where only this side is markup
  std::string marker;                     // opens the parameter
  std::vector<std::string> key_ends;      // end the key before `value_begin`
  std::string value_begin;                // what remains before the value
  std::string value_open;                 // may stand before the value
  std::string value_end;                  // ends the value: a tag, or the end of a line
  std::vector<std::pair<std::string, TypeSet>> types;
  bool guesses_types = false;

  /// The markup at both sides of the value: a line break, a space or "".
  std::string value_space() const { return space_of(trim); }
  bool operator==(const ParameterShape&) const = default;
};

/// The JSON of a call: {"name": ${name}, "arguments": ${arguments}}
struct ObjectShape {
  std::vector<Item> items;
  std::vector<std::pair<std::string, HoleKind>> keys;  // in the order of the holes
  bool name_is_key = false;                            // {${name}: ${arguments}}
  bool operator==(const ObjectShape&) const = default;
};

/// A call's id: functions.${name}:${index}
struct IdShape {
  std::vector<Item> items;
  CallIdStyle style = CallIdStyle::random;
  bool operator==(const IdShape&) const = default;
};

/// What an alternative of `call` is beside the others.
enum class CallRole : std::uint8_t {
  own,        // a call of its own
  fenced,     // a bare call in a fenced block
  cut,        // another one without its opening token: call: of <token>call:
  json_form,  // a tagged call whose arguments are one JSON object
  around,     // another one with more markup around it
};

/// One alternative of a call.
struct CallShape {
  std::optional<Edge> author;  // see TextShape
  Edge open, close;            // without the brackets of a list
  std::optional<Edge> list_open, list_close;
  std::vector<Item> inside;       // one call: holes, with an edge between two of them
  std::optional<Edge> separator;  // between two calls in one body
  Edge shortest_close;            // of the alternatives that differ in their end alone
  std::string joiner;             // what the longest of these has after it: between two calls
  std::string name_stop;          // what ends the name; empty if there is no name
  bool holds_id = false;          // the id stands before the arguments
  bool is_begun = false;          // see TextShape
  CallRole role = CallRole::own;

  // For the parser.
  bool opens_message = false;
  Edge own_open, own_close;  // without the tags around all calls and without quotes
  CallStart start;
  NameSlot name;
  BodySlot body;
  std::string separators;
  std::string token;                  // the opener without the word of the alternative that is cut
  std::string word;                   // role cut: that word
  MarkerTexts json_open, json_close;  // role json_form: the markup of the object
  MarkupRegion markup;                // role around: the text around the other one

  BodyKind kind() const { return static_cast<BodyKind>(body.index()); }
  /// As of a parameter, for a value without a key.
  std::string value_space() const {
    const auto* slot = std::get_if<ParametersSlot>(&body);
    return slot != nullptr && slot->is_keyless ? space_of(slot->trim) : "";
  }
};

/// The header of a message, and what it says of the text after it.
struct HeaderShape {
  Edge open, close;
  std::string recipient;  // " to=": the text before a tool's name; empty if no header names one
  std::vector<MarkupRegion> markup;
};

/// One way to write calls, as a model uses it.
struct FormShape {
  CallShape call;
  std::optional<TextShape> section;
  std::vector<ParameterShape> parameters;
  std::optional<std::string> recipient;  // before the tool's name, if a header of its own has it
  bool is_bare = false;                  // nothing opens the calls
};

struct Shape {
  std::string name;
  std::uint64_t fingerprint = 0;
  std::vector<std::string> turn;
  std::vector<std::string> ends;
  std::vector<Edge> leftovers;  // markup that is dropped wherever it occurs
  std::vector<TextShape> reasoning, contents, sections;
  std::vector<CallShape> calls;
  std::vector<ParameterShape> parameters;
  std::vector<ObjectShape> objects;
  std::optional<TextShape> quote;  // around strings, among bare keys
  std::optional<HeaderShape> header;
  std::vector<IdShape> ids;
  std::vector<FormShape> forms;        // what a model uses of `calls`
  std::vector<std::string> call_tags;  // in the patterns of calls
  bool has_fence = false;              // bare calls may be in a fenced block
  bool opens_messages = false;         // a part of an answer begins with a header or with the turn
  bool call_ends_reasoning = false;    // models leave its closer out before a call
  bool has_messages = false;           // each part of an answer is a message with a header

  /// Whether something opens all calls.
  bool has_section() const {
    return std::any_of(sections.begin(), sections.end(),
                       [](const TextShape& section) { return !section.open.is_blank(); });
  }
};

}  // namespace unspool
