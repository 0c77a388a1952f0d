// The one state machine: text and marker tokens in, events out. It knows no model; the format does.
//
//             reasoning opens            a call opens            its body ends
//   content ───────────────► reasoning  ─────────────► opening ─► header ─► body ──┐
//      ▲  ▲                     │                          │         │       │     │
//      │  └── reasoning closes ─┘                          └─────────┴───────┴─► malformed
//      └───────────────────────────────────────────────────────────────────────────┘
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "body/body.h"
#include "format/format.h"
#include "format/schema.h"
#include "parser/call_writer.h"
#include "parser/event_parser.h"
#include "parser/trial.h"
#include "text/regex.h"

namespace unspool {

/// One stream's parser. One thread at a time; no model output makes it throw.
class Parser final : public EventParser, private CallSink {
 public:
  Parser(std::shared_ptr<const Format> format, ParserOptions options);
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  /// Markers that are tokens come by id from now on. Only before the first input.
  void expect_ids() override {
    by_id_ = true;
    reset_cursor();
  }

  /// Where the output starts, as the prompt tells. Only before the first input.
  void start_at(const Format::Start& start);
  void put_prompt(std::string_view prompt) override { start_at(format_->start_after(prompt)); }

  /// Reads text, valid UTF-8 in whole characters. `token_end`: how many tokens the stream has had.
  void put_text(std::string_view text, std::uint64_t token_end, Events& out) override;

  /// Reads a token that the format knows by its id.
  void put_token(Symbol symbol, std::uint64_t token_end, Events& out) override;

  /// Reads a special token that is no marker of the format.
  void put_special(std::string_view text, std::uint64_t token_end, Events& out) override;
  bool reads_special() const override {
    return state_ != State::content && state_ != State::reasoning && state_ != State::beginning &&
           state_ != State::fence;
  }

  /// Ends the stream. No put may follow.
  void finish(FinishReason reason, std::uint64_t token_end, Events& out) override;

  /// What is open now; constant time.
  Region region() const override;

  /// Whether what was read last may turn out to be a call or content.
  bool is_undecided() const override;

  /// How many calls have been announced.
  std::uint32_t call_count() const override {
    return calls_.count_to(trial_.is_on() ? place_.calls.index : calls_.index());
  }

  /// Appends what was read and no event has told of yet.
  void add_held(Held& out) const override { add_held(out, calls_.is_over()); }
  void add_held_text(Held& out) const override { add_held(out, true); }

 private:
  enum class State : std::uint8_t {
    content,
    reasoning,
    beginning,  // the output may go on with a header that the prompt has opened
    markup,     // inside a header of markup
    fence,      // in the opening line of a fenced block
    opening,    // behind a call's opener
    header,     // inside a name that stands outside the body
    body,
    malformed,
  };
  /// What white space means here: between two pieces of markup it is markup itself.
  enum class Boundary : std::uint8_t { none, start, after_markup };
  /// Where in a line the text stands; a call without an opener may begin only at some places.
  enum class Line : std::uint8_t { start, begin, inside };
  /// What a trial comes to, once the input of this step is kept.
  enum class Outcome : std::uint8_t { open, mention, empty, rehearsal };
  /// Where the parser stands at a marker, to go back to.
  struct Place {
    State state;
    Boundary boundary;
    Line line;
    bool in_section, in_fence, closer_pending, may_chain, reasoning_is_empty, has_content;
    std::string_view skip;
    bool skip_is_reasonings;
    std::string space, idle;
    std::uint8_t call;
    bool closer_is_calls;
    CallWriter::Place calls;
    std::uint64_t audited_bytes;
  };

  // CallSink
  bool begin_call(std::string_view name, std::string_view id) override;
  void put_arguments(std::string_view fragment) override;
  void end_call() override;
  const ToolSchemas* tools() const override { return tools_.get(); }

  const CallSpec& call() const { return format_->spec().calls[call_]; }
  const MarkerTable& markers() const { return by_id_ ? format_->by_id() : format_->by_text(); }
  void enter(State state);
  void reset_cursor();

