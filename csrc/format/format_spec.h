// One model family's output, as its file in parsers/ describes it: plain data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "format/type_set.h"

namespace unspool {

/// What opens or closes a region: any of `texts`, with the white space that the template writes
/// around it. White space is markup only as far as it is there: a prefix of `after` and a suffix of
/// `before` count too.
struct MarkerSpec {
  std::vector<std::string> texts;
  std::string before;
  std::string after;

  bool is_empty() const { return texts.empty(); }
  bool operator==(const MarkerSpec&) const = default;
};

/// How a call's arguments are written.
enum class BodyKind : std::uint8_t {
  json_call,          // {"name": "f", "arguments": {...}}, or a list of these
  json_arguments,     // {...}
  literal_arguments,  // {city:<|"|>Paris<|"|>}
  pythonic,           // f(city="Paris"), or a list of these
  xml_parameters,     // <parameter=city>Paris</parameter>
  xml_elements,       // <city>Paris</city>, elements within elements
};

/// Where a call without an opener of its own may begin.
enum class BarePlace : std::uint8_t {
  nowhere,
  start,    // only white space before it in the message
  line,     // at the start of any line, or after the opening line of a fenced block
  section,  // after a section's opener or another call in it
};

/// How the white space around a parameter's value is read.
enum class ValueTrim : std::uint8_t {
  none,     // every byte is the value's
  newline,  // one line break at each side is markup
  space,    // all white space at both sides is markup
};

enum class CallIdStyle : std::uint8_t {
  random,     // call_ and 24 letters and digits
  nine,       // nine letters and digits, as Mistral's templates demand
  functions,  // functions.NAME:INDEX, as Kimi's templates demand
};

/// Whether a name must be one of the request's tools for text to be a call.
enum class KnownTools : std::uint8_t {
  any,
  if_given,  // yes, where the request's tools are known
  required,  // yes; without tools there are no calls
};

struct JsonCallSpec {
  std::vector<std::string> name_keys{"name"};
  std::vector<std::string> arguments_keys{"arguments", "parameters"};
  std::vector<std::string> id_keys{"id"};
  std::vector<std::string> wrapper_keys{"function"};
  bool name_is_key = false;  // {"f": {...}}
  bool must_fit = false;  // it is a call only if it fits the tool's schema: this shows at its end
  bool python = false;    // Python's literals: {'name': 'f', 'arguments': {'on': True}}
  bool operator==(const JsonCallSpec&) const = default;
};

struct XmlParametersSpec {
  MarkerSpec open;                    // <parameter=
  MarkerSpec name_close;              // > : the value begins
  MarkerSpec close;                   // </parameter>
  std::vector<std::string> name_end;  // end the name before name_close; attributes may follow
  std::vector<std::pair<std::string, TypeSet>> types;  // an attribute's text, what the value is
  std::string value_open;                              // may stand before a value: <![CDATA[
  ValueTrim trim = ValueTrim::newline;
  bool name_entities = false;  // &amp; in a name stands for &
  bool guess_types = false;    // a parameter without a schema may be JSON of another type
  bool entities = false;       // &lt; in a value stands for <
  bool python_values = false;  // lists and objects may be written as Python writes them
  bool json_body = false;      // one JSON object may stand in place of all parameters
  MarkerSpec json_open;        // may stand before that object
  MarkerSpec json_close;       // and after it
  bool is_keyless = false;     // the text up to the call's closer is the tool's only parameter
  bool operator==(const XmlParametersSpec&) const = default;
};

struct XmlElementsSpec {
  MarkerSpec open;  // < of a tag; a slash after it makes it a closing one
  bool operator==(const XmlElementsSpec&) const = default;
};

struct CallSpec {
  MarkerSpec open;
  MarkerSpec close;
  BarePlace bare = BarePlace::nowhere;
  bool fenced = false;        // a fenced block may stand around bare calls
  std::string starts;         // the first letters of the body; empty: anything
  std::string second;         // the letters after that; empty: anything
  bool may_be_text = false;   // what opens it may be content: it is a call only if it reads as one
  std::string separators;     // letters that may stand between two calls
  MarkerSpec name_close;      // ends a name that stands outside the body
  std::string name_stops;     // the body's first letter ends the name too
  std::string name_prefix;    // dropped from the name
  bool name_is_id = false;    // the whole header is the call's id; the name ends before :NUMBER
  bool name_twice = false;    // f.f is the tool f
  std::string id_open;        // after the name: what follows is the call's id
  std::string id_close;       // before the name: what stands before it is the call's id
  MarkerSpec next;            // opens another call where the last one's closer has yet to come
  bool by_recipient = false;  // a header's recipient names the tool
  std::string fixed_name;     // the name is known beforehand (a named tool choice)
  KnownTools known_tools = KnownTools::any;
  bool is_slip = false;     // not this family's: it counts only where slips are mended
  bool is_certain = false;  // guided decoding wrote it: a bare body is a call whatever it says
  BodyKind body = BodyKind::json_call;
  JsonCallSpec json_call;
  XmlParametersSpec xml_parameters;
  XmlElementsSpec xml_elements;
  MarkerSpec quotes;  // of literal_arguments: around strings

