// Markers that may be mentions. What follows an opener decides: until it reads as a call its events
// wait; if it does not, the same input is read again, and the opener is text like any other.
#include <algorithm>
#include <utility>

#include "parser/parser.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// A model that reasons on for longer after a call rehearsed it; it bounds what a stream holds.
constexpr std::size_t kMaxRehearsedBytes = std::size_t{64} * 1024;

bool is_quote(char byte) { return byte == '`' || byte == '"' || byte == '\''; }

}  // namespace

// Whether what follows the marker shows if it counts.
bool Parser::is_on_trial(Role role, const MarkerCursor::Found& found) const {
  const MarkupSpec* markup = markup_of(role, found);
  const bool has_header = markup != nullptr && markup->has_header();
  return role == Role::call_open || role == Role::section_open ||
         (has_header && !found.marker->has_token);
}

// Whether the marker can only be text where it stands. By its token it never is.
bool Parser::is_mention(Role role, const MarkerCursor::Found& found) const {
  if (is_on_trial(role, found) && is_read_again(found)) return true;
  const bool is_amid_reasoning = at_.state == State::reasoning && !at_.reasoning_is_empty;
  if (role == Role::reasoning_open) {
    if (at_.state == State::reasoning) return is_amid_reasoning;  // no nesting
    return !found.marker->has_token && is_quote(at_.last_byte) && at_.boundary == Boundary::none;
  }
  // A marker around content ends the reasoning only where there is none.
  const MarkupSpec* markup = markup_of(role, found);
  const bool is_plain = markup != nullptr && !markup->tells() && !markup->is_inline;
  return is_plain && is_amid_reasoning;
}

// A marker that changes nothing is markup next to other markup, and text within text.
void Parser::hold_idle(std::string_view marker) {
  at_.idle += at_.space;
  at_.idle += marker;
  at_.space.clear();
  if (at_.state == State::content) at_.boundary = Boundary::after_markup;
  at_.may_chain = false;
  reset_cursor();
}

void Parser::begin_trial(const MarkerCursor::Found& found) {
  trial_.place = at_;
  trial_.calls = calls_.place();
  trial_.audited_bytes = audit_trail_.bytes();
  trial_.rehearsed_bytes = 0;
  trial_.has_call_markup = false;
  const Role role = static_cast<Role>(found.marker->role);
  trial_.tries_call = role == Role::call_open || role == Role::section_open;
  trial_.is_word =
      role == Role::call_open &&
      format_->spec().calls[format_->openers()[found.marker->value].front()].may_be_text;
  trial_.is_amid_line =
      at_.boundary == Boundary::none && at_.last_byte != '\n' && found.text[0] != '\n';
  trial_.begin(found.text, found.marker->has_token);
  out_ = &trial_.events();
}

// It reads as what its marker says: its events count.
void Parser::settle_trial() {
  if (!trial_.is_on()) return;
  trial_.end();
  main_out_->append(trial_.events());
  out_ = main_out_;
  if (at_.state == State::content && cursor_.is_idle()) reset_cursor();
}

// Keeps what was read while this trial was on; its marker is no part of that.
void Parser::keep_input(std::uint64_t trial, std::string_view text, Symbol symbol) {
  trial_.replay_left -= std::min(trial_.replay_left, text.size());
  if (trial_.is_on() && trial_.number() == trial) trial_.add(text, symbol, token_end_);
}

void Parser::act() {
  const Outcome outcome = std::exchange(trial_.outcome, Outcome::open);
  if (outcome == Outcome::mention) return read_as_mention();
  if (outcome == Outcome::empty) return read_as_empty();
  const bool is_too_long =
      has_rehearsed() && trial_.rehearsed_bytes > kMaxRehearsedBytes && at_.state == State::content;
  if (outcome != Outcome::rehearsal && !is_too_long) return;
  const MarkerCursor::Found closer = std::exchange(trial_.closes_rehearsal, {});
  const std::string held(cursor_.held());
  read_as_rehearsal(closer.marker != nullptr ? closer.text : held);
  if (closer.marker != nullptr) return on_marker(closer);
  read_all(held);
}

