// State shared by the readers of all regions: the parser's position, the markers to look for, and
// the conversion of input to events.
//
// All readers read the public members. Those who write them, besides the functions here:
//
//   token_end   TrialReader, while it reads a trial's input again
//   cursor      the reader of the current region, which puts the region's text into it
//   echo        CallReader adds the call's text; EchoReader compares what follows
//   at          each reader, when its region begins, ends or learns something for the next one
//   trial       TrialReader; Parser adds input; CallReader and HeaderReader set the outcome;
//               TurnReader resets it
//   calls       CallReader; TurnReader resets it
//   labels      CallReader; set once, by the constructor
//   raw         the reader of a header, a call or a fence: HeaderReader, CallReader, ContentReader,
//               and Parser for a token in a call's header; TurnReader resets it; also the text that
//               follows whole arguments
//   specials    Parser adds, CallReader and TurnReader clear them
//   tries       CallReader, while it reads text again that a body gave back
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "body/body.h"
#include "format/format.h"
#include "format/turn.h"
#include "parser/audit_trail.h"
#include "parser/call_labels.h"
#include "parser/call_writer.h"
#include "parser/echo.h"
#include "parser/event_parser.h"
#include "parser/events.h"
#include "parser/place.h"
#include "parser/trial.h"
#include "text/archive.h"

namespace unspool {

class ParserCore {
 public:
  ParserCore(std::shared_ptr<const Format> format, ParserOptions options);
  /// A copy writes the labels' paths to the same list, until `write_paths_to` changes that.
  ParserCore(const ParserCore&) = default;
  ParserCore& operator=(const ParserCore&) = delete;

  const Format& format() const { return *format_; }
  const Program& program() const { return program_; }
  const MarkerTable& markers() const {
    return format_->markers(options_.by_id, options_.repair || options_.reads_slips);
  }
  /// The kind of the current or the last call.
  const CallRegion& call() const { return program().calls[at.call]; }
  /// The markup that a marker opens; null for other markers.
  const MarkupRegion* markup_of(const MarkerCursor::Found& match) const {
    const bool opens = static_cast<Role>(match.marker->role) == Role::markup_open;
    return opens ? &program().markup[match.marker->value] : nullptr;
  }
  const ParserOptions& options() const { return options_; }
  /// The request's tools; null if they are unknown.
  const ToolSchemas* tools() const { return options_.tools.get(); }

  /// The output is token ids: markers are matched by id.
  void expect_ids() { options_.by_id = true; }
  /// Reads what the prompt has written of the answer. What becomes of its bytes is never emitted,
  /// however late it is known; of its calls only those are that it does not close.
  template <typename Read>
  void read_turn(const PromptTurn& turn, Read&& read) {
    auto begun = std::make_unique<Turn>(Turn{
        .header = std::string(turn.header), .written = std::string(turn.written), .before = calls});
    write_to(begun->events, 0);
    turn_ = std::move(begun);
    leave_out_turn(turn.header.size() + turn.written.size());
    calls.begin_turn();
    reads_turn_ = true;
    read();
    reads_turn_ = false;
  }
  /// The number of calls that the turn has closed; only the others are emitted.
  void close_calls(std::int32_t count);
  /// The next `bytes` are the prompt's.
  void leave_out_turn(std::size_t bytes);
  /// The prompt has written nothing of the answer.
  void forget_turn();
  /// The turn, until the output begins.
  std::optional<PromptTurn> turn() const {
    if (!turn_ || turn_->is_told) return {};
    return PromptTurn{turn_->header, turn_->written};
  }
  /// How many bytes of the prompt have no fate yet.
  std::size_t turn_left() const;
  /// The part of `text`, whose fate is known now, that is not the prompt's.
  std::string_view of_output(std::string_view text) const {
    if (!turn_) [[likely]]
      return text;
    return text.substr(std::min(text.size(), left_of_text()));
  }
  /// What became of the last bytes that are not white space; only while the turn is read.
  Fate last_fate() const { return audit_trail_->last(); }

  void write_paths_to(std::shared_ptr<CallPaths> paths) {
    options_.label_paths = paths;
    if (labels) labels->write_paths_to(std::move(paths));
  }

  /// Where a call's body marks its parts; null if labels are off.
  CallMarks* marks() { return labels ? &labels->marks() : nullptr; }

  /// Enters a region, and looks for its end.
  void enter(Place::State state);
  void reset_cursor();
  /// After a marker: white space up to the next marker is markup, and `skip` always is.
  void after_markup(std::string_view skip, Place::Headed headed = Place::Headed::no);
  /// The repairs of a call that begins, from the markers before it.
  std::uint16_t take_slip() {
    return std::exchange(at.has_slip, false) ? std::uint16_t{kMarkup} : std::uint16_t{0};
  }

