// A trial has one of seven results:
//
//   The tag <tool_call> starts a call.          mention    the marker is text
//   <tool_calls>Text</tool_calls>               malformed  no call in a section: all is reported
//   <tool_call></tool_call>                     empty      both are markup
//   <think>I write <tool_call>{…}</tool_call>   rehearsal  the reasoning goes on: all is text
//       and then I answer.</think>
//   <think>I call <tool_call>{…}</tool_call>    closed     what follows decides: an answer makes
//       </think>                                           it a rehearsal, the end a call
//   <tool_call>{"name": "get_weather"           settled    the events count (ParserCore)
//   the end of the output                       decided from what has been read
//
// To read again costs the trial's input once more. It happens at most once per marker: openers
// inside the input are text too (`replay_left`), so the cost stays linear.
#include "parser/trial_reader.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "body/names.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// Reasoning that continues for longer after a call was a rehearsal; bounds what a stream holds.
constexpr std::size_t kMaxRehearsedBytes = std::size_t{64} * 1024;

bool is_quote(char byte) { return byte == '`' || byte == '"' || byte == '\''; }

}  // namespace

bool TrialReader::is_tried(const MarkerCursor::Found& match) const {
  const Role role = static_cast<Role>(match.marker->role);
  const MarkupRegion* markup = core_.markup_of(match);
  const bool has_header = markup != nullptr && markup->has_header();
  if (role == Role::call_open || role == Role::section_open) return true;
  // A header's marker that is a token is text in code alone.
  return has_header && (!match.marker->has_token || core_.is_in_code(match.text));
}

void TrialReader::try_marker(const MarkerCursor::Found& match) {
  if (!is_tried(match)) return;
  Trial& trial = core_.trial;
  if (!trial.is_on()) {
    core_.begin_trial(match);
  } else if (trial.quotes && at_.boundary == Boundary::none) {
    // What follows a quoted call directly is in the same place.
    trial.is_quoted = core_.is_quoted(match.text);
  }
}

bool TrialReader::is_mention(const MarkerCursor::Found& match) const {
  const bool is_read_again = core_.trial.is_read_again(match);
  if (is_tried(match) && is_read_again) return true;
  const Role role = static_cast<Role>(match.marker->role);
  if (is_read_again && core_.trial.replays_quote && role != Role::ignore) return true;
  const bool keeps = core_.options().calls_in_fences == CallsInFences::keep;
  if (keeps && is_tried(match) && core_.is_quoted(match.text)) return true;
  const MarkupRegion* markup = core_.markup_of(match);
  const bool is_plain = markup != nullptr && !markup->says_what_follows() && !markup->is_inline;
  if (!core_.trial.is_on() && is_quoted_tag(match)) return true;
  const bool is_amid_reasoning = at_.state == State::reasoning && !at_.reasoning_is_empty;
  if (role == Role::reasoning_open) {
    if (at_.state == State::reasoning) return is_amid_reasoning;  // no nesting
    // A word opens it where a line begins.
    const bool begins_line = at_.boundary != Boundary::none || at_.last_byte == '\n';
    if (begins_name(match.text[0]) && !begins_line) return true;
    // `Models write "<think>" first.` quotes the tag.
    return !match.marker->has_token && is_quote(at_.last_byte) && at_.boundary == Boundary::none;
  }
  // A marker around content ends the reasoning only if there is none yet.
  // Models write tags such as `<answer>` within their reasoning.
  return is_plain && is_amid_reasoning;
}

// A quote keeps the tags of reasoning, and closers of calls that it has not opened.
bool TrialReader::is_quoted_tag(const MarkerCursor::Found& match) const {
  switch (static_cast<Role>(match.marker->role)) {
    case Role::reasoning_open: return core_.is_quoted(match.text);
    case Role::reasoning_close:
      return at_.has_mention ? core_.is_quoted(match.text) : core_.is_in_code(match.text);
    case Role::call_close:
    case Role::section_close: return !core_.closes_something() && core_.is_quoted(match.text);
    default: return false;
  }
}