// Goes back to where the trial's marker stands.
void Parser::drop_trial() {
  trial_.end();
  out_ = main_out_;
  reading_.body.reset();
  reading_.raw.clear();
  reading_.name.clear();
  reading_.raw_opener = 0;
  header_.opener.clear();
  reading_.has_called = false;
  reading_.pending_text.clear();
  calls_.go_back(trial_.calls);
  audit_trail_.go_back(trial_.audited_bytes);
  at_ = std::move(trial_.place);
  enter(at_.state);
}

// Reads the trial's input again, its marker as text. Openers in it were part of what was tried, so
// they are text too; one that ends the input begins a trial of its own.
void Parser::read_as_mention() {
  const std::string input(trial_.input());
  const std::vector<Trial::Piece> pieces = trial_.pieces();
  const std::uint64_t token_end = token_end_;
  drop_trial();
  at_.line = Line::inside;
  trial_.is_word ? release(trial_.marker()) : hold_idle(drop_skipped(trial_.marker()));
  trial_.replay_left = input.size();
  for (const Trial::Piece& piece : pieces) {
    const std::string_view text =
        std::string_view(input).substr(piece.begin, piece.end - piece.begin);
    token_end_ = piece.token_end;
    if (piece.symbol == Trial::kText) {
      read_all(text);
      continue;
    }
    if (piece.symbol == Trial::kSpecial) {
      trial_.replay_left -= text.size();
      read_special(text);
      continue;
    }
    const std::uint64_t trial = trial_.number();
    read_token(piece.symbol, text);
    after_reading(trial, text, piece.symbol);
  }
  trial_.replay_left = 0;
  token_end_ = token_end;
}

// An opener and its closer with nothing between them.
void Parser::read_as_empty() {
  std::string text = trial_.text();
  const bool is_token = trial_.is_token();
  drop_trial();
  const std::string block(drop_skipped(text));
  if (is_amid_text() && !is_token) return hold_idle(block);
  drop_space(Fate::whitespace);
  audit(Fate::marker, block);
  if (at_.state == State::content) after_markup({});
}

// The reasoning went on after a call: all of the trial's input but `rest` is reasoning.
void Parser::read_as_rehearsal(std::string_view rest) {
  std::string text = trial_.text();
  text.resize(text.size() - rest.size());
  drop_trial();
  release_reasoning(drop_skipped(text));
}

// The input ends while the trial is open.
void Parser::end_trial(FinishReason reason) {
  const bool stopped = ended_itself(reason);
  if (at_.state == State::content) {
    cursor_.flush([this](std::string_view text) { release(text); });
    if (trial_.outcome != Outcome::open) return act();
  }
  if (has_rehearsed()) {
    // A cut says nothing of how the reasoning would have gone on.
    if (trial_.rehearsed_bytes == 0 || stopped) return settle_trial();
    return read_as_rehearsal({});
  }
  ends_as_mention(stopped) ? read_as_mention() : settle_trial();
}

// Whether what follows an opener where a name should stand is more of the text before it.
bool Parser::reads_as_prose(bool stopped) const {
  const bool is_in_text = trial_.place.state == State::reasoning || trial_.is_amid_line;
  return is_in_text && !trial_.has_call_markup &&
         (stopped || trim(reading_.name).find(' ') != std::string_view::npos);
}

// Whether the marker on trial was a mention, now that the input ends.
bool Parser::ends_as_mention(bool stopped) {
  const bool is_in_reasoning = trial_.place.state == State::reasoning;
  if (is_in_reasoning && (stopped || is_rehearsing())) return true;
  if (at_.state == State::markup && (stopped || !header_.fits(reading_.raw, false))) return true;
  if (at_.state == State::header && reads_as_prose(stopped)) return true;
  const std::string_view after = at_.state == State::opening
                                     ? std::string_view(reading_.raw).substr(reading_.raw_opener)
                                     : trial_.input();
  return is_blank(after) && (stopped || at_.state == State::content);
}

}  // namespace unspool