  /// Sends events to `out` from now on, or to the current trial.
  void write_to(Events& out, std::uint64_t token_end);
  Events& events() { return *events_; }
  void put_content(std::string_view text);
  /// `text` follows the reasoning opener's optional label.
  void put_reasoning(std::string_view text);
  void emit_content(std::string_view text);
  void emit_reasoning(std::string_view text);
  /// A marker, or a header, that belongs to nothing.
  void put_stray(std::string_view marker);
  /// Text outside of calls that cannot be parsed.
  void put_malformed(std::string_view text, const char* problem);
  /// Text of the last call that has begun, including its markers, also after its end.
  void put_call_text(Fate fate, std::string_view text) {
    if (is_end(fate, text)) return put_call_text(fate, text, LabelPart::end, CallPaths::kRoot);
    put_call_text(fate, text, LabelPart::none, CallPaths::kRoot);
  }
  void put_call_text(Fate fate, std::string_view text, LabelPart part, CallPaths::Id path);
  bool keeps_call_text() const { return audit_trail_ || calls.wants_text() || echo.records(); }
  /// A call has ended with its closer.
  void expect_echo(std::string_view closer);
  /// Whether each byte's fate counts: with an audit, and while bytes of the prompt are left.
  bool audits() const { return audit_trail_ != nullptr; }
  void audit(Fate fate, std::string_view text, bool of_reasoning = false) {
    if (!audit_trail_) return;
    const LabelPart part = is_end(fate, text) ? LabelPart::end : LabelPart::none;
    audit_trail_->put({.fate = fate, .of_reasoning = of_reasoning, .part = part}, text, *events_);
  }
  /// The same for markers that may have been held, in order.
  void audit_idle(bool of_reasoning = false);
  /// The end of a turn, which produces no event. `kept`: how many of its bytes the trial has;
  /// `pending`: how many bytes of the call have no fate yet.
  void ignore(std::string_view marker, std::size_t kept, std::size_t pending) {
    ignore(marker, kept, pending, LabelPart::end);
  }
  /// A special token that produces no event, for the labels; `pending`: bytes that the cursor
  /// holds.
  void leave_out(std::string_view text, std::size_t pending) {
    if (labels) ignore(text, 0, pending, LabelPart::left_out);
  }

  /// Holds a marker that has no effect: markup next to other markup is markup; within text it is
  /// text.
  void hold_idle(std::string_view marker);
  /// The same for a closer that closes nothing: at the end, or before markup, it is reported.
  void hold_stray(std::string_view closer);
  bool holds_stray() const { return at.stray_end > 0; }
  /// Whether text has followed whole arguments. It is in `raw`, until the call's closer or
  /// something else shows what it is.
  bool holds_text_after_call() const { return calls.end_waits() && !raw.empty(); }
  std::string take_held() {
    at.stray_end = 0;
    return std::exchange(at.idle, {}) + std::exchange(at.space, {});
  }
  /// The held white space, and any marker in it, is markup.
  void drop_space(bool of_reasoning = false);
  /// The text after the white space that belongs to the last marker.
  std::string_view drop_skipped(std::string_view text);
  /// Reasoning that continues after a marker that might have ended it.
  void release_reasoning(std::string_view text);
  /// Emits the held text as content.
  void release_raw();
  /// Whether the label, if one is being read, can continue with this text.
  bool fits_label(std::string_view text) const;
  /// The text read as the label is markup if it is complete except for white space; otherwise
  /// reasoning.
  void end_label();