  void add_held(Held& out, bool as_text) const;
  void write_to(Events& out);
  void read_all(std::string_view text);
  void read_again(const Letters& letters);
  void read_again(std::string_view text);
  void read_token(Symbol symbol, std::string_view literal);
  void read_special(std::string_view text);
  std::size_t read_some(std::string_view text);

  void begin_trial(const MarkerCursor::Found& found);
  void settle_trial();
  // Text or a token has been read while `trial` was the latest trial.
  void after_reading(std::uint64_t trial, std::string_view text, Symbol symbol) {
    if (!trial_.is_on() && outcome_ == Outcome::open && replay_left_ == 0) return;
    keep_input(trial, text, symbol);
    act();
  }
  void keep_input(std::uint64_t trial, std::string_view text, Symbol symbol);
  void act();
  void drop_trial();
  void read_as_mention();
  void read_as_empty();
  void read_as_rehearsal(std::string_view behind);
  void end_trial(FinishReason reason);
  bool gives_up_section();
  bool is_rehearsing() const {
    return trial_.is_on() && tries_call_ && place_.state == State::reasoning &&
           format_->spec().reasoning->calls == CallsInReasoning::wait_and_see;
  }
  bool has_rehearsed() const { return is_rehearsing() && calls_.index() > place_.calls.index; }
  bool is_read_again(const MarkerCursor::Found& found) const {
    return replay_left_ > found.consumed;
  }
  bool is_amid_text() const {
    if (state_ == State::reasoning) return !reasoning_is_empty_;
    return state_ == State::content && boundary_ == Boundary::none;
  }
  bool is_mention(Role role, const MarkerCursor::Found& found) const;
  void hold_idle(std::string_view marker);
  std::size_t read_content(std::string_view text);
  std::size_t read_bare(std::string_view text);
  std::size_t read_candidate(std::string_view text);
  std::size_t read_fence(char byte);
  std::size_t read_beginning(char byte);
  std::size_t read_markup(std::string_view text);
  std::size_t read_opening(char byte);
  std::size_t read_header(char byte);
  std::size_t read_body(std::string_view text);

  void on_marker(const MarkerCursor::Found& found);
  void on_opener(const MarkerCursor::Found& found);
  bool on_opener_again(const MarkerCursor::Found& found);
  void on_markup(const MarkerCursor::Found& found);
  void on_inline_markup(const MarkerCursor::Found& found);
  bool fits_header(std::string_view header, bool is_whole);
  void give_up_header(std::string_view header);
  void on_markup_end(const MarkerCursor::Found& found);
  bool call_recipient(std::string_view header);
  void on_closer(Role role, const MarkerCursor::Found& found);
  void on_header_end(const MarkerCursor::Found& found);
  void on_malformed_end(const MarkerCursor::Found& found);
  void on_body(const BodyResult& result, std::string_view text, bool was_announced);
  void on_failure(const char* problem, const Letters& unread);

  bool chains_at(char byte) const;
  int bare_call_at(char byte) const;
  void begin_bare(std::uint8_t call, bool has_closer);
  std::string_view without_prefix(std::string_view name) const;
  bool name_call();
  bool was_mention() const;
  void make_call_body(std::string_view name, bool in_parameter);
  void end_call(CallStatus status);
  void put_call_text(Fate fate, std::string_view text);
  bool keeps_call_text() const { return audits_ || calls_.wants_text(); }
  void end_body(bool closed);
  void finish_body(FinishReason reason);
  void finish_malformed(FinishReason reason);

