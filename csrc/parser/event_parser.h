// What a stream drives: text and tokens in, events out, whatever kind of format says what they
// mean.
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
#include "text/archive.h"
#include "text/held.h"

namespace unspool {

/// What is open at a moment.
enum class Region : std::uint8_t { content, reasoning, tool_call };

/// What becomes of a call to a tool that the request does not offer.
enum class UnknownTools : std::uint8_t {
  forward,  // it is a call like any other
  content,  // its text is content
  drop,     // it is reported in Message::dropped, and not sent
};

/// What becomes of white space at the ends of content and reasoning.
enum class WhiteSpace : std::uint8_t {
  keep,  // it stays, but for what belongs to the format's markers
  trim,
};

struct ParserOptions {
  std::shared_ptr<const ToolSchemas> tools;  // null: the request's tools are not known
  std::optional<bool> starts_in_reasoning;   // nullopt: as the format says
  std::uint64_t id_seed = 0;                 // 0: random call ids
  std::int32_t choice = 0;                   // which of the request's answers this is
  bool by_id = false;                        // markers that are tokens are known by id
  bool audit = false;                        // report the fate of every byte
  /// Null: no labels. Else the audit has the parts of calls, and the paths of arguments stand here.
  std::shared_ptr<CallPaths> label_paths;
  bool only_reasoning = false;  // whatever is not reasoning is content, as the model wrote it
  bool call_text = false;  // a CallFilter follows: it needs the calls' text, and makes their ids
  UnknownTools unknown_tools = UnknownTools::forward;
  WhiteSpace white_space = WhiteSpace::keep;
  bool parallel_calls = true;  // false: only the first call is sent, the rest is reported
  bool repair = false;         // almost-JSON is read as JSON, and what was cut off is closed
  ParserLimits limits;
};

class EventParser {
 public:
  virtual ~EventParser() = default;

  /// A copy that reads on by itself. It shares what no output changes, and `label_paths`.
  virtual std::unique_ptr<EventParser> clone() const = 0;

  /// Puts `ParserOptions::label_paths` elsewhere: those so far stand there too.
  virtual void write_paths_to(std::shared_ptr<CallPaths>) {}

  /// Markers that are tokens come by id from now on. Only before the first input.
  virtual void expect_ids() = 0;

  /// Where the output starts, as the prompt says. Only before the first input.
  virtual void put_prompt(std::string_view prompt) = 0;

  /// Reads text, valid UTF-8 in whole characters. `token_end`: how many tokens the stream has had.
  virtual void put_text(std::string_view text, std::uint64_t token_end, Events& out) = 0;

  /// Reads a token that the format knows by its id.
  virtual void put_token(Symbol symbol, std::uint64_t token_end, Events& out) = 0;

  /// Reads a special token that is no marker of the format. Headers, names and calls read its text;
  /// content and reasoning leave it out.
  virtual void put_special(std::string_view text, std::uint64_t token_end, Events& out) = 0;

  /// Whether the text of a special token would be read now, not left out.
  virtual bool reads_special() const = 0;

  /// Ends the stream. No put may follow.
  virtual void finish(FinishReason reason, std::uint64_t token_end, Events& out) = 0;

  /// What is open now; constant time.
  virtual Region region() const = 0;

  /// Whether what was read last may turn out to be a call or content.
  virtual bool is_undecided() const = 0;

  /// How many calls have been announced.
  virtual std::uint32_t call_count() const = 0;

  /// Appends what was read and no event has reported yet.
  virtual void add_held(Held& out) const = 0;

  /// The same where a call's text is emitted in place of the call.
  virtual void add_held_text(Held& out) const { add_held(out); }

  /// Fields of the message that have no event, as a JSON object; empty where there are none.
  virtual std::string extra() const { return {}; }

  /// What it has read: of one that was made with the same format and options. The places in the
  /// calls' arguments have been read before.
  virtual void visit(Archive& archive) = 0;
};

/// The parser for a format: of markers, or a response template.
std::unique_ptr<EventParser> make_event_parser(std::shared_ptr<const Format> format,
                                               ParserOptions options);

/// Whether the output that follows a prompt starts inside the reasoning; null: it is not known.
bool starts_in_reasoning(std::shared_ptr<const Format> format,
                         const std::optional<std::string_view>& prompt);

/// Says in a state which class wrote it.
enum EventParserClass : std::uint8_t {
  kParser,
  kTemplateParser,
  kCallEndFilter,
  kCallFilter,
  kReasoningSplitter,
  kTextTrim,
};

/// What the parts of a parser's state may refer to; they must be the writer's.
void know_tools(Archive& archive, const ToolSchemas* tools);

}  // namespace unspool