bool TrialReader::decides(const MarkerCursor::Found& match) {
  const Role role = static_cast<Role>(match.marker->role);
  const MarkupRegion* markup = core_.markup_of(match);
  const bool has_header = markup != nullptr && markup->has_header();
  if (core_.trial.follows_call) {
    const bool goes_on =
        role == Role::reasoning_close || role == Role::call_open || role == Role::section_open;
    // Without text, nothing of the reasoning has followed the call.
    if (!goes_on || at_.boundary != Boundary::none) {
      core_.settle_trial();
      return false;
    }
    core_.trial.closer() = match;
    core_.trial.outcome = Outcome::rehearsal;
    return true;
  }
  if (core_.has_quoted()) {
    if (role == Role::reasoning_open) core_.trial.outcome = Outcome::mention;
    return role == Role::reasoning_open;
  }
  if (core_.has_rehearsed()) {
    if (core_.trial.closed_at > 0) {
      if (role == Role::ignore || role == Role::reasoning_close) return false;
      core_.trial.outcome = Outcome::rehearsal;
      return true;
    }
    if (is_closed(match)) return true;
    if (role == Role::reasoning_close || has_header) {
      const bool follows_call = at_.boundary != Boundary::none &&
                                core_.trial.rehearsed_bytes == 0 && core_.calls.is_complete();
      // Kept, because it is read after the trial's text has become reasoning.
      core_.trial.closer() = match;
      core_.trial.outcome =
          role == Role::reasoning_close && follows_call ? Outcome::closed : Outcome::rehearsal;
      return true;
    }
    return false;
  }
  const bool closes = role == Role::section_close || role == Role::call_close;
  if (!closes && role != Role::ignore && role != Role::reasoning_open && !has_header) return false;
  // Another closer than the section's: its call did not open.
  if (core_.trial.opens_section && role == Role::call_close &&
      !core_.program().section.close.has(trim(match.text))) {
    core_.trial.fail("no call follows the opener");
    return true;
  }
  // Nothing but white space and this marker has come since the opener.
  core_.trial.outcome = closes ? Outcome::empty : Outcome::mention;
  return true;
}

// A rehearsed call may share its closer with the reasoning, and models write it twice.
bool TrialReader::is_closed(const MarkerCursor::Found& match) {
  if (static_cast<Role>(match.marker->role) != Role::reasoning_close ||
      at_.boundary == Boundary::none || !core_.call().close.has(trim(match.text)))
    return false;
  core_.audit_idle();
  core_.put_call_text(Fate::whitespace, std::exchange(at_.space, {}));
  core_.put_call_text(Fate::marker, match.text);
  at_.closer_pending = false;
  core_.after_markup(core_.call().close.after);
  return true;
}

std::string_view TrialReader::room_of(std::string_view text) const {
  if (!core_.waits_for_more()) [[likely]]
    return text;
  const std::size_t limit = core_.options().limits.max_held_bytes;
  return first_bytes(text, limit + 1 - std::min(limit, core_.trial.input().size()));
}

void TrialReader::act() {
  // Reset first: reading again may end another trial.
  act_on(std::exchange(core_.trial.outcome, Outcome::open));
  core_.trial.forget();
}

void TrialReader::act_on(Outcome outcome) {
  if (outcome == Outcome::mention) return read_as_mention();
  if (outcome == Outcome::malformed) return read_as_malformed();
  if (outcome == Outcome::empty) return read_as_empty();
  if (!core_.trial.is_on()) return;  // text that was read again has settled it
  if (outcome == Outcome::open && core_.waits_for_more() &&
      core_.trial.input().size() > core_.options().limits.max_held_bytes)
    return read_as_mention();
  if (core_.trial.follows_call && core_.trial.input().size() > kMaxRehearsedBytes)
    return core_.settle_trial();
  const bool is_too_long = core_.trial.rehearsed_bytes > kMaxRehearsedBytes &&
                           at_.state == State::content && core_.has_rehearsed();
  // If the step contains more text after the closer, its place is unknown: a rehearsal.
  if (outcome == Outcome::closed && core_.trial.input().ends_with(core_.trial.closer().text))
    return close_reasoning();
  if (outcome != Outcome::rehearsal && outcome != Outcome::closed && !is_too_long) return;
  if (core_.trial.closed_at > 0) return read_as_closed_rehearsal();
  const MarkerCursor::Found closer = std::exchange(core_.trial.closer(), {});
  const std::string held(core_.cursor.held());
  read_as_rehearsal(closer.marker != nullptr ? closer.text : held);
  // It closes the reasoning that has just become text.
  if (closer.marker != nullptr) return parser_.on_marker(closer);
  parser_.read_text(held);
}

void TrialReader::drop() {
  call_.reset();
  header_.reset();
  core_.drop_trial();
}

