// Markers that may be mentions. What follows an opener decides: until it reads as a call its events
// wait; if it does not, the same input is read again, and the opener is text like any other.
#include <algorithm>
#include <utility>

#include "parser/parser.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// A model that reasons on for longer behind a call rehearsed it; it bounds what a stream holds.
constexpr std::size_t kMaxRehearsedBytes = std::size_t{64} * 1024;

bool is_quote(char byte) { return byte == '`' || byte == '"' || byte == '\''; }

}  // namespace

// Whether the marker can only be text where it stands. By its token it never is.
bool Parser::is_mention(Role role, const MarkerCursor::Found& found) const {
  const bool opens_call = role == Role::call_open || role == Role::section_open;
  if (opens_call && state_ != State::malformed && is_read_again(found)) return true;
  if (role == Role::reasoning_open) {
    if (state_ == State::reasoning) return !reasoning_is_empty_;  // no nesting
    return !found.marker->has_token && is_quote(last_byte_) && boundary_ == Boundary::none;
  }
  if (role != Role::markup_open) return false;
  const MarkupSpec& markup = format_->spec().markup[found.marker->value];
  if (markup.has_header() && !found.marker->has_token && is_read_again(found)) return true;
  // A marker around content ends the reasoning only where there is none.
  const bool is_plain = !markup.tells() && !markup.is_inline;
  return state_ == State::reasoning && is_plain && !reasoning_is_empty_;
}

// A marker that changes nothing is markup next to other markup, and text within text.
void Parser::hold_idle(std::string_view marker) {
  idle_ += space_;
  idle_ += marker;
  space_.clear();
  if (state_ == State::content) boundary_ = Boundary::after_markup;
  may_chain_ = false;
  reset_cursor();
}

void Parser::begin_trial(const MarkerCursor::Found& found) {
  place_ = {state_,
            boundary_,
            line_,
            in_section_,
            in_fence_,
            closer_pending_,
            may_chain_,
            reasoning_is_empty_,
            has_content_,
            skip_,
            skip_is_reasonings_,
            space_,
            idle_,
            call_,
            closer_is_calls_,
            calls_.place(),
            audited_bytes_};
  rehearsed_bytes_ = 0;
  has_call_markup_ = false;
  const Role role = static_cast<Role>(found.marker->role);
  tries_call_ = role == Role::call_open || role == Role::section_open;
  is_word_ = role == Role::call_open &&
             format_->spec().calls[format_->openers()[found.marker->value].front()].may_be_text;
  is_amid_line_ = boundary_ == Boundary::none && last_byte_ != '\n' && found.text[0] != '\n';
  trial_.begin(found.text, found.marker->has_token);
  out_ = &trial_.events();
}

// It reads as what its marker says: its events count.
void Parser::settle_trial() {
  if (!trial_.is_on()) return;
  trial_.end();
  main_out_->append(trial_.events());
  out_ = main_out_;
  if (state_ == State::content && cursor_.is_idle()) reset_cursor();
}

// Keeps what was read while this trial was on; its marker is no part of that.
void Parser::keep_input(std::uint64_t trial, std::string_view text, Symbol symbol) {
  replay_left_ -= std::min(replay_left_, text.size());
  if (trial_.is_on() && trial_.number() == trial) trial_.add(text, symbol, token_end_);
}

void Parser::act() {
  const Outcome outcome = std::exchange(outcome_, Outcome::open);
  if (outcome == Outcome::mention) return read_as_mention();
  if (outcome == Outcome::empty) return read_as_empty();
  const bool is_too_long =
      has_rehearsed() && rehearsed_bytes_ > kMaxRehearsedBytes && state_ == State::content;
  if (outcome != Outcome::rehearsal && !is_too_long) return;
  const MarkerCursor::Found closer = std::exchange(closes_rehearsal_, {});
  const std::string held(cursor_.held());
  read_as_rehearsal(closer.marker != nullptr ? closer.text : held);
  if (closer.marker != nullptr) return on_marker(closer);
  read_all(held);
}