  /// Whether the last marker is within text.
  bool is_amid_text() const {
    if (at.state == Place::State::reasoning) return !at.reasoning_is_empty;
    return at.state == Place::State::content && at.boundary == Place::Boundary::none;
  }
  /// Whether a call's closer closes something between regions.
  bool closes_something() const { return at.in_section || at.closer_pending; }
  /// Whether only a marker with a token may open something here: trust is strict, and no token has
  /// opened what this is part of.
  bool needs_token() const { return is_strict() && !closes_something(); }
  /// Whether a section is on trial, and no call has been read in it.
  bool is_in_empty_section() const {
    return trial.is_on() && trial.opens_section && calls.index() == trial.start().calls.index;
  }
  /// Whether a call is on trial in reasoning that may continue after it.
  bool is_rehearsing() const {
    return trial.is_on() && trial.tries_call &&
           trial.start().place.state == Place::State::reasoning &&
           program().reasoning->calls == CallsInReasoning::wait_and_see &&
           !is_assumed(trial.start().place);
  }
  bool has_rehearsed() const { return is_rehearsing() && has_tried_call(); }
  /// Whether a quoted call is on trial: prose may follow it.
  bool is_quoting() const { return trial.is_on() && trial.quotes && trial.is_quoted; }
  bool has_quoted() const { return is_quoting() && has_tried_call(); }
  /// Whether not even a whole call ends the trial: what follows decides.
  bool waits_for_more() const { return is_rehearsing() || is_quoting(); }
  /// Whether the text that follows a call may belong to the reasoning that the call ended.
  bool may_follow_reasoning() const {
    return at.reasoning_is_cut && at.state == Place::State::content && !trial.is_on() &&
           !reads_turn_ && calls.index() >= 0 && !calls.is_open() && !at.in_section &&
           !at.reasoning_is_empty && at.boundary == Place::Boundary::after_markup;
  }
  /// Whether calls that the content quotes are handled in another way than others.
  bool minds_quotes() const { return minds_quotes_; }
  /// Whether a call that begins with this marker is quoted.
  bool is_quoted(std::string_view marker) const { return quotes_before(marker).is_quoting(); }
  bool is_in_code(std::string_view marker) const { return quotes_before(marker).is_in_code(); }
  void begin_trial(const MarkerCursor::Found& match);
  /// Begins a trial of a quoted call without an opener; `begun` is what has been read of it.
  void begin_quote(std::string_view begun);
  /// Begins a trial of the text after a call that ended the reasoning.
  void begin_after_call();
  void begin_trial(std::string_view marker, bool is_token);
  /// The trial succeeds: its events count.
  void settle_trial();
  /// Goes back to the position of the trial's marker.
  void drop_trial();

  std::uint64_t token_end = 0;  // of the input being read
  MarkerCursor cursor;
  Echo echo;  // of the last call
  Place at;
  Trial trial;  // of a marker that may be a mention
  CallWriter calls;
  ClonedPtr<CallLabels> labels;  // null: labels are off
  std::string raw;               // text of a header or a call that may turn out to be content
  std::vector<std::pair<std::size_t, std::size_t>> specials;  // in raw: begin and size
  std::uint8_t tries = Body::kMaxTries;  // how often text that is read now may be held in a body

  void visit(Archive& archive);

 private:
  // The part of the answer that the prompt has written, until all of its bytes have a fate.
  struct Turn {
    std::string header = {}, written = {};  // read again if the output is token ids
    CallWriter before;                      // the calls before it
    Events events = {};                     // of the calls that it does not close
    std::uint64_t bytes = 0;                // the first ones of the audit, which are the prompt's
    bool is_told = false;                   // the output has begun, with these events

    void visit(Archive& archive) { archive(header, written, before, events, bytes, is_told); }
  };
  // The prompt's own markers need no token.
  bool is_strict() const { return options_.by_id && format_->is_strict() && !reads_turn_; }
  std::size_t left_of(std::uint64_t bytes) const {
    return static_cast<std::size_t>(turn_->bytes - std::min(turn_->bytes, bytes));
  }
  // The same without what is left out of the text around it.
  std::size_t left_of_text() const {
    const std::size_t left = left_of(audited_bytes());
    const std::uint64_t ignored = audit_trail_ ? audit_trail_->ignored_within(turn_->bytes) : 0;
    return left - std::min<std::size_t>(left, ignored);
  }
  void begin_output();
  void begin_audit();
  std::uint64_t audited_bytes() const { return audit_trail_ ? audit_trail_->bytes() : 0; }
  // Whether the reasoning may not be open: nothing has been written of it.
  static bool is_assumed(const Place& place) {
    return place.reasoning_is_assumed && place.reasoning_is_empty;
  }
  Quotes quotes_before(std::string_view marker) const;
  bool has_tried_call() const { return calls.index() > trial.start().calls.index; }
  const MarkerSet& markers_of_content() const;
  const MarkerSet& markers_of_rehearsal() const;
  std::string_view drop_label(std::string_view text);
  bool gives_up_section(char byte);
  void hold_after_call(std::string_view text);
  void ignore(std::string_view marker, std::size_t kept, std::size_t pending, LabelPart part);
  void leave_out_specials();
  /// For the labels: whether it is a marker that ends the answer.
  bool is_end(Fate fate, std::string_view text) const {
    return fate == Fate::marker && labels &&
           std::find(program_.ends.begin(), program_.ends.end(), text) != program_.ends.end();
  }

  std::shared_ptr<const Format> format_;
  const Program& program_;  // of the format
  ParserOptions options_;
  bool minds_quotes_;  // of the format and the options
  bool reads_turn_ = false;
  ClonedPtr<Turn> turn_;
  ClonedPtr<AuditTrail> audit_trail_;  // with an audit, and while bytes of the prompt are left
  Events* events_ = nullptr;           // the caller's, or the trial's
  Events* callers_ = nullptr;
};

}  // namespace unspool