// Reads the trial's input again, with its marker as text. Its openers were part of the trial, so
// they are text too; one at the end of the input begins its own trial.
void TrialReader::read_as_mention() {
  Trial& trial = core_.trial;
  // Copies, because `drop` frees them, and a new trial may begin in the text.
  const std::string input(trial.input());
  const std::vector<Trial::Piece> pieces = trial.pieces();
  const bool is_of_turn = trial.is_of_turn();
  drop();
  trial.replays_quote = trial.quotes;
  if (trial.quotes) {
    at_.has_mention = true;
    if (!trial.marker().empty())
      at_.line = trial.marker().back() == '\n' ? Line::begin : Line::inside;
    parser_.release(trial.marker());
  } else if (!is_of_turn) {
    at_.line = Line::inside;
    at_.has_mention |= trial.tries_call;
    if (trial.is_word) {
      // A word within the text needs no white space decision; other markers may still be idle.
      parser_.release(trial.marker());
    } else {
      core_.hold_idle(core_.drop_skipped(trial.marker()));
    }
  }
  read_again(input, pieces);
  trial.replays_quote = false;
}

// No call follows a section's opener: the opener and its text are reported, to the letter.
void TrialReader::read_as_malformed() {
  const std::string input(core_.trial.input());
  const std::vector<Trial::Piece> pieces = core_.trial.pieces();
  drop();
  call_.begin_malformed_section(core_.drop_skipped(core_.trial.marker()));
  read_again(input, pieces);
}

void TrialReader::read_again(std::string_view input, const std::vector<Trial::Piece>& pieces,
                             bool is_text) {
  Trial& trial = core_.trial;
  const std::uint64_t token_end = core_.token_end;
  trial.replay_left = is_text ? input.size() : 0;
  for (const Trial::Piece& piece : pieces) {
    const std::string_view text = input.substr(piece.begin, piece.end - piece.begin);
    // Events of text that is read again have the spans of the first reading.
    core_.token_end = piece.token_end;
    if (piece.symbol == Trial::kText) {
      parser_.read_text(text);
    } else if (piece.symbol == Trial::kSpecial) {
      trial.replay_left -= std::min(trial.replay_left, text.size());
      parser_.read_special(text);
    } else {
      parser_.read_token(piece.symbol, text);
    }
  }
  trial.replay_left = 0;
  core_.token_end = token_end;
}

// An opener and its closer with nothing in between.
void TrialReader::read_as_empty() {
  const std::string text = core_.trial.text();
  const bool is_token = core_.trial.is_token();
  drop();
  const std::string block(core_.drop_skipped(text));
  // `Write <tool_call></tool_call> around it.` stays text if text follows.
  if (core_.is_amid_text() && !is_token) return core_.hold_idle(block);
  core_.drop_space();
  core_.audit(Fate::marker, block);
  if (at_.state == State::content) core_.after_markup({});
}

// The reasoning continued after a call: the trial's input except `rest` is reasoning.
void TrialReader::read_as_rehearsal(std::string_view rest) {
  std::string text = core_.trial.text();
  // The closer, or what the cursor holds, is read after it.
  text.resize(text.size() - rest.size());
  const bool follows_call = core_.trial.follows_call;
  if (follows_call) text.insert(0, core_.trial.start().place.space);
  drop();
  if (follows_call) at_.space.clear();
  core_.release_reasoning(core_.drop_skipped(text));
}

// The reasoning's closer follows a call directly: whether an answer follows is not yet known.
void TrialReader::close_reasoning() {
  Trial& trial = core_.trial;
  const MarkerCursor::Found closer = std::exchange(trial.closer(), {});
  trial.closed_at = trial.input().size() - closer.text.size();
  core_.drop_space(true);
  core_.audit(Fate::marker, closer.text, true);
  at_.may_chain = at_.closer_pending = at_.reasoning_is_cut = false;
  at_.skip_is_reasonings = true;
  core_.after_markup(core_.program().reasoning->close.after);
}

// An answer follows: all up to the closer is reasoning.
void TrialReader::read_as_closed_rehearsal() {
  const auto [rest, pieces] = core_.trial.take_rest(core_.trial.closed_at);
  read_as_rehearsal({});
  read_again(rest, pieces, false);
}

// The output ends in a call on trial that holds the reasoning's closer: the rehearsal was never
// finished, and has taken the answer for its own. At most once per output, so that the cost stays
// linear.
bool TrialReader::read_as_cut_rehearsal() {
  Trial& trial = core_.trial;
  if (trial.has_read_rest || call_.is_whole()) return false;
  const std::size_t end = find_closer_in_call();
  if (trial.closer().marker == nullptr) return false;
  const MarkerCursor::Found closer = std::exchange(trial.closer(), {});
  const auto [rest, pieces] = trial.take_rest(end);
  trial.has_read_rest = true;
  read_as_rehearsal(closer.text);
  parser_.on_marker(closer);
  read_again(rest, pieces, false);
  return true;
}