// Goes back to where the trial's marker stands.
void Parser::drop_trial() {
  trial_.end();
  out_ = main_out_;
  body_.reset();
  raw_.clear();
  name_.clear();
  raw_opener_ = 0;
  header_opener_.clear();
  body_called_ = false;
  pending_text_.clear();
  boundary_ = place_.boundary;
  line_ = place_.line;
  in_section_ = place_.in_section;
  in_fence_ = place_.in_fence;
  closer_pending_ = place_.closer_pending;
  may_chain_ = place_.may_chain;
  reasoning_is_empty_ = place_.reasoning_is_empty;
  has_content_ = place_.has_content;
  skip_ = place_.skip;
  skip_is_reasonings_ = place_.skip_is_reasonings;
  space_ = std::move(place_.space);
  idle_ = std::move(place_.idle);
  call_ = place_.call;
  closer_is_calls_ = place_.closer_is_calls;
  calls_.go_back(place_.calls);
  audited_bytes_ = place_.audited_bytes;
  ignored_.clear();
  enter(place_.state);
}

// Reads the trial's input again, its marker as text. Openers in it were part of what was tried, so
// they are text too; one that ends the input begins a trial of its own.
void Parser::read_as_mention() {
  const std::string input(trial_.input());
  const std::vector<Trial::Piece> pieces = trial_.pieces();
  const std::uint64_t token_end = token_end_;
  drop_trial();
  line_ = Line::inside;
  is_word_ ? release(trial_.marker()) : hold_idle(drop_skipped(trial_.marker()));
  replay_left_ = input.size();
  for (const Trial::Piece& piece : pieces) {
    const std::string_view text =
        std::string_view(input).substr(piece.begin, piece.end - piece.begin);
    token_end_ = piece.token_end;
    if (piece.symbol == Trial::kText) {
      read_all(text);
      continue;
    }
    if (piece.symbol == Trial::kSpecial) {
      replay_left_ -= text.size();
      read_special(text);
      continue;
    }
    const std::uint64_t trial = trial_.number();
    read_token(piece.symbol, text);
    after_reading(trial, text, piece.symbol);
  }
  replay_left_ = 0;
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
  if (state_ == State::content) after_markup({});
}

// The reasoning went on behind a call: all of the trial's input but `behind` is reasoning.
void Parser::read_as_rehearsal(std::string_view behind) {
  std::string text = trial_.text();
  text.resize(text.size() - behind.size());
  drop_trial();
  release_reasoning(drop_skipped(text));
}

// The input ends while the trial is open.
void Parser::end_trial(FinishReason reason) {
  const bool stopped = ended_itself(reason);
  if (state_ == State::content) {
    cursor_.flush([this](std::string_view text) { release(text); });
    if (outcome_ != Outcome::open) return act();
  }
  if (has_rehearsed()) {
    // A cut says nothing of how the reasoning would have gone on.
    if (rehearsed_bytes_ == 0 || stopped) return settle_trial();
    return read_as_rehearsal({});
  }
  const bool in_reasoning = place_.state == State::reasoning && (stopped || is_rehearsing());
  const bool is_blank_behind = state_ == State::opening
                                   ? is_blank(std::string_view(raw_).substr(raw_opener_))
                                   : is_blank(trial_.input());
  const bool is_prose = !has_call_markup_ && state_ == State::header &&
                        (place_.state == State::reasoning || is_amid_line_) &&
                        (stopped || trim(name_).find(' ') != std::string_view::npos);
  const bool in_header = state_ == State::markup && (stopped || !fits_header(raw_, false));
  if (in_reasoning || in_header || is_prose ||
      (is_blank_behind && (stopped || state_ == State::content))) {
    return read_as_mention();
  }
  settle_trial();
}

}  // namespace unspool
