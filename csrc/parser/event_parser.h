// The interface of all parsers: text and tokens in, events out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "format/format.h"
#include "format/schema.h"
#include "parser/arguments_guard.h"
#include "parser/call_paths.h"
#include "parser/events.h"
#include "parser/rest.h"
#include "text/archive.h"
#include "text/held.h"

namespace unspool {

/// The region that is open.
enum class Region : std::uint8_t { content, reasoning, tool_call };

/// Handling of a call to a tool that the request does not offer.
enum class UnknownTools : std::uint8_t {
  forward,  // emit it like any other call
  content,  // emit its text as content
  drop,     // report it in Message::dropped, and do not emit it
};

/// Handling of white space at the ends of content and reasoning.
enum class WhiteSpace : std::uint8_t {
  keep,  // keep it, except what belongs to the format's markers
  trim,
};

/// Handling of a call that the content quotes: in a fence, in backquotes, in a list or a quotation.
enum class CallsInFences : std::uint8_t {
  wait_and_see,  // it is text if prose follows, otherwise a call
  keep,          // it is text
  call,          // it is a call like any other
};

struct ParserOptions {
  std::shared_ptr<const ToolSchemas> tools;  // null: unknown
  std::optional<bool> starts_in_reasoning;   // nullopt: the format decides
  std::uint64_t id_seed = 0;                 // 0: random call ids
  std::int32_t choice = 0;                   // the index of the request's answer
  bool by_id = false;                        // match markers that are tokens by id
  bool audit = false;                        // report the fate of every byte
  /// Null: no labels. Otherwise the audit includes the parts of calls, and this receives the paths
  /// of arguments.
  std::shared_ptr<CallPaths> label_paths;
  bool marks_headed_text = false;  // a content event says whether a header announced it
  bool only_reasoning = false;     // everything except reasoning is content, unchanged
  bool call_text = false;  // a CallFilter follows: it needs the calls' text, and assigns their ids
  UnknownTools unknown_tools = UnknownTools::forward;
  CallsInFences calls_in_fences = CallsInFences::wait_and_see;
  WhiteSpace white_space = WhiteSpace::keep;
  bool parallel_calls = true;     // false: only the first call is emitted; the others are reported
  bool repair = false;            // accept almost-JSON, and close what was cut off
  bool reads_slips = false;       // as with `repair`, a misspelled marker counts
  bool ends_whole_calls = false;  // a call ends with its arguments; what follows is not awaited
  ParserLimits limits;
};

class EventParser {
 public:
  virtual ~EventParser() = default;

  /// An independent copy. It shares immutable data, and `label_paths`.
  virtual std::unique_ptr<EventParser> clone() const = 0;

  /// Moves `ParserOptions::label_paths`; the new list must contain the paths so far.
  virtual void write_paths_to(std::shared_ptr<CallPaths>) {}

  /// Markers that are tokens will be given by id. Call only before the first input.
  virtual void expect_ids() = 0;

  /// Derives the start of the output from the prompt. Call only before the first input.
  virtual void put_prompt(std::string_view prompt) = 0;

  /// Reads text: valid UTF-8 in whole characters. `token_end`: number of tokens in the stream so
  /// far.
  virtual void put_text(std::string_view text, std::uint64_t token_end, Events& out) = 0;

  /// Reads a token that the format matches by id.
  virtual void put_token(Symbol symbol, std::uint64_t token_end, Events& out) = 0;

  /// Reads a special token that is not a marker of the format. Headers, names and calls use its
  /// text; content and reasoning omit it.
  virtual void put_special(std::string_view text, std::uint64_t token_end, Events& out) = 0;

  /// Whether the text of a special token would be used now, not omitted.
  virtual bool reads_special() const = 0;

  /// Ends the stream. No put may follow.
  virtual void finish(FinishReason reason, std::uint64_t token_end, Events& out) = 0;

  /// The open region; constant time.
  virtual Region region() const = 0;

  struct Progress {
    Region region;
    std::uint32_t calls = 0;    // announced so far
    bool is_undecided = false;  // the last bytes could still be either a call or content
  };
  /// What the tokens read last count for.
  virtual Progress progress() const = 0;

  /// What may pass by from here on without being read; after a put.
  virtual Rest rest() const { return {}; }
  /// The text that is held there.
  virtual std::string_view held_at_rest() const { return {}; }
  /// Text has passed by since `rest`, and what was held before it.
  virtual void pass_over(const Passed&) {}
  /// A text that passes by has some of `Rest::tells`; updates what counts after it.
  virtual void hear(PassedLine /*before*/, std::string_view /*text*/, Rest&) {}

  /// Appends what was read but not yet reported by an event.
  virtual void add_held(Held& out) const = 0;

  /// The same if a call's text is emitted in place of the call.
  virtual void add_held_text(Held& out) const { add_held(out); }

  /// Fields of the message that have no event, as a JSON object; empty if there are none.
  virtual std::string extra() const { return {}; }

  /// The state; the reader must have the same format and options. The paths of the calls' arguments
  /// must have been read before.
  virtual void visit(Archive& archive) = 0;
};

/// Identifies the class that wrote a state.
enum EventParserClass : std::uint8_t {
  kParser,
  kTemplateParser,
  kCallEndFilter,
  kCallFilter,
  kReasoningSplitter,
  kTextTrim,
  kOtherCalls,
};

/// Declares the objects that a parser's state refers to; they must equal the writer's.
void know_tools(Archive& archive, const ToolSchemas* tools);

}  // namespace unspool
