// How a marker in text is judged, in this order (`on_marker_in_text`):
//
// 1. A mention? Known to be text at this position, such as a second `<think>` within reasoning.
// 2. Does it decide about an earlier marker that is on trial?
// 3. Idle? It changes nothing here: `<|im_end|>` between texts, `</tool_call>` with no open call.
// 4. Markup within a text, such as a citation: the region around it stays.
// 5. The closer of a call that had an opener: part of the call's text.
// 6. Else it opens or closes a region (`cross`), perhaps on trial.
//
//   The tag <tool_call> starts a call.      on trial, then text: no call follows
//   <tool_call>{"name": "f"}</tool_call>    on trial until the name, then a call
//   </tool_call></tool_call>                the second one is idle
#include "parser/parser.h"

#include <algorithm>
#include <string>
#include <utility>

#include "text/white_space.h"

namespace unspool {

namespace {

// Whether a marker's bytes are the reasoning's, for the audit. A format may list a reasoning tag
// also as markup, for places where it closes nothing. If headers announce reasoning, the same tags
// also close other messages.
bool belongs_to_reasoning(const ParserCore& core, const MarkerCursor::Found& match) {
  const Role role = static_cast<Role>(match.marker->role);
  if (role == Role::reasoning_open || role == Role::reasoning_close) return true;
  const Program& program = core.program();
  // After content or a call, the same tag is a stray one and belongs to nothing.
  const bool is_first = !core.at.has_content && core.calls.index() < 0;
  if (role != Role::markup_open || !is_first) return false;
  return program.reasoning && !program.has_reasoning_headers() &&
         (program.reasoning->open.has(match.text) || program.reasoning->close.has(match.text));
}

// The end of a turn, or markup around text without a header.
bool changes_nothing(const MarkupRegion* markup, Role role) {
  return role == Role::ignore || (markup != nullptr && !markup->has_header() && !markup->is_inline);
}

}  // namespace

Parser::Parser(std::shared_ptr<const Format> format, ParserOptions options)
    : core_(std::move(format), std::move(options)),
      call_(core_, *this),
      echo_(core_, *this),
      content_(core_, *this, call_, echo_),
      header_(core_, *this, call_),
      trial_(core_, *this, header_, call_),
      turn_(core_, *this, header_, call_) {
  // Without a prompt the format says how a turn begins, for example inside reasoning.
  turn_.begin();
}

// The other readers keep no state: a copy gets new ones.
static_assert(sizeof(EchoReader) == sizeof(RegionReader));
static_assert(sizeof(ContentReader) == sizeof(RegionReader) + 3 * sizeof(void*));
static_assert(sizeof(TrialReader) == sizeof(RegionReader) + 2 * sizeof(void*));
static_assert(sizeof(TurnReader) == sizeof(RegionReader) + 2 * sizeof(void*));

Parser::Parser(const Parser& other)
    : core_(other.core_),
      call_(other.call_, core_, *this),
      echo_(core_, *this),
      content_(core_, *this, call_, echo_),
      header_(other.header_, core_, *this, call_),
      trial_(core_, *this, header_, call_),
      turn_(core_, *this, header_, call_) {}

void Parser::expect_ids() {
  core_.expect_ids();
  // The markers are others from here on: those that are tokens are no longer matched by their
  // spelling.
  turn_.expect_ids();
}

Region Parser::region() const {
  // The call on trial may be a rehearsal. Until that is known, a host still shows reasoning.
  return core_.is_rehearsing() ? Region::reasoning : region_of_state();
}

Region Parser::region_of_state() const {
  switch (core_.at.state) {
    case State::content:
    case State::markup:
    case State::fence: return Region::content;
    case State::reasoning: return Region::reasoning;
    case State::opening:
    case State::header: return Region::tool_call;
    case State::body:
    case State::malformed:
      // A bare `{` may turn out to be content. An opener with a token may not.
      return core_.calls.is_open() || !core_.call().is_tentative() ? Region::tool_call
                                                                   : Region::content;
  }
  return Region::content;
}

bool Parser::reads_special() const {
  const State state = core_.at.state;
  // Names, headers and arguments read special tokens: leaving one out would change what they say.
  return state != State::content && state != State::reasoning && state != State::fence;
}

EventParser::Progress Parser::progress() const {
  const State state = core_.at.state;
  const bool is_undecided = core_.echo.is_begun() || state == State::fence ||
                            state == State::markup || call_.may_be_content();
  const Trial& trial = core_.trial;
  if (!trial.is_on()) [[likely]]
    return {region_of_state(), core_.calls.count(), is_undecided};
  // A call on trial is not announced yet.
  const std::uint32_t calls = core_.calls.count_to(trial.start().calls.index);
  if (core_.is_rehearsing()) return {Region::reasoning, calls, true};
  return {region_of_state(), calls, is_undecided || trial.quotes || trial.follows_call};
}

Rest Parser::rest() const {
  const Place& at = core_.at;
  if (core_.trial.is_on() || core_.audits() || core_.echo.is_expected()) return {};
  if (at.state == State::body) return call_.rest();
  Rest rest{.stops = core_.cursor.stops(), .holds = !core_.cursor.is_idle()};
  rest.holds_line_break =
      !rest.holds && (rest.stops & (kEndsInLineBreak | kLineBreak)) == kEndsInLineBreak;
  if (at.state == State::reasoning) {
    rest.kind = EventKind::reasoning;
    return at.reasoning_is_empty || !at.idle.empty() ? Rest() : rest;
  }
  const bool marks_text = at.headed != Place::Headed::no && core_.options().marks_headed_text;
  const bool is_in_text = at.state == State::content && at.boundary == Place::Boundary::none &&
                          at.has_content && !marks_text;
  if (!is_in_text) return {};
  if (core_.minds_quotes()) add_quotes(rest);
  if (core_.format().has_bare_calls()) {
    // At the beginning of a line.
    if (at.line != Place::Line::inside || at.bare_candidate >= 0) return {};
    rest.stops |= kLineBreak;
    rest.holds_line_break = false;
  }
  return rest;
}

// What the text so far quotes decides which bytes of content count.
void Parser::add_quotes(Rest& rest) const {
  const Quotes& quotes = core_.at.quotes;
  rest.passes_lines = quotes.passes_lines();
  rest.begins_line = rest.passes_lines && !quotes.is_at_rest();
  rest.tells = class_of('`');
  if (!rest.passes_lines) rest.tells |= quotes.is_at_rest() ? kLineBreak : kAllClasses;
}

void Parser::hear(PassedLine before, std::string_view text, Rest& rest) {
  core_.at.quotes.pass_over(before);
  core_.at.quotes.put(text);
  add_quotes(rest);
}

void Parser::pass_over(const Passed& passed) {
  if (core_.at.state == State::body) {
    call_.pass_over();
    return core_.calls.pass_over(passed.room);
  }
  core_.cursor.restart();  // what it held was text
  core_.at.last_byte = passed.last_byte;
  if (!core_.minds_quotes() || core_.at.state != State::content) return;
  core_.at.quotes.pass_over(passed.line);
  core_.at.quotes.put(passed.last_text);
}

void Parser::add_held(Held& out, bool as_text) const {
  const std::size_t left_out = core_.turn_left();
  if (left_out == 0) [[likely]]
    return add_all_held(out, as_text);
  // A call that the prompt has opened is emitted whole.
  if (core_.calls.is_open() && !core_.trial.is_on() && !as_text) return add_all_held(out, as_text);
  Held held;
  add_all_held(held, as_text);
  out.add(held, left_out);
}

void Parser::add_all_held(Held& out, bool as_text) const {
  // A trial holds everything since its marker, whichever reader is reading it.
  if (core_.trial.is_on()) return trial_.add_held(out);
  const Place& at = core_.at;
  if (at.label_read != std::string::npos) {
    const std::string_view label = core_.program().reasoning->label;
    out.add(HeldReason::marker, label.substr(0, at.label_read));
  }
  // In the order of the input: idle markers, white space, then what the open region holds.
  out.add(HeldReason::marker, at.idle);
  out.add(HeldReason::space, at.space);
  if (core_.holds_text_after_call()) out.add(HeldReason::call, core_.raw);
  header_.add_held(out);
  out.add(HeldReason::call, core_.echo.held());
  switch (at.state) {
    case State::content:
    case State::reasoning: return out.add(core_.cursor);
    case State::malformed: out.add(HeldReason::call, core_.raw); return out.add(core_.cursor);
    case State::markup:
      out.add(HeldReason::header, core_.raw);
      return out.add(HeldReason::header, core_.cursor.held());
    case State::fence: return out.add(HeldReason::call, core_.raw);
    case State::opening:
    case State::header:  // with the text in the cursor
    case State::body: return call_.add_held(out, as_text);
  }
}

void Parser::put_text(std::string_view text, std::uint64_t token_end, Events& out) {
  core_.write_to(out, token_end);
  read_text(text);
}

void Parser::put_token(Symbol symbol, std::uint64_t token_end, Events& out) {
  core_.write_to(out, token_end);
  const std::string_view literal = core_.format().symbol_text(symbol);
  // Without ids, a token is what it spells.
  core_.options().by_id ? read_token(symbol, literal) : read_text(literal);
}

void Parser::put_special(std::string_view text, std::uint64_t token_end, Events& out) {
  core_.write_to(out, token_end);
  read_special(text);
}

void Parser::read_text(std::string_view text) {
  while (!text.empty()) read_step(text, Trial::kText);
}

// Reads some of the text, and acts on the result of the current trial.
void Parser::read_step(std::string_view& text, Symbol kind) {
  if (core_.may_follow_reasoning()) [[unlikely]]
    core_.begin_after_call();
  const std::uint64_t trial = core_.trial.number();
  // Only as much as one region takes: a marker in it may change who reads the rest.
  const std::size_t read = read_some(trial_.room_of(text));
  if (core_.trial.keep(trial, text.substr(0, read), kind, core_.token_end)) trial_.act();
  text.remove_prefix(read);
}

void Parser::read_token(Symbol symbol, std::string_view literal) {
  if (core_.may_follow_reasoning()) [[unlikely]]
    core_.begin_after_call();
  const std::uint64_t trial = core_.trial.number();
  read_letter(symbol, literal);
  if (core_.trial.keep(trial, literal, symbol, core_.token_end)) trial_.act();
}

// Only a trial that begins in text that is read again needs it once more.
void Parser::read_again(const Letters& letters) {
  const std::uint64_t first = core_.trial.number();
  std::size_t i = 0;
  // Once a trial is decided, its own input is read again, and these letters are part of it.
  while (i < letters.size() && core_.trial.outcome == Trial::Outcome::open) {
    const Letter letter = letters.at(i);
    const std::uint64_t trial = core_.trial.number();
    std::size_t read = letter.text.size();
    if (letter.symbol != 0) {
      read_letter(letter.symbol, letter.text);
    } else {
      read = read_some(letter.text);
    }
    if (trial != first) {
      core_.trial.keep(trial, letter.text.substr(0, read), letter.symbol, core_.token_end);
    }
    i += read;
    if (core_.trial.number() != first) trial_.act();
  }
}

void Parser::read_letter(Symbol symbol, std::string_view literal) {
  Place& at = core_.at;
  // First: a repeated body is compared as it comes, before anybody takes it for a new call.
  if (core_.echo.is_expected() && echo_.read({literal, symbol})) return;
  // The end of a turn given by id is never text, not even inside a string.
  const bool is_inside = at.is_in_call() || at.state == State::fence;
  if (is_inside && contains(core_.program().ends, literal)) {
    return core_.ignore(literal, 0, call_.pending_bytes());
  }
  // A reader that hands it on has ended its region: the next kind of call may read it.
  while (at.state == State::body || at.state == State::opening) {
    const bool is_read = at.state == State::body ? call_.read_token_in_body(symbol, literal)
                                                 : call_.read_token_after_opener(symbol, literal);
    if (is_read) return;
  }
  call_.give_up_next();
  // A token is never part of a fence, so the backticks were text.
  if (at.state == State::fence) core_.release_raw();
  // A bare call begins with text, so a token ends the chance for one.
  if (at.state == State::content) {
    at.line = Place::Line::inside;
    at.bare_candidate = -1;
  }
  if (read_stray_token(symbol, literal)) return;
  const MarkerCursor::Found match =
      core_.cursor.put_token(symbol, literal, [this](std::string_view text) { release(text); });
  // If no name comes of it, the raw text is emitted as it was written.
  if (at.state == State::header) core_.raw += literal;
  if (match.marker != nullptr) on_marker(match);
}

void Parser::read_special(std::string_view text) {
  Place& at = core_.at;
  echo_.give_up();
  call_.read_answer_in_call();
  if (!reads_special()) {
    // It separates the text before and after it, and is part of neither.
    if (at.state == State::fence) core_.release_raw();
    // White space stays held: it may still be markup, and the special token does not decide that.
    if (!is_blank(core_.cursor.held())) {
      at.bare_candidate = -1;
      core_.cursor.flush([this](std::string_view held) { release(held); });
    }
    // That text may have decided about a marker; then it is read again, and is before the token,
    // too.
    if (core_.trial.outcome != Trial::Outcome::open) {
      trial_.act();
      return read_special(text);
    }
    return leave_out(text);
  }
  // If the text becomes content, its special tokens are left out of it again.
  if (call_.may_be_content() || core_.has_rehearsed())
    core_.specials.emplace_back(core_.raw.size(), text.size());
  // The region may end within the token, at a fault; the rest is left out as usual.
  while (!text.empty() && reads_special()) read_step(text, Trial::kSpecial);
  if (!text.empty()) leave_out(text);
}

void Parser::leave_out(std::string_view text) {
  const std::size_t label = core_.at.label_read;
  const std::size_t after_call = core_.holds_text_after_call() ? core_.raw.size() : 0;
  core_.leave_out(
      text, after_call + core_.cursor.held().size() + (label == std::string::npos ? 0 : label));
}

std::size_t Parser::read_some(std::string_view text) {
  switch (core_.at.state) {
    case State::content: return content_.read(text);
    case State::fence: return content_.read_fence(text[0]);
    case State::markup: return header_.read(text);
    case State::opening: return call_.read_opening(text[0]);
    case State::header: return call_.read_name(text);
    case State::body: return call_.read_body(text);
    case State::malformed: {
      const std::size_t size = call_.before_next(text);
      if (size == 0) return call_.read_next(text[0]);
      text = text.substr(0, size);
      break;
    }
    case State::reasoning: break;
  }
  const MarkerCursor::Found match =
      core_.cursor.put(text, [this](std::string_view piece) { release(piece); });
  if (match.marker != nullptr) {
    on_marker(match);
  } else if (!core_.fits_label(core_.cursor.held())) {
    core_.end_label();  // the text in the cursor ends it, marker or not
  }
  return match.consumed;
}

void Parser::release(std::string_view text) {
  switch (core_.at.state) {
    case State::content: return core_.put_content(text);
    case State::reasoning: return core_.put_reasoning(text);
    case State::header: return call_.put_name(text);
    case State::markup: return header_.put(text);
    case State::malformed: return call_.put_malformed(text);
    case State::fence:
    case State::opening:
    case State::body: return;
  }
}

void Parser::on_marker(const MarkerCursor::Found& match) {
  if (core_.trial.outcome != Trial::Outcome::open) return;  // earlier text has decided
  call_.settle_end(static_cast<Role>(match.marker->role) == Role::call_close);
  switch (core_.at.state) {
    case State::header: return call_.on_name_end(match);
    case State::markup: return header_.on_end(match);
    case State::malformed:
      if (static_cast<Role>(match.marker->role) != Role::ignore) {
        // The opener of a call that did not come, in a section that is read again.
        if (trial_.is_tried(match) && core_.trial.is_read_again(match))
          return call_.put_malformed(match.text);
        return call_.on_malformed_end(match);
      }
      break;
    case State::reasoning: core_.end_label(); break;
    default: break;
  }
  on_marker_in_text(match);
}

// A marker in content or reasoning, or the end of a turn after a malformed call.
void Parser::on_marker_in_text(const MarkerCursor::Found& match) {
  if (trial_.is_mention(match)) {
    // The closer of quoted reasoning is text too.
    core_.at.has_mention |= core_.at.state == State::content &&
                            static_cast<Role>(match.marker->role) == Role::reasoning_open;
    return release(match.text);
  }
  // Only in content: within a call on trial, its own readers decide.
  if (core_.trial.is_on() && core_.at.state == State::content && trial_.decides(match)) return;
  if (read_idle(match)) return;
  const MarkupRegion* markup = core_.markup_of(match);
  if (markup != nullptr && markup->is_inline) return header_.on_inline_markup(match);
  const bool closes_call = static_cast<Role>(match.marker->role) == Role::call_close;
  // If the opener is part of the call's text, so is the closer: a filter that emits the text of a
  // call needs both.
  if (closes_call && core_.at.closer_is_calls) return on_own_closer(match);
  trial_.try_marker(match);
  cross(match);
}

// Reads a marker without effect: the end of a turn, markup within text, or a closer with nothing to
// close, such as a repeated one directly after a call. Returns false for other markers.
bool Parser::read_idle(const MarkerCursor::Found& match) {
  const Role role = static_cast<Role>(match.marker->role);
  const bool is_amid_text = core_.is_amid_text();
  // A call ended the reasoning. After text, its closer is one only if it is a token.
  const bool is_late = role == Role::reasoning_close && core_.at.state == State::content &&
                       is_amid_text && !match.marker->has_token;
  const bool is_stray = closes_nothing(role) || is_late;
  const bool is_again = role != Role::reasoning_close && core_.calls.index() >= 0;
  if (is_stray && (is_amid_text || core_.holds_stray() || !is_again)) {
    read_stray(match);
    return true;
  }
  // Held and not dropped: if text follows, it was text; if markup follows, it is markup.
  if (is_amid_text && !match.marker->has_token && changes_nothing(core_.markup_of(match), role)) {
    core_.hold_idle(match.text);
    return true;
  }
  if (!is_stray && role != Role::ignore) return false;
  core_.drop_space();
  core_.audit(Fate::marker, match.text);
  return true;
}

// Whether a closer closes nothing here. Directly after a call or the reasoning, one that is written
// again is markup.
bool Parser::closes_nothing(Role role) const {
  const Place& at = core_.at;
  if (role == Role::call_close || role == Role::section_close) return !core_.closes_something();
  if (role != Role::reasoning_close || at.state != State::content || at.reasoning_is_cut)
    return false;
  return at.boundary != Place::Boundary::after_markup || !at.skip_is_reasonings;
}

// `Use </tool_call> at the end.` mentions a closer: spelled, it is text if text follows. After an
// opener that is text, what closes it is text.
void Parser::read_stray(const MarkerCursor::Found& match) {
  const bool is_reasonings = static_cast<Role>(match.marker->role) == Role::reasoning_close;
  if (!is_reasonings && core_.at.has_mention) return release(match.text);
  if (!match.marker->has_token && (core_.is_amid_text() || core_.holds_stray()))
    return core_.hold_stray(match.text);
  const bool is_first = !core_.is_amid_text();
  drop_stray(match.text);
  if (is_reasonings && is_first) core_.at.skip = core_.program().reasoning->close.after;
}

// White space after it is text only if text follows.
void Parser::drop_stray(std::string_view marker) {
  Place& at = core_.at;
  call_.settle_end(false);
  core_.drop_space();
  core_.put_stray(marker);
  if (at.state != State::content || core_.calls.end_waits()) return;
  at.boundary = Place::Boundary::after_markup;
  at.skip_is_reasonings = false;
  at.skip = {};
  core_.reset_cursor();
}

// A marker's token that has no meaning here, such as a parameter's closer in content.
bool Parser::read_stray_token(Symbol symbol, std::string_view literal) {
  const Place& at = core_.at;
  if (at.state != State::content && at.state != State::reasoning) return false;
  // It may be part of a call that a filter reads.
  if (core_.options().marks_headed_text) return false;
  if (at.has_mention || at.headed == Place::Headed::for_user ||
      core_.cursor.would_continue_at(symbol))
    return false;
  // Quoted text is kept to the letter.
  if (!core_.format().is_marker(literal) || core_.is_quoted(literal)) return false;
  core_.cursor.flush([this](std::string_view text) { release(text); });
  if (at.state == State::reasoning) core_.end_label();
  drop_stray(literal);
  return true;
}

// A marker that counts: it opens or closes a region here.
void Parser::cross(const MarkerCursor::Found& match) {
  Place& at = core_.at;
  const Role role = static_cast<Role>(match.marker->role);
  const MarkupRegion* markup = core_.markup_of(match);
  const bool is_reasonings = belongs_to_reasoning(core_, match);
  at.has_slip |= match.marker->is_slip;
  core_.drop_space(is_reasonings);
  const bool opens_call = role == Role::call_open || role == Role::section_open;
  // Without a closer, nothing of the reasoning can follow the call.
  at.reasoning_is_cut |= opens_call && at.state == State::reasoning &&
                         !core_.program().has_reasoning_headers() &&
                         !core_.program().reasoning->close.is_empty();
  if (role == Role::call_open) return call_.begin_at_opener(match);  // its audit waits for its name
  at.has_mention = false;
  // Whether the header's marker belongs to the reasoning depends on what the header says.
  if (core_.options().only_reasoning && markup != nullptr && markup->has_header()) {
    header_.hold_opener(match.text);
  } else {
    core_.audit(Fate::marker, match.text, is_reasonings);
  }
  at.skip_is_reasonings = is_reasonings;
  switch (role) {
    case Role::reasoning_open:
    case Role::reasoning_close: return on_reasoning(role);
    case Role::section_open:
      // Inside a section, calls may follow each other without openers of their own.
      at.in_section = true;
      at.may_chain = false;
      return core_.after_markup(core_.program().section.open.after);
    case Role::markup_open: return header_.on_markup(match);
    case Role::call_close:
    case Role::section_close: return on_closer(role, match);
    default: return;
  }
}

void Parser::on_reasoning(Role role) {
  Place& at = core_.at;
  const ReasoningRegion& reasoning = *core_.program().reasoning;
  at.reasoning_is_cut = at.reasoning_is_assumed = false;
  at.quotes = {};
  if (role == Role::reasoning_close) {
    // After reasoning the message begins: a bare call may stand here.
    if (!at.has_content) at.line = Place::Line::start;
    return core_.after_markup(reasoning.close.after);
  }
  at.reasoning_is_empty = true;
  at.may_chain = false;
  at.skip = reasoning.open.after;
  at.label_read = reasoning.label.empty() ? std::string::npos : 0;
  core_.enter(State::reasoning);
}

// The closer of a call with its own opener: both are part of the call's text.
void Parser::on_own_closer(const MarkerCursor::Found& match) {
  Place& at = core_.at;
  // Before the closer, in the order of the output.
  core_.audit_idle();
  core_.put_call_text(Fate::whitespace, std::exchange(at.space, {}));
  core_.put_call_text(Fate::marker, match.text);
  // The closer is part of what the model may repeat.
  core_.expect_echo(match.text);
  at.skip_is_reasonings = false;
  on_closer(Role::call_close, match);
}

void Parser::on_closer(Role role, const MarkerCursor::Found& match) {
  const Program& program = core_.program();
  Place& at = core_.at;
  // The section's opener may be missing; its closer is still markup.
  at.closer_pending =
      role == Role::call_close && !at.in_section && !program.section.close.is_empty();
  at.may_chain = false;
  at.in_fence = false;
  at.closer_is_calls = false;
  if (role == Role::section_close) at.in_section = false;
  core_.after_markup(role == Role::section_close
                         ? std::string_view(program.section.close.after)
                         : std::string_view(program.calls[match.marker->value].close.after));
}

void Parser::finish(FinishReason reason, std::uint64_t token_end, Events& out) {
  core_.write_to(out, token_end);
  // Text that is read again may have to be decided too.
  do {
    echo_.give_up();
    if (core_.trial.is_on()) trial_.finish(reason);
    call_.settle_end(false);
  } while (call_.decide(reason) || core_.trial.is_on());
  switch (core_.at.state) {
    case State::fence: core_.release_raw(); break;
    case State::markup: header_.finish(!ended_itself(reason)); break;
    case State::opening:
    case State::header:
    case State::body:
    case State::malformed: call_.finish(reason); break;
    case State::content:
    case State::reasoning: break;
  }
  finish_text();
  // Last, when the status of every call is known.
  out.add_finish(core_.calls.reason(reason), token_end);
}

// The output ends between regions, or in reasoning.
void Parser::finish_text() {
  Place& at = core_.at;
  if (at.state == State::content || at.state == State::reasoning) {
    if (!at.idle.empty()) core_.drop_space();  // text after it may begin a marker
    core_.cursor.flush([this](std::string_view text) { release(text); });
    if (at.state == State::reasoning) core_.end_label();
  }
  // White space is markup next to markers. Without any marker it is all that the model wrote.
  if (at.boundary == Place::Boundary::start && !at.space.empty() && at.idle.empty()) {
    core_.emit_content(at.space);  // the message is only white space
  } else {
    core_.drop_space();
  }
  at.space.clear();
}

}  // namespace unspool
