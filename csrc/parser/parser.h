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
#include "parser/audit_trail.h"
#include "parser/call_writer.h"
#include "parser/event_parser.h"
#include "parser/header.h"
#include "parser/place.h"
#include "parser/trial.h"

namespace unspool {

/// One stream's parser. One thread at a time; no model output makes it throw.
class Parser final : public EventParser, private CallSink {
 public:
  Parser(std::shared_ptr<const Format> format, ParserOptions options);
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  /// Markers that are tokens come by id from now on. Only before the first input.
  void expect_ids() override {
    options_.by_id = true;
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
    return at_.state != State::content && at_.state != State::reasoning &&
           at_.state != State::beginning && at_.state != State::fence;
  }

  /// Ends the stream. No put may follow.
  void finish(FinishReason reason, std::uint64_t token_end, Events& out) override;

  /// What is open now; constant time.
  Region region() const override;

  /// Whether what was read last may turn out to be a call or content.
  bool is_undecided() const override;

  /// How many calls have been announced.
  std::uint32_t call_count() const override {
    return calls_.count_to(trial_.is_on() ? trial_.calls.index : calls_.index());
  }

  /// Appends what was read and no event has told of yet.
  void add_held(Held& out) const override { add_held(out, calls_.is_over()); }
  void add_held_text(Held& out) const override { add_held(out, true); }

 private:
  using State = Place::State;
  using Boundary = Place::Boundary;
  using Line = Place::Line;
  using Outcome = Trial::Outcome;
  /// The call being read.
  struct Reading {
    std::size_t opener = 0;  // index into Format::openers()
    std::unique_ptr<Body> body;
    std::uint16_t repairs = 0;  // of what stands around the body
    bool in_parameter = false;  // the marker that ended the name opened a parameter
    bool has_called = false;    // the body has begun a call
    bool has_closer = false;
    bool malformed_is_empty = true;
    const char* problem = "";
    std::string name;
    std::string raw;             // what was read of it before it was announced
    std::size_t raw_opener = 0;  // length of the opener in it
    std::vector<std::pair<std::size_t, std::size_t>> specials;  // in it: begin and size
    std::string pending_text;  // read by the body, and not certain to be the call's
  };

  // CallSink
  bool begin_call(std::string_view name, std::string_view id) override;
  void put_arguments(std::string_view fragment) override;
  void end_call() override;
  const ToolSchemas* tools() const override { return options_.tools.get(); }

  std::uint16_t repairs() const {
    return reading_.repairs | (reading_.body ? reading_.body->repairs() : 0U);
  }
  const CallSpec& call() const { return format_->spec().calls[at_.call]; }
  const MarkerTable& markers() const { return format_->markers(options_.by_id, options_.repair); }
  // The repairs of a call that begins, by the markers before it.
  std::uint16_t take_slip() {
    return std::exchange(at_.has_slip, false) ? std::uint16_t{kMarkup} : std::uint16_t{0};
  }
  void enter(State state);
  void reset_cursor();

  void add_held(Held& out, bool as_text) const;
  HeldReason why_trial_waits() const;
  void add_held_of_body(Held& out, bool as_text) const;
  void write_to(Events& out);
  void read_all(std::string_view text);
  void read_again(const Letters& letters);
  void read_again(std::string_view text);
  void read_token(Symbol symbol, std::string_view literal);
  bool read_token_after_opener(Symbol symbol, std::string_view literal);
  void read_special(std::string_view text);
  std::size_t read_some(std::string_view text);

