#include "parser/turn_reader.h"

#include <string>
#include <utility>

#include "format/turn.h"
#include "text/white_space.h"

namespace unspool {

void TurnReader::begin() {
  read(turn_without_prompt(core_.program()));
  if (!core_.options().starts_in_reasoning) return;
  const bool in_reasoning = *core_.options().starts_in_reasoning;
  const bool names_tool = at_.state == State::markup && header_.markup().names_tool;
  // The caller knows better than the format's own turn. A header that the turn opened stays open,
  // unless it would take the output for a tool's name.
  if (in_reasoning || at_.state == State::reasoning || names_tool) {
    forget(in_reasoning ? State::reasoning : State::content);
  }
}

void TurnReader::read(std::string_view turn) {
  forget(begins_in_reasoning(core_.program(), turn) ? State::reasoning : State::content);
  if (turn.empty()) return;
  read_quietly(turn);
  keep_what_is_open();
}

void TurnReader::read_quietly(std::string_view turn) {
  Events unused;
  // The prompt is not output: its events go nowhere.
  core_.write_to(unused, 0);
  core_.read_turn([&] {
    core_.reset_cursor();
    parser_.read_text(turn);
    if (at_.state == State::content || at_.state == State::reasoning) flush_cursor();
    trial_.act();
    // The prompt is complete, so what is still on trial counts. A header may go on in the output.
    if (at_.state != State::markup) core_.settle_trial();
  });
}

// Keeps what the turn has opened: the reasoning, a header, all calls, or one call before its name.
void TurnReader::keep_what_is_open() {
  if (at_.state == State::markup && header_.markup().is_inline) at_.state = at_.markup_return;
  if (at_.state == State::markup) return try_header();
  // `forget` resets the position; only what the output continues is copied back.
  const Place read = at_;
  const bool opens_call =
      read.is_in_call() && !core_.calls.is_open() && is_blank(call_.after_opener());
  const bool is_text = read.state == State::content ? read.boundary != Boundary::after_markup
                                                    : read.state != State::reasoning && !opens_call;
  // Nothing is open that the output could continue.
  if (is_text) return forget(State::content);
  forget(read.state, true);
  at_.call = read.call;
  at_.skip = read.skip;
  at_.skip_is_reasonings = read.skip_is_reasonings;
  at_.in_section = read.in_section;
  // Between the calls of a section, where a bare call may begin.
  if (read.in_section && read.state == State::content) at_.boundary = Boundary::after_markup;
  if (read.label_read == 0) at_.label_read = 0;
  core_.reset_cursor();
}

// The turn has opened a header. If the output does not continue one, all of it is content.
void TurnReader::try_header() {
  const std::size_t markup = at_.markup;
  std::string header = std::move(core_.raw);
  forget(State::content);
  core_.begin_trial({}, false);
  core_.trial.tries_call = core_.trial.opens_section = core_.trial.is_word = false;
  // A trial without a marker: if the header fails, all that the output wrote is content.
  core_.trial.is_amid_line = true;
  header_.go_on(markup, std::move(header));
}

void TurnReader::forget(State state, bool keeps_body) {
  at_ = {};
  core_.raw.clear();
  core_.specials.clear();
  call_.reset(keeps_body);
  header_.reset();
  core_.trial.end();
  core_.trial.forget();
  core_.trial.outcome = Outcome::open;
  core_.trial.replay_left = 0;
  core_.calls.go_back({});
  core_.enter(state);
}

}  // namespace unspool