  void release(std::string_view text);
  void release_content(std::string_view text);
  void release_reasoning(std::string_view text);
  void release_raw_as_content();
  void emit_content(std::string_view text);
  void emit_malformed(std::string_view text);
  std::string_view drop_skipped(std::string_view text);
  std::string_view drop_label(std::string_view text);
  void end_label();
  bool fits_label(std::string_view text) const;
  void emit_reasoning(std::string_view text);
  void drop_space(Fate fate, bool of_reasoning = false);
  void after_markup(std::string_view skip);
  void audit(Fate fate, std::string_view text, bool of_reasoning = false) {
    if (audits_) add_audit(fate, text, of_reasoning, -1);
  }
  void add_audit(Fate fate, std::string_view text, bool of_reasoning, std::int32_t call);
  void ignore(std::string_view marker, std::size_t kept = 0);
  void audit_header(std::string_view header, bool of_reasoning = false);

  std::shared_ptr<const Format> format_;
  std::shared_ptr<const ToolSchemas> tools_;
  bool by_id_;
  bool audits_;
  bool splits_;  // for a ReasoningSplitter
  bool repair_;
  std::size_t max_held_bytes_;
  Events* out_ = nullptr;       // where events go: the caller's, or the trial's
  Events* main_out_ = nullptr;  // the caller's
  std::uint64_t token_end_ = 0;

  State state_ = State::content;
  MarkerCursor cursor_;
  // Between regions:
  Boundary boundary_ = Boundary::start;
  Line line_ = Line::start;
  int bare_candidate_ = -1;  // the call that may have begun, while it may be a marker too
  bool in_section_ = false;
  bool in_fence_ = false;
  bool closer_pending_ = false;  // the last call's closer has yet to come
  bool may_chain_ = false;       // another call of the same kind may follow without an opener
  bool reasoning_is_empty_ = true;
  std::size_t label_read_ = std::string::npos;  // of ReasoningSpec::label; npos: not looked for
  bool has_content_ = false;
  char last_byte_ = '\n';                 // of what was emitted between calls
  State markup_return_ = State::content;  // where inline markup stands
  std::string_view skip_;                 // white space that the last marker takes with it
  bool skip_is_reasonings_ = false;       // that marker was the reasoning's
  std::string space_;                     // white space that may turn out to be markup
  std::string idle_;  // before `space_`: a marker that changes nothing; text if text follows
  // A marker that may be a mention:
  Trial trial_;
  Place place_;                   // where it stands
  bool is_amid_line_ = false;     // where its marker stands
  bool tries_call_ = false;       // its marker opens a call, or a section of calls
  bool is_word_ = false;          // its marker may be a word of the text
  bool has_call_markup_ = false;  // markup of a call came behind it
  Outcome outcome_ = Outcome::open;
  MarkerCursor::Found closes_rehearsal_;  // the marker that did
  std::size_t rehearsed_bytes_ = 0;       // of reasoning behind a rehearsed call
  std::size_t replay_left_ = 0;           // of the input that is read again
  // The call being read:
  std::uint8_t markup_ = 0;                     // index of the header being read
  std::unique_ptr<RegexSearch> header_search_;  // over it
  std::string header_opener_;  // where it splits: its opener, until it tells what it opens
  bool is_begun_ = false;      // no marker opened it
  std::uint8_t call_ = 0;
  std::size_t opener_ = 0;  // index into Format::openers()
  std::unique_ptr<Body> body_;
  bool in_parameter_ = false;     // the marker that ended the name opened a parameter
  bool closer_is_calls_ = false;  // the last call had an opener of its own, and no closer yet
  bool body_called_ = false;      // the body has begun a call
  bool has_closer_ = false;
  std::string raw_;  // what was read of it before it was announced
  std::vector<std::pair<std::size_t, std::size_t>> specials_;  // in it: begin and size
  std::size_t raw_opener_ = 0;                                 // length of the opener in it
  std::string name_;
  std::string pending_text_;  // read by the body, and not certain to be the call's
  const char* problem_ = "";
  bool malformed_is_empty_ = true;
  // The audit's order:
  struct Ignored {
    std::uint64_t at;  // how many bytes stand before it
    std::string text;
  };
  std::vector<Ignored> ignored_;
  std::uint64_t audited_bytes_ = 0;
  CallWriter calls_;
};

}  // namespace unspool
