#include "parser/turn_reader.h"

#include <optional>
#include <string>
#include <utility>

#include "format/turn.h"
#include "text/white_space.h"

namespace unspool {

void TurnReader::begin() {
  read(turn_without_prompt(core_.program()));
  at_.reasoning_is_assumed = at_.state == State::reasoning;
  if (!core_.options().starts_in_reasoning) return;
  const bool in_reasoning = *core_.options().starts_in_reasoning;
  const bool names_tool = at_.state == State::markup && header_.markup().names_tool;
  // The caller knows better than the format's own turn. A header that the turn opened stays open,
  // unless it would take the output for a tool's name.
  if (in_reasoning || at_.state == State::reasoning || names_tool) {
    forget(in_reasoning ? State::reasoning : State::content);
  }
}

void TurnReader::read_prompt(std::string_view prompt) {
  for (const PromptTurn& turn : turns_of(core_.program(), prompt)) {
    read(turn);
    if (is_open()) return;
  }
}

void TurnReader::expect_ids() {
  const std::optional<PromptTurn> turn = core_.turn();
  if (!turn) return core_.reset_cursor();
  // Copies, because the core forgets the turn before it reads another.
  const std::string header(turn->header), written(turn->written);
  const bool is_assumed = at_.reasoning_is_assumed;
  read({header, written});
  at_.reasoning_is_assumed = is_assumed && at_.state == State::reasoning;
}

void TurnReader::read(const PromptTurn& turn) {
  forget(begins_in_reasoning(core_.program(), turn.written) ? State::reasoning : State::content);
  if (turn.header.empty() && turn.written.empty()) return;
  core_.read_turn(turn, [&] {
    core_.reset_cursor();
    put(turn.header);
    if (at_.state == State::markup) try_header(turn);
    put(turn.written);
  });
  // What follows a call in the turn's reasoning is its tool's output, and the reasoning goes on.
  if (at_.reasoning_is_cut && core_.is_amid_text() && !core_.trial.is_on()) {
    at_.reasoning_is_cut = at_.reasoning_is_empty = false;
    flush_cursor();
    core_.enter(State::reasoning);
  }
  const std::int32_t begun = core_.calls.index() + 1;
  core_.close_calls(begun - (core_.calls.is_open() || lacks_closer() ? 1 : 0));
}

// A prompt has no ids any more: its markers that are tokens are what a tokenizer would make of it.
void TurnReader::put(std::string_view text) {
  if (!core_.options().by_id) return parser_.read_text(text);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Symbol symbol = core_.format().symbol_at(text.substr(i));
    if (symbol == 0) {
      ++i;
      continue;
    }
    const std::string_view token = core_.format().symbol_text(symbol);
    parser_.read_text(text.substr(begin, i - begin));
    parser_.read_token(symbol, token);
    begin = i += token.size();
  }
  parser_.read_text(text.substr(begin));
}

// Whether the last call is whole, and its closer is still to come.
bool TurnReader::lacks_closer() const {
  if (core_.calls.end_waits()) return true;
  return core_.calls.index() >= 0 && !core_.calls.is_open() && call_.has_closer() &&
         at_.state == State::content && at_.boundary == Boundary::after_markup &&
         is_blank(at_.space) && core_.last_fate() == Fate::tool_call;
}

// Whether the turn has opened calls, one at least beyond its opener, that are not closed. Between
// two calls of a list no call is open, but the list is.
bool TurnReader::is_open() const {
  return at_.in_section || lacks_closer() || core_.calls.is_open() || at_.state == State::body ||
         (at_.is_in_call() && !is_blank(call_.after_opener()));
}

// The marker of the turn opens a header. If what follows does not continue one, it is content.
void TurnReader::try_header(const PromptTurn& turn) {
  const std::string header = std::exchange(core_.raw, {});
  core_.trial.end();
  core_.trial.forget();
  core_.leave_out_turn(turn.written.size());
  header_.hold_opener({});  // it is the turn's
  const std::size_t markup = std::exchange(at_, {}).markup;
  core_.begin_trial({}, false);
  // A trial without a marker: if the header fails, all that follows it is read again.
  core_.trial.is_amid_line = true;
  header_.go_on(markup, header);
}

void TurnReader::forget(State state) {
  at_ = {};
  core_.raw.clear();
  core_.specials.clear();
  call_.reset();
  header_.reset();
  core_.trial.end();
  core_.trial.forget();
  core_.trial.outcome = Outcome::open;
  core_.trial.replay_left = 0;
  core_.calls.go_back({});
  core_.echo = {};
  core_.forget_turn();
  core_.enter(state);
}

}  // namespace unspool