// Finds the first closer of the reasoning in the last call, and returns where it ends.
std::size_t TrialReader::find_closer_in_call() {
  Trial& trial = core_.trial;
  const auto drop = [](std::string_view) {};
  MarkerCursor cursor;
  cursor.reset(&core_.markers().reasoning);
  for (const Trial::Piece& piece : trial.pieces()) {
    if (piece.symbol == Trial::kSpecial) cursor.restart();
    if (piece.symbol == Trial::kSpecial || piece.end <= trial.call_at) continue;
    for (std::size_t at = piece.begin; at < piece.end;) {
      const std::string_view text = trial.input().substr(at, piece.end - at);
      const MarkerCursor::Found closer = piece.symbol == Trial::kText
                                             ? cursor.put(text, drop)
                                             : cursor.put_token(piece.symbol, text, drop);
      at += closer.consumed;
      if (closer.marker == nullptr) continue;
      if (static_cast<Role>(closer.marker->role) != Role::reasoning_close) continue;
      trial.closer() = closer;
      return at;
    }
  }
  return 0;
}

void TrialReader::finish(FinishReason reason) {
  decide(reason);
  core_.trial.forget();
}

void TrialReader::decide(FinishReason reason) {
  const bool stopped = ended_itself(reason);
  if (core_.trial.quotes) {
    // What follows a quoted call that lacks its closer decides too.
    call_.settle_end(false);
    if (at_.state == State::fence) core_.release_raw();
    if (core_.trial.outcome != Outcome::open) return act();
  }
  if (at_.state == State::content) {
    // The beginning of a marker that will not come is text, and may decide.
    flush_cursor();
    if (core_.trial.outcome != Outcome::open) return act();
    if (!core_.trial.is_on()) return;  // the held text has decided it
  }
  if (stopped && core_.is_quoting() && has_unquoted_prose()) return read_as_mention();
  if (core_.trial.follows_call || core_.has_quoted()) return core_.settle_trial();
  if (stopped && core_.has_rehearsed() && at_.is_in_call() && read_as_cut_rehearsal()) return;
  if (core_.has_rehearsed()) {
    // A cut does not show how the reasoning would have continued.
    // Nothing followed the call, or the model stopped without closing the reasoning: the call
    // counts.
    const bool is_closed = core_.trial.closed_at > 0;
    if (stopped || (core_.trial.rehearsed_bytes == 0 && !is_closed)) return core_.settle_trial();
    return is_closed ? read_as_closed_rehearsal() : read_as_rehearsal({});
  }
  if (ends_as_mention(stopped)) return read_as_mention();
  if (core_.is_in_empty_section()) {
    at_.is_in_call() ? call_.finish(reason) : core_.trial.fail("no call follows the opener");
    if (core_.trial.outcome != Outcome::open) return act();
    core_.enter(State::content);  // the call has ended
  }
  core_.settle_trial();
}

// Whether a call that does not end has taken the end of its quote for arguments.
bool TrialReader::has_unquoted_prose() const {
  if (!at_.is_in_call() && at_.state != State::malformed) return false;
  Quotes quotes = core_.trial.start().place.quotes;
  quotes.put(core_.trial.start().place.space);
  return quotes.precedes_prose(core_.trial.text());
}

// Whether the marker on trial was a mention, now that the input ends.
bool TrialReader::ends_as_mention(bool stopped) {
  const bool is_in_reasoning = core_.trial.start().place.state == State::reasoning;
  if (is_in_reasoning && (stopped || core_.is_rehearsing())) return true;
  // An output that stops inside a header has not written one.
  const bool ends_header = stopped || core_.trial.is_of_turn();
  if (at_.state == State::markup && (ends_header || !header_.fits(core_.raw))) return true;
  if (at_.state == State::header && call_.reads_as_prose(stopped)) return true;
  if (stopped && call_.awaits_body()) return true;
  const std::string_view after =
      at_.state == State::opening ? call_.after_opener() : core_.trial.input();
  // An opener at the very end: a call that was cut off, or a mention if the model stopped there.
  return is_blank(after) && (stopped || at_.state == State::content);
}

void TrialReader::add_held(Held& out) const {
  const bool is_call =
      core_.waits_for_more() || (at_.state == State::body && core_.call().is_tentative());
  const HeldReason reason = at_.state == State::markup ? HeldReason::header
                            : is_call                  ? HeldReason::call
                                                       : HeldReason::name;
  core_.trial.add_held(out, reason);
}

}  // namespace unspool
