// The state machine for all models: text and marker tokens in, events out. The format holds what is
// specific to a model. Each region has its reader. This file passes input to the reader of the open
// region, and handles the markers between regions.
//
//             reasoning opens            a call opens            its body ends
//   content ───────────────► reasoning  ─────────────► opening ─► header ─► body ──┐
//      ▲  ▲                     │                          │         │       │     │
//      │  └── reasoning closes ─┘                          └─────────┴───────┴─► malformed
//      └───────────────────────────────────────────────────────────────────────────┘
//
//   region (Place::State)      its text is read by      the markers in it
//   content, fence             ContentReader            all that open; closers, which are markup
//   reasoning                  ParserCore               its closer; calls, which may be rehearsed
//   markup                     HeaderReader             the header's closer
//   opening, header, body      CallReader               the call's own
//   malformed                  CallReader               what may follow the call
//
// A marker that may be a mention is tried first (TrialReader). The part of the answer that the
// prompt has written is read like output (TurnReader), but it is not emitted.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "format/format.h"
#include "format/turn.h"
#include "parser/call_reader.h"
#include "parser/content_reader.h"
#include "parser/echo_reader.h"
#include "parser/event_parser.h"
#include "parser/header_reader.h"
#include "parser/parser_core.h"
#include "parser/trial_reader.h"
#include "parser/turn_reader.h"
#include "text/archive.h"

namespace unspool {

/// The parser of one stream. Not thread-safe; no model output makes it throw.
class Parser final : public EventParser, private Dispatcher {
 public:
  Parser(std::shared_ptr<const Format> format, ParserOptions options);

  std::unique_ptr<EventParser> clone() const override {
    return std::unique_ptr<Parser>(new Parser(*this));
  }
  void write_paths_to(std::shared_ptr<CallPaths> paths) override {
    core_.write_paths_to(std::move(paths));
  }
  void expect_ids() override;
  void put_prompt(std::string_view prompt) override { turn_.read_prompt(prompt); }
  void put_text(std::string_view text, std::uint64_t token_end, Events& out) override;
  void put_token(Symbol symbol, std::uint64_t token_end, Events& out) override;
  void put_special(std::string_view text, std::uint64_t token_end, Events& out) override;
  bool reads_special() const override;
  void finish(FinishReason reason, std::uint64_t token_end, Events& out) override;

  Region region() const override;
  Progress progress() const override;
  Rest rest() const override;
  std::string_view held_at_rest() const override { return core_.cursor.held(); }
  void pass_over(const Passed& passed) override;
  void hear(PassedLine before, std::string_view text, Rest& rest) override;
  void add_held(Held& out) const override { add_held(out, core_.calls.is_over()); }
  void add_held_text(Held& out) const override { add_held(out, true); }

  void visit(Archive& archive) override;

 private:
  using State = Place::State;

  Parser(const Parser& other);

  // Dispatcher
  void release(std::string_view text) override;
  void on_marker(const MarkerCursor::Found& match) override;
  void on_markup(const MarkerCursor::Found& match) override { header_.on_markup(match); }
  void on_closer(Role role, const MarkerCursor::Found& match) override;
  void read_again(const Letters& letters) override;
  void read_text(std::string_view text) override;
  void read_token(Symbol symbol, std::string_view literal) override;
  void read_special(std::string_view text) override;
  void leave_out(std::string_view text);

  void read_step(std::string_view& text, Symbol kind);
  std::size_t read_some(std::string_view text);
  void read_letter(Symbol symbol, std::string_view literal);
  void on_marker_in_text(const MarkerCursor::Found& match);
  bool read_idle(const MarkerCursor::Found& match);
  bool closes_nothing(Role role) const;
  void read_stray(const MarkerCursor::Found& match);
  void drop_stray(std::string_view marker);
  bool read_stray_token(Symbol symbol, std::string_view literal);
  void cross(const MarkerCursor::Found& match);
  void on_reasoning(Role role);
  void on_own_closer(const MarkerCursor::Found& match);
  Region region_of_state() const;
  void finish_text();
  void add_quotes(Rest& rest) const;
  void add_held(Held& out, bool as_text) const;
  void add_all_held(Held& out, bool as_text) const;

  ParserCore core_;
  CallReader call_;
  EchoReader echo_;
  ContentReader content_;
  HeaderReader header_;
  TrialReader trial_;
  TurnReader turn_;
};

}  // namespace unspool
