// What a format compiles to: the regions of an output, the slots within a call, and the markers of
// both. Plain tables, which one machine runs (parser/).
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

/// What opens or closes a region or a slot: any of `texts`, with the white space that the template
/// writes around it. White space is markup only as far as it is there: a prefix of `after` and a
/// suffix of `before` count too.
struct MarkerTexts {
  std::vector<std::string> texts;
  std::string before;
  std::string after;

  bool is_empty() const { return texts.empty(); }
  bool has(std::string_view text) const {
    return std::find(texts.begin(), texts.end(), text) != texts.end();
  }
  bool operator==(const MarkerTexts&) const = default;
};

// ---- the slots of a call: its name, and its body, which holds the arguments

/// A name that stands outside the body, or in the header that opens the call.
struct NameSlot {
  MarkerTexts close;      // ends it
  std::string stops;      // the body's first letter ends it too
  std::string prefix;     // dropped from it
  bool is_id = false;     // the whole text is the call's id; the name ends before :NUMBER
  bool is_twice = false;  // f.f is the tool f
  std::string id_open;    // after the name: what follows is the call's id
  std::string id_close;   // before the name: what stands before it is the call's id
  std::string fixed;      // the name is known beforehand (a named tool choice)

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
  bool must_fit = false;  // it is a call only if it fits the tool's schema: this shows at its end
  bool python = false;    // Python's literals: {'name': 'f', 'arguments': {'on': True}}
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

/// How the white space around a parameter's value is read.
enum class ValueTrim : std::uint8_t {
  none,     // every byte is the value's
  newline,  // one line break at each side is markup
  space,    // all white space at both sides is markup
};

/// <parameter=city>Paris</parameter>
struct ParametersSlot {
  MarkerTexts open;                  // <parameter=
  MarkerTexts key_close;             // > : the value begins
  MarkerTexts close;                 // </parameter>
  std::vector<std::string> key_end;  // end the key before key_close; attributes may follow
  std::vector<std::pair<std::string, TypeSet>> types;  // an attribute's text, what the value is
  std::string value_open;                              // may stand before a value: <![CDATA[
  ValueTrim trim = ValueTrim::newline;
  bool key_entities = false;   // &amp; in a key stands for &
  bool guess_types = false;    // a parameter without a schema may be JSON of another type
  bool entities = false;       // &lt; in a value stands for <
  bool python_values = false;  // lists and objects may be written as Python writes them
  bool json_body = false;      // one JSON object may stand in place of all parameters
  MarkerTexts json_open;       // may stand before that object
  MarkerTexts json_close;      // and after it
  bool is_keyless = false;     // the text up to the call's closer is the tool's only parameter
  bool operator==(const ParametersSlot&) const = default;
};

/// <city>Paris</city>, elements within elements.
struct ElementsSlot {
  MarkerTexts open;  // < of a tag; a slash after it makes it a closing one
  bool operator==(const ElementsSlot&) const = default;
};

using BodySlot =
    std::variant<ObjectSlot, ArgumentsSlot, LiteralSlot, PythonSlot, ParametersSlot, ElementsSlot>;

/// The kinds of a body, in the order of BodySlot's alternatives.
enum class BodyKind : std::uint8_t {
  json_call,
  json_arguments,
  literal_arguments,
  pythonic,
  xml_parameters,
  xml_elements,
};

// ---- the regions

/// Where a call without an opener of its own may begin.
enum class BarePlace : std::uint8_t {
  nowhere,
  start,    // only white space before it in the message
  line,     // at the start of any line, or after the opening line of a fenced block
  section,  // after a section's opener or another call in it
};

/// Whether a name must be one of the request's tools for text to be a call.
enum class KnownTools : std::uint8_t {
  any,
  if_given,  // yes, where the request's tools are known
  required,  // yes; without tools there are no calls
};

/// What shows that a call begins, besides its opener.
struct CallStart {
  BarePlace place = BarePlace::nowhere;
  bool fenced = false;        // a fenced block may stand around bare calls
  std::string letters;        // the first letters of the body; empty: anything
  std::string second;         // the letters after that; empty: anything
  bool may_be_text = false;   // what opens it may be content: it is a call only if it reads as one
  bool after_header = false;  // a header that names the tool, or says that calls follow, opens it
  KnownTools known_tools = KnownTools::any;
  bool is_slip = false;     // not this family's: it counts only where slips are mended
  bool is_certain = false;  // guided decoding wrote it: a bare body is a call whatever it says
  bool operator==(const CallStart&) const = default;
};

/// One form of a call.
struct CallRegion {
  MarkerTexts open;
  MarkerTexts close;
  MarkerTexts next;  // opens another call where the last one's closer has yet to come
  CallStart start;
  std::string separators;  // letters that may stand between two calls
  NameSlot name;
  BodySlot body;