  void begin_trial(const MarkerCursor::Found& found);
  void settle_trial();
  // Text or a token has been read while `trial` was the latest trial.
  void after_reading(std::uint64_t trial, std::string_view text, Symbol symbol) {
    if (!trial_.is_on() && trial_.outcome == Outcome::open && trial_.replay_left == 0) return;
    keep_input(trial, text, symbol);
    act();
  }
  void keep_input(std::uint64_t trial, std::string_view text, Symbol symbol);
  void act();
  void drop_trial();
  void read_as_mention();
  void read_as_empty();
  void read_as_rehearsal(std::string_view rest);
  bool reads_as_prose(bool stopped) const;
  bool ends_as_mention(bool stopped);
  void end_trial(FinishReason reason);
  bool gives_up_section();
  bool is_rehearsing() const {
    return trial_.is_on() && trial_.tries_call && trial_.place.state == State::reasoning &&
           format_->spec().reasoning->calls == CallsInReasoning::wait_and_see;
  }
  bool has_rehearsed() const { return is_rehearsing() && calls_.index() > trial_.calls.index; }
  bool is_read_again(const MarkerCursor::Found& found) const {
    return trial_.replay_left > found.consumed;
  }
  bool is_amid_text() const {
    if (at_.state == State::reasoning) return !at_.reasoning_is_empty;
    return at_.state == State::content && at_.boundary == Boundary::none;
  }
  bool is_on_trial(Role role, const MarkerCursor::Found& found) const;
  bool is_mention(Role role, const MarkerCursor::Found& found) const;
  void hold_idle(std::string_view marker);
  std::size_t read_content(std::string_view text);
  std::size_t read_bare(std::string_view text);
  bool begins_bare(char byte);
  bool begins_candidate(char byte);
  std::size_t read_candidate(std::string_view text);
  bool fence_goes_on(char byte) const;
  std::size_t read_fence(char byte);
  std::size_t read_beginning(char byte);
  std::size_t read_markup(std::string_view text);
  std::size_t read_opening(char byte);
  std::size_t read_header(char byte);
  std::size_t read_body(std::string_view text);

  void on_marker(const MarkerCursor::Found& found);
  void on_marker_in_text(Role role, const MarkerCursor::Found& found);
  bool decides_trial(Role role, const MarkerCursor::Found& found);
  const MarkupSpec* markup_of(Role role, const MarkerCursor::Found& found) const {
    return role == Role::markup_open ? &format_->spec().markup[found.marker->value] : nullptr;
  }
  bool belongs_to_reasoning(Role role, const MarkerCursor::Found& found) const;
  void cross(Role role, const MarkerCursor::Found& found);
  void on_reasoning(Role role);
  void on_section();
  void on_own_closer(const MarkerCursor::Found& found);
  void on_opener(const MarkerCursor::Found& found);
  bool on_opener_again(const MarkerCursor::Found& found);
  void on_markup(const MarkerCursor::Found& found);
  void on_inline_markup(const MarkerCursor::Found& found);
  void give_up_header(std::string_view header);
  void on_markup_end(const MarkerCursor::Found& found);
  void on_header_cut(const MarkerCursor::Found& found, const std::string& header, bool fits);
  void on_header_close(const MarkerCursor::Found& found, const std::string& header, bool fits);
  bool call_recipient(std::string_view header);
  void begin_headed(int kind);
  bool begin_calls(std::string_view header);
  void release_begun();
  void release_endless_header();
  void on_closer(Role role, const MarkerCursor::Found& found);
  void on_header_end(const MarkerCursor::Found& found);
  void on_name_cut(const MarkerCursor::Found& found);
  void on_malformed_end(const MarkerCursor::Found& found);
  void on_body(const BodyResult& result, std::string_view text, bool was_announced);
  void put_body_text(const BodyResult& result, std::string_view read, std::size_t unread);
  void end_body(const BodyResult& result);
  void on_failure(const char* problem, const Letters& unread);

  bool chains_at(char byte) const;
  int bare_call_at(char byte) const;
  void begin_bare(std::uint8_t call, bool has_closer);
  bool name_call();
  bool was_mention() const;
  void make_call_body(std::string_view name, bool in_parameter);
  void end_call(CallStatus status);
  void put_call_text(Fate fate, std::string_view text);
  bool keeps_call_text() const { return options_.audit || calls_.wants_text(); }
  void finish_text();
  void finish_header(bool is_cut);
  void finish_name();
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
    if (options_.audit) audit_trail_.put(fate, text, of_reasoning, -1, *out_);
  }
  void ignore(std::string_view marker, std::size_t kept = 0);
  void audit_header(std::string_view header, bool of_reasoning = false);

  std::shared_ptr<const Format> format_;
  ParserOptions options_;
  Events* out_ = nullptr;       // where events go: the caller's, or the trial's
  Events* main_out_ = nullptr;  // the caller's
  std::uint64_t token_end_ = 0;
  MarkerCursor cursor_;
  Place at_;
  int bare_candidate_ = -1;  // the call that may have begun, while it may be a marker too
  Trial trial_;              // of a marker that may be a mention
  Header header_;
  Reading reading_;
  CallWriter calls_;
  AuditTrail audit_trail_;
};

}  // namespace unspool