  /// Nothing marks its beginning, so it may turn out to be content.
  bool is_tentative() const { return (bare != BarePlace::nowhere && !is_certain) || may_be_text; }
  /// A fenced block may stand around the bare call; its end closes the call.
  void allow_fence() {
    fenced = true;
    close.texts = {"```"};
    close.before.assign(1, '\n');
  }
  bool has_name_outside() const { return !name_close.is_empty() || !name_stops.empty(); }
  bool operator==(const CallSpec&) const = default;
};

/// What becomes of a call that opens inside reasoning.
enum class CallsInReasoning : std::uint8_t {
  keep,          // it is text
  end,           // it ends the reasoning
  wait_and_see,  // it is text if the reasoning goes on and closes after it, else a call
};

struct ReasoningSpec {
  MarkerSpec open;
  MarkerSpec close;
  std::string label;  // may follow the opener, and is markup as a whole
  CallsInReasoning calls = CallsInReasoning::wait_and_see;
};

/// What the template writes around text. Between `open` and `close`, where there is one, is a
/// header: markup too, and what it says may decide what follows it.
struct MarkupSpec {
  MarkerSpec open;
  MarkerSpec close;
  std::string recipient;               // what follows this names the tool that is called
  std::vector<std::string> not_tools;  // recipients that are none
  std::vector<std::string> reasoning;  // words that say that reasoning follows
  std::vector<std::string> calls;      // words that say that calls follow
  std::string header;                  // a pattern of what a header may say; empty: anything
  bool names_tool = false;             // a header is the name of the tool that is called
  bool is_inline = false;              // it stands within text and reasoning, which go on after it

  bool has_header() const { return !close.is_empty(); }
  bool tells() const {
    return names_tool || !recipient.empty() || !reasoning.empty() || !calls.empty();
  }
  bool operator==(const MarkupSpec&) const = default;
};

struct FormatSpec {
  std::string name;
  std::vector<std::string> turn;    // what the prompt writes last, where the answer begins
  std::vector<std::string> ignore;  // dropped wherever no body is open: end-of-turn tokens
  std::optional<ReasoningSpec> reasoning;
  std::vector<MarkupSpec> markup;
  MarkerSpec section_open;  // around all calls
  MarkerSpec section_close;
  std::vector<CallSpec> calls;
  std::vector<MarkerSpec> call_texts;  // openers of calls that are content: they end a header
  CallIdStyle call_ids = CallIdStyle::random;

  bool headers_tell_reasoning() const {
    return std::any_of(markup.begin(), markup.end(),
                       [](const MarkupSpec& spec) { return !spec.reasoning.empty(); });
  }
};

/// How far a marker's text is trusted where the vocabulary holds it as a token.
enum class MarkerTrust : std::uint8_t {
  by_id,    // only the token counts
  by_text,  // its spelling counts, however it was tokenised
  either,
};

}  // namespace unspool