  BodyKind kind() const { return static_cast<BodyKind>(body.index()); }
  bool is(BodyKind wanted) const { return kind() == wanted; }
  /// The body's slot; null if it is of another kind.
  template <typename Slot>
  const Slot* body_as() const {
    return std::get_if<Slot>(&body);
  }
  /// The texts of all its markers.
  std::vector<std::string_view> texts() const;
  bool is_bare() const { return start.place != BarePlace::nowhere; }
  /// Nothing marks its beginning, so it may turn out to be content.
  bool is_tentative() const { return (is_bare() && !start.is_certain) || start.may_be_text; }
  /// A fenced block may stand around the bare call; its end closes the call.
  void allow_fence() {
    start.fenced = true;
    close.texts = {"```"};
    close.before.assign(1, '\n');
  }
  bool operator==(const CallRegion&) const = default;
};

/// What becomes of a call that opens inside reasoning.
enum class CallsInReasoning : std::uint8_t {
  keep,          // it is text
  end,           // it ends the reasoning
  wait_and_see,  // it is text if the reasoning goes on and closes after it, else a call
};

struct ReasoningRegion {
  MarkerTexts open;
  MarkerTexts close;
  std::string label;  // may follow the opener, and is markup as a whole
  CallsInReasoning calls = CallsInReasoning::wait_and_see;
};

/// What the template writes around text. Between `open` and `close`, where there is one, is a
/// header: markup too, and what it says may decide what follows it.
struct MarkupRegion {
  MarkerTexts open;
  MarkerTexts close;
  std::string recipient;               // what follows this names the tool that is called
  std::vector<std::string> not_tools;  // recipients that are none
  std::vector<std::string> reasoning;  // words that say that reasoning follows
  std::vector<std::string> calls;      // words that say that calls follow
  std::string header;                  // a pattern of what a header may say; empty: anything
  bool names_tool = false;             // a header is the name of the tool that is called
  bool is_inline = false;              // it stands within text and reasoning, which go on after it

  bool has_header() const { return !close.is_empty(); }
  bool says_what_follows() const {
    return names_tool || !recipient.empty() || !reasoning.empty() || !calls.empty();
  }
  bool operator==(const MarkupRegion&) const = default;
};

/// What stands around all calls.
struct SectionRegion {
  MarkerTexts open;
  MarkerTexts close;
};

enum class CallIdStyle : std::uint8_t {
  random,     // call_ and 24 letters and digits
  nine,       // nine letters and digits, as Mistral's templates demand
  functions,  // functions.NAME:INDEX, as Kimi's templates demand
};

struct Program {
  std::string name;
  std::vector<std::string> turn;  // what the prompt writes last, where the answer begins
  std::vector<std::string> ends;  // dropped wherever no body is open: end-of-turn tokens
  std::optional<ReasoningRegion> reasoning;
  std::vector<MarkupRegion> markup;
  SectionRegion section;
  std::vector<CallRegion> calls;
  std::vector<MarkerTexts> call_texts;  // openers of calls that are content: they end a header
  CallIdStyle call_ids = CallIdStyle::random;
  std::uint64_t fingerprint = 0;  // of what it was made from

  /// Headers say where reasoning begins; its own opener then only serves to read the prompt.
  bool has_reasoning_headers() const {
    return std::any_of(markup.begin(), markup.end(),
                       [](const MarkupRegion& region) { return !region.reasoning.empty(); });
  }
};

/// How far a marker's text is trusted where the vocabulary holds it as a token.
enum class MarkerTrust : std::uint8_t {
  by_id,    // only the token counts
  by_text,  // its spelling counts, however it was tokenised
  either,
  // Only the token counts, and outside of what tokens open only a marker that holds one.
  strict,
};

}  // namespace unspool
