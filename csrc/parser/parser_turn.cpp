// Where the output starts: the parser reads the prompt's last turn as it reads output.
#include <string>
#include <utility>

#include "format/turn.h"
#include "parser/parser.h"
#include "text/white_space.h"

namespace unspool {

// The output goes on from where the turn leaves off.
void Parser::begin(std::string_view turn) {
  const bool in_reasoning = begins_in_reasoning(format_->spec(), turn);
  forget_turn(in_reasoning ? State::reasoning : State::content);
  if (turn.empty()) return;
  Events unused;
  write_to(unused);
  const bool audits = std::exchange(options_.audit, false);
  const bool by_id = std::exchange(options_.by_id, false);  // the turn is text
  reads_turn_ = true;
  reset_cursor();
  read_all(turn);
  if (at_.state == State::content || at_.state == State::reasoning)
    cursor_.flush([this](std::string_view text) { release(text); });
  act();
  if (at_.state != State::markup) settle_trial();
  reads_turn_ = false;
  options_.audit = audits;
  options_.by_id = by_id;
  keep_what_is_open();
}

// What the turn opens stays open. Nothing that it says is emitted.
void Parser::keep_what_is_open() {
  if (at_.state == State::markup && header_.spec().is_inline) at_.state = at_.markup_return;
  if (at_.state == State::markup) return begin_trial_of_turn();
  const Place read = at_;
  const std::string_view said = std::string_view(reading_.raw).substr(reading_.raw_opener);
  const bool opens_call = read.is_in_call() && !calls_.is_open() && is_blank(said);
  const bool is_text = read.state == State::content ? read.boundary != Boundary::after_markup
                                                    : read.state != State::reasoning && !opens_call;
  Reading call;
  call.opener = reading_.opener;
  call.has_closer = reading_.has_closer;
  call.body = std::move(reading_.body);
  forget_turn(is_text ? State::content : read.state);
  if (is_text) return;
  at_.call = read.call;
  at_.skip = read.skip;
  at_.skip_is_reasonings = read.skip_is_reasonings;
  at_.in_section = read.in_section;
  if (read.in_section && read.state == State::content) at_.boundary = Boundary::after_markup;
  if (read.label_read == 0) at_.label_read = 0;
  reading_ = std::move(call);
  reset_cursor();
}

// The turn has opened a header. If the output does not go on with one, all of it is content.
void Parser::begin_trial_of_turn() {
  std::string header = std::move(reading_.raw);
  forget_turn(State::content);
  begin_trial({}, false);
  trial_.tries_call = trial_.is_word = false;
  trial_.is_amid_line = true;
  reading_.raw = std::move(header);
  reading_.raw_opener = reading_.raw.size();
  enter(State::markup);
}

// Before any output.
void Parser::forget_turn(State state) {
  at_ = {};
  reading_ = {};
  trial_ = {};
  calls_.go_back({});
  header_.opener.clear();
  enter(state);
}

void Parser::expect_ids() {
  options_.by_id = true;
  if (at_.state == State::body) make_call_body({}, false);  // the turn's header has opened it
  reset_cursor();
}

}  // namespace unspool
