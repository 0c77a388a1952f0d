// The result of compiling a format: the regions of an output, the slots within a call, and the
// markers of both. Plain tables that one machine runs (parser/).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "format/type_set.h"

namespace unspool {

/// Whether one of `texts` equals `text`.
inline bool contains(const std::vector<std::string>& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

/// The texts that open or close a region or a slot, with the white space that the template writes
/// around them. White space is markup as far as it is present: a prefix of `after` and a suffix of
/// `before` are accepted too.
struct MarkerTexts {
  std::vector<std::string> texts;
  std::string before;
  std::string after;

  bool is_empty() const { return texts.empty(); }
  bool has(std::string_view text) const { return contains(texts, text); }
  bool operator==(const MarkerTexts&) const = default;
};

// ---- the slots of a call: its name, and its body, which holds the arguments

/// A name outside the body, or in the header that opens the call.
struct NameSlot {
  MarkerTexts close;      // ends the name
  std::string stops;      // the first letter of the body also ends the name
  std::string prefix;     // removed from the name
  bool is_id = false;     // the whole text is the call's id; the name is the part before :NUMBER
  bool is_twice = false;  // f.f means the tool f
  std::string id_open;    // after the name: the call's id follows
  std::string id_close;   // before the name: the call's id precedes it
  bool skips_id = false;  // what stands in the place of the id is any text, and is skipped
  std::string fixed;      // the name, if it is known beforehand (a named tool choice)

  bool has_end() const { return !close.is_empty() || !stops.empty(); }
  bool operator==(const NameSlot&) const = default;
};

/// {"name": "f", "arguments": {...}}, or a list of these.
struct ObjectSlot {
  std::vector<std::string> name_keys{"name"};
  std::vector<std::string> arguments_keys{"arguments", "parameters"};
  std::vector<std::string> id_keys{"id"};
  std::vector<std::string> wrapper_keys{"function"};
  bool name_is_key = false;  // {"f": {...}}
  bool must_fit = false;     // a call only if it matches the tool's schema, known at its end
  bool python = false;       // Python literals: {'name': 'f', 'arguments': {'on': True}}
  bool operator==(const ObjectSlot&) const = default;
};

/// {...}
struct ArgumentsSlot {
  bool operator==(const ArgumentsSlot&) const = default;
};

/// {city:<|"|>Paris<|"|>}
struct LiteralSlot {
  MarkerTexts quotes;  // around strings
  bool operator==(const LiteralSlot&) const = default;
};

/// f(city="Paris"), or a list of these.
struct PythonSlot {
  bool operator==(const PythonSlot&) const = default;
};

/// How to treat the white space around a parameter's value.
enum class ValueTrim : std::uint8_t {
  none,          // every byte belongs to the value
  newline,       // one line break at each side is markup
  newline_pair,  // the same, but before the closing tag only if one precedes the value
  space,         // all white space at both sides is markup
};

constexpr bool trims_line_breaks(ValueTrim trim) {
  return trim == ValueTrim::newline || trim == ValueTrim::newline_pair;
}

/// <parameter=city>Paris</parameter>
struct ParametersSlot {
  MarkerTexts open;                  // <parameter=
  MarkerTexts key_close;             // > : the value begins
  MarkerTexts close;                 // </parameter>
  std::vector<std::string> key_end;  // ends the key before key_close; attributes may follow
  std::vector<std::pair<std::string, TypeSet>> types;  // an attribute's text, and the value's type
  std::string value_open;                              // may precede a value: <![CDATA[
  std::string space_before;  // a value, if `trim` is none: dropped as far as it is there
  ValueTrim trim = ValueTrim::newline;
  bool key_entities = false;  // decode &amp; in keys
  bool guess_types = false;  // a parameter without a schema may be JSON of a type other than string
  bool entities = false;     // decode &lt; in values
  bool python_values = false;  // lists and objects may be Python literals
  bool json_body = false;      // one JSON object may replace all parameters
  MarkerTexts json_open;       // may precede that object
  MarkerTexts json_close;      // and may follow it
  bool is_keyless = false;     // the text up to the call's closer is the tool's only parameter

  /// Whether a line's end closes a value.
  bool ends_lines() const {
    return !close.texts.empty() &&
           close.texts.front().find_first_not_of(" \t\r\n") == std::string::npos;
  }
  bool operator==(const ParametersSlot&) const = default;
};

/// <city>Paris</city>: elements, possibly nested.
struct ElementsSlot {
  MarkerTexts open;  // < of a tag; a slash after it makes it a closing tag
  bool operator==(const ElementsSlot&) const = default;
};

using BodySlot =
    std::variant<ObjectSlot, ArgumentsSlot, LiteralSlot, PythonSlot, ParametersSlot, ElementsSlot>;

/// The kinds of bodies, in the order of BodySlot's alternatives.
enum class BodyKind : std::uint8_t {
  json_call,
  json_arguments,
  literal_arguments,
  pythonic,
  xml_parameters,
  xml_elements,
};

// ---- the regions

/// Where a call without its own opener may begin.
enum class BarePlace : std::uint8_t {
  nowhere,
  start,    // with only white space before it in the message
  line,     // at the start of any line, or after the opening line of a fenced block
  section,  // after a section's opener or after another call in the section
};

/// Whether text is a call only if its name is one of the request's tools.
enum class KnownTools : std::uint8_t {
  any,
  if_given,  // yes, if the request's tools are known
  required,  // yes; without tools there are no calls
};

/// The conditions for the beginning of a call, apart from its opener.
struct CallStart {
  BarePlace place = BarePlace::nowhere;
  bool fenced = false;        // bare calls may be inside a fenced block
  std::string letters;        // the letters that the body can begin with; empty: any
  std::string second;         // the letters that can follow; empty: any
  bool may_be_text = false;   // the opener may be content: it is a call only if it parses as one
  bool after_header = false;  // opened by a header that names the tool or announces calls
  KnownTools known_tools = KnownTools::any;
  bool is_slip = false;     // not this family's own form: accepted only if slips are mended
  bool is_certain = false;  // from guided decoding: a bare body is a call in any case
  bool operator==(const CallStart&) const = default;
};

/// One form of a call.
struct CallRegion {
  MarkerTexts open;
  MarkerTexts close;
  MarkerTexts next;  // opens another call before the closer of the last one
  CallStart start;
  std::string separators;  // letters allowed between two calls
  NameSlot name;
  BodySlot body;

  BodyKind kind() const { return static_cast<BodyKind>(body.index()); }
  bool is(BodyKind wanted) const { return kind() == wanted; }
  /// The body's slot, or null if it is of another kind.
  template <typename Slot>
  const Slot* body_as() const {
    return std::get_if<Slot>(&body);
  }
  /// The texts of all its markers.
  std::vector<std::string_view> texts() const;
  bool is_bare() const { return start.place != BarePlace::nowhere; }
  /// Whether the body is one object of arguments after a name.
  bool is_one_object() const {
    return !is_bare() && (is(BodyKind::json_arguments) || is(BodyKind::literal_arguments));
  }
  /// Whether no marker opens the call, so that it may turn out to be content.
  bool is_tentative() const { return (is_bare() && !start.is_certain) || start.may_be_text; }
  /// Allows a fenced block around the bare call; the block's end closes the call.
  void allow_fence() {
    start.fenced = true;
    close.texts = {"```"};
    close.before.assign(1, '\n');
  }
  bool operator==(const CallRegion&) const = default;
};

/// Handling of a call that opens inside reasoning.
enum class CallsInReasoning : std::uint8_t {
  keep,          // it is text
  end,           // it ends the reasoning
  wait_and_see,  // it is text if the reasoning continues and closes after it, otherwise a call
};

struct ReasoningRegion {
  MarkerTexts open;
  MarkerTexts close;
  std::string label;  // optional markup after the opener
  CallsInReasoning calls = CallsInReasoning::wait_and_see;
};

/// Markup that the template writes around text. If there is a `close`, a header is between `open`
/// and `close`: it is markup too, and may decide what follows.
struct MarkupRegion {
  MarkerTexts open;
  MarkerTexts close;
  std::string recipient;               // the text after this names the called tool
  std::vector<std::string> not_tools;  // recipients that are not tools
  std::vector<std::string> reasoning;  // words that announce reasoning
  std::vector<std::string> calls;      // words that announce calls
  std::vector<std::string> texts;      // words that announce a text to the user: it holds no call
  std::string header;                  // a pattern for the header's text; empty: any text
  bool names_tool = false;             // a header is the name of the called tool
  bool is_inline = false;       // it occurs within text and reasoning, which continue after it
  bool is_around_call = false;  // an alternative of a call has it around another one

  bool has_header() const { return !close.is_empty(); }
  /// Whether all between its two markers is a header: the words that say what follows.
  bool is_header_between_markers() const {
    return has_header() && says_what_follows() && !names_tool &&
           close.texts.front().find_first_not_of(" \t\r\n") != std::string::npos;
  }
  bool says_what_follows() const {
    return names_tool || !recipient.empty() || !reasoning.empty() || !calls.empty();
  }
  bool operator==(const MarkupRegion&) const = default;
};

/// The markup around all calls.
struct SectionRegion {
  MarkerTexts open;
  MarkerTexts close;
};

enum class CallIdStyle : std::uint8_t {
  random,     // call_ and 24 letters and digits
  nine,       // nine letters and digits, as Mistral's templates require
  functions,  // functions.NAME:INDEX, as Kimi's templates require
};

struct Program {
  std::string name;
  std::vector<std::string> turn;  // the last text of the prompt, before the answer
  std::vector<std::string> ends;  // end-of-turn tokens: dropped wherever no body is open
  std::optional<ReasoningRegion> reasoning;
  std::vector<MarkupRegion> markup;
  SectionRegion section;
  std::vector<CallRegion> calls;
  std::vector<MarkerTexts> call_texts;  // openers of calls that are content: they end a header
  CallIdStyle call_ids = CallIdStyle::random;
  std::uint64_t fingerprint = 0;  // of the source

  /// Whether headers announce texts for the user.
  bool has_texts_for_user() const {
    return std::any_of(markup.begin(), markup.end(),
                       [](const MarkupRegion& region) { return !region.texts.empty(); });
  }
  /// Whether headers announce reasoning; its own opener is then only used to read the prompt.
  bool has_reasoning_headers() const {
    return std::any_of(markup.begin(), markup.end(),
                       [](const MarkupRegion& region) { return !region.reasoning.empty(); });
  }
};

/// How to match a marker that is a token of the vocabulary.
enum class MarkerTrust : std::uint8_t {
  by_id,    // only the token counts
  by_text,  // its spelling counts, regardless of the tokens
  either,
  // Only the token counts, and outside of what tokens open only a marker that holds one.
  strict,
};

}  // namespace unspool
