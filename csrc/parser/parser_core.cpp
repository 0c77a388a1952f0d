#include "parser/parser_core.h"

#include <algorithm>
#include <limits>

#include "text/white_space.h"

namespace unspool {

namespace {

using State = Place::State;
using Boundary = Place::Boundary;

// Longer runs are content, not markup; bounds what a stream holds.
constexpr std::size_t kMaxSpaceBytes = 64;

bool is_closing_bracket(char byte) { return byte == '}' || byte == ']' || byte == ')'; }

}  // namespace

ParserCore::ParserCore(std::shared_ptr<const Format> format, ParserOptions some)
    : calls(format->program().call_ids, some),
      format_(std::move(format)),
      program_(format_->program()),
      options_(std::move(some)),
      minds_quotes_(options_.calls_in_fences != CallsInFences::call && !program_.calls.empty()) {
  begin_audit();
  if (options_.label_paths) labels = std::make_unique<CallLabels>(options_.label_paths);
}

void ParserCore::enter(State state) {
  at.state = state;
  at.bare_candidate = -1;
  reset_cursor();
}

void ParserCore::reset_cursor() {
  switch (at.state) {
    case State::content:
      if (is_rehearsing()) return cursor.reset(&markers_of_rehearsal());
      cursor.reset(&markers_of_content());
      break;
    case State::reasoning: cursor.reset(&markers().reasoning); break;
    case State::header: cursor.reset(&markers().calls[at.call].header); break;
    case State::malformed: cursor.reset(&markers().malformed); break;
    case State::markup: cursor.reset(&markers().headers[at.markup]); break;
    case State::opening: cursor.reset(&markers().openers); break;
    case State::fence:
    case State::body: break;
  }
}

const MarkerSet& ParserCore::markers_of_content() const {
  if (at.headed == Place::Headed::for_user) return markers().for_user;
  if (closes_something())
    return at.reasoning_is_cut ? markers().inside_cut_reasoning : markers().inside;
  if (at.reasoning_is_cut) return markers().after_cut_reasoning;
  if (at.boundary == Boundary::after_markup && at.skip_is_reasonings && program().reasoning &&
      !program().has_reasoning_headers())
    return markers().after_reasoning;
  const bool is_after_call = at.boundary == Boundary::after_markup && calls.index() >= 0;
  return is_after_call ? markers().after_call : markers().content;
}

const MarkerSet& ParserCore::markers_of_rehearsal() const {
  if (!closes_something() || program().has_reasoning_headers()) return markers().rehearsal;
  return is_strict() ? markers().rehearsed_section : markers().inside_cut_reasoning;
}

void ParserCore::after_markup(std::string_view skip, Place::Headed headed) {
  at.headed = headed;
  at.boundary = Boundary::after_markup;
  is_quoting() ? at.quotes.after_marker() : at.quotes.begin_line();
  at.skip = skip;
  enter(State::content);
}

void ParserCore::leave_out_turn(std::size_t bytes) {
  turn_->bytes = bytes;
  // Without an audit, the bytes are only counted.
  audit_trail_ = std::make_unique<AuditTrail>();
  audit_trail_->leave_out(options_.audit ? bytes : std::numeric_limits<std::uint64_t>::max());
}

void ParserCore::forget_turn() {
  if (turn_) calls = turn_->before;
  turn_.reset();
  begin_audit();
}

void ParserCore::begin_audit() {
  audit_trail_ = options_.audit ? std::make_unique<AuditTrail>() : nullptr;
}

void ParserCore::close_calls(std::int32_t count) {
  CallTally rest;
  const auto drop_closed = [&](Events& events) {
    Events open;
    for (const Event& event : events.list()) {
      if (event.index < count) continue;
      if (event.kind == EventKind::tool_call_end) rest.put(event.status);
      Event renumbered = event;
      renumbered.index -= count;
      open.add(renumbered, events);
    }
    events = std::move(open);
  };
  drop_closed(turn_->events);
  if (trial.is_on()) {
    drop_closed(trial.events());
    trial.start().calls.tally = {};
  }
  calls.close_first(count, rest);
}

std::size_t ParserCore::turn_left() const {
  if (!turn_) [[likely]]
    return 0;
  return trial.is_on() ? left_of(trial.start().audit.bytes) : left_of_text();
}

// At every input until all of the turn has its fate.
void ParserCore::begin_output() {
  if (!std::exchange(turn_->is_told, true)) callers_->append(std::exchange(turn_->events, {}));
  // A trial may go back into the turn.
  if (trial.is_on() || audited_bytes() < turn_->bytes) return;
  turn_.reset();
  if (!options_.audit) audit_trail_.reset();
}

void ParserCore::write_to(Events& out, std::uint64_t end) {
  callers_ = &out;
  if (turn_) [[unlikely]]
    begin_output();
  events_ = trial.is_on() ? &trial.events() : callers_;
  token_end = end;
}

// White space between two markers is markup.
void ParserCore::put_content(std::string_view text) {
  if (!at.skip.empty()) text = drop_skipped(text);
  if (text.empty()) return;
  if (holds_text_after_call()) return hold_after_call(text);
  if (at.boundary == Boundary::none) return emit_content(text);
  const std::string_view separators = at.boundary == Boundary::after_markup && at.may_chain
                                          ? std::string_view(call().separators)
                                          : "";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    if (is_space(byte) || separators.find(byte) != std::string_view::npos) {
      at.space += byte;
      if (at.space.size() <= kMaxSpaceBytes) continue;
      if (calls.end_waits()) {
        drop_space();
        continue;
      }
      text = text.substr(i + 1);
    } else if ((at.closer_pending || (at.may_chain && !call().is_one_object())) &&
               is_closing_bracket(byte)) {
      // An extra bracket: models write it, and it carries no meaning.
      drop_space();
      calls.put_malformed(text.substr(i, 1), "a bracket follows the call's end", token_end,
                          *events_);
      put_call_text(Fate::malformed, text.substr(i, 1));
      continue;
    } else {
      text = text.substr(i);
    }
    if (calls.end_waits()) return hold_after_call(text);
    if (gives_up_section(text.empty() ? ' ' : text[0])) return;
    at.boundary = Boundary::none;
    at.may_chain = false;
    if (const std::string held = take_held(); !held.empty()) emit_content(held);
    if (!text.empty()) emit_content(text);
    return;
  }
}

// Text between the whole arguments of a call and its closer, if one comes.
void ParserCore::hold_after_call(std::string_view text) {
  at.may_chain = false;
  raw.append(std::exchange(at.space, {})).append(text);
  if (raw.size() <= options_.limits.max_held_bytes) return;
  const std::string held = std::exchange(raw, {});
  calls.settle_end(token_end, events());
  put_content(held);
}

// Text after a section's opener: the opener is a mention within a line or in a fence, else it was
// meant as one.
bool ParserCore::gives_up_section(char byte) {
  if (!is_in_empty_section()) return false;
  if (trial.outcome != Trial::Outcome::open) return true;  // earlier text has decided
  if (trial.is_amid_line || trial.start().place.state == State::reasoning || byte == '`') {
    trial.outcome = Trial::Outcome::mention;
  } else {
    trial.fail("no call follows the opener");
  }
  return true;
}

void ParserCore::put_reasoning(std::string_view text) {
  text = drop_skipped(drop_label(text));
  if (!text.empty()) release_reasoning(text);
}

void ParserCore::release_reasoning(std::string_view text) {
  if (text.empty()) return;
  if (!at.idle.empty()) {
    if (is_blank(text) && at.space.size() + text.size() <= kMaxSpaceBytes) {
      at.space += text;
      return;
    }
    emit_reasoning(take_held());
  }
  emit_reasoning(text);
}

void ParserCore::release_raw() {
  leave_out_specials();
  std::string text = std::exchange(raw, {});
  for (; !specials.empty(); specials.pop_back()) {  // content omits them
    const auto [begin, size] = specials.back();
    if (begin < text.size()) text.erase(begin, size);
  }
  at.line = Place::Line::inside;
  at.has_mention = true;
  enter(State::content);
  put_content(text);
}

void ParserCore::emit_content(std::string_view text) {
  if (has_rehearsed()) {
    if (trial.closed_at > 0) {  // an answer
      trial.outcome = Trial::Outcome::rehearsal;
      return;
    }
    trial.rehearsed_bytes += text.size();
    return emit_reasoning(text);
  }
  echo.on_other_text();
  if (minds_quotes_) {
    at.quotes.put(text);
    if (at.quotes.has_prose() && has_quoted() && trial.outcome == Trial::Outcome::open)
      trial.outcome = Trial::Outcome::mention;
  }
  at.has_content = true;
  at.last_byte = text.back();
  if (const auto sent = of_output(text); !sent.empty()) {
    if (at.headed != Place::Headed::no && options_.marks_headed_text) {
      events_->add_text(EventKind::content, -1, sent, token_end, kHeaded);
    } else {
      events_->add_text(EventKind::content, -1, sent, token_end);
    }
  }
  audit(Fate::content, text);
}

void ParserCore::emit_reasoning(std::string_view text) {
  echo.on_other_text();
  at.reasoning_is_empty = false;
  at.last_byte = text.back();
  if (const auto sent = of_output(text); !sent.empty())
    events_->add_text(EventKind::reasoning, -1, sent, token_end);
  audit(Fate::reasoning, text);
}

void ParserCore::put_malformed(std::string_view text, const char* problem) {
  echo.on_other_text();
  at.has_mention = true;
  const std::string_view sent = of_output(text);
  if (!sent.empty() || text.empty())
    events_->add_text(EventKind::malformed, -1, sent, token_end, problem);
  audit(Fate::malformed, text);
}

void ParserCore::put_stray(std::string_view marker) {
  if (const auto sent = of_output(marker); !sent.empty())
    events_->add_text(EventKind::malformed, -1, sent, token_end, kStray);
  // A filter that reads the calls of other families takes it for text.
  if (!options_.marks_headed_text) return audit(Fate::marker, marker);
  if (audit_trail_)
    audit_trail_->put({.fate = Fate::malformed, .is_aside = true}, marker, *events_);
}

// If the closer is a token, only that token ends an echo.
void ParserCore::expect_echo(std::string_view closer) {
  if (!echo.records() || !calls.is_complete() || (trial.is_on() && !waits_for_more())) return;
  const auto& tokens = format_->symbols();
  echo.wait(options_.by_id && std::any_of(tokens.begin(), tokens.end(), [&](const auto& token) {
              return closer.ends_with(token.text);
            }));
}

void ParserCore::put_call_text(Fate fate, std::string_view text, LabelPart part,
                               CallPaths::Id path) {
  if (echo.records()) echo.add(text);
  ByteLabel label{.fate = fate, .part = part, .call = calls.text_index(), .path = path};
  label.is_aside = fate == Fate::malformed;
  if (calls.is_over()) label = {.fate = Fate::malformed, .call = label.call};
  const std::string_view sent = of_output(text);
  if (audit_trail_) audit_trail_->put(label, text, *events_);
  if (calls.wants_text()) calls.put_text(sent, token_end, *events_);
}

void ParserCore::ignore(std::string_view marker, std::size_t kept, std::size_t pending,
                        LabelPart part) {
  if (!audit_trail_) return;
  std::uint64_t place = audited_bytes() + at.idle.size() + at.space.size();
  if (trial.is_on()) {
    place = trial.start().begin_at + trial.marker().size() + trial.input().size() - kept;
  } else {
    place += pending + audit_trail_->ignored_bytes();
  }
  audit_trail_->ignore(marker, place, labels ? part : LabelPart::none, *events_);
}

// Special tokens in text that is emitted as content.
void ParserCore::leave_out_specials() {
  if (!labels) return;
  const std::uint64_t begin = audited_bytes() + at.idle.size() + at.space.size();
  for (const auto& [at_byte, size] : specials) {
    if (at_byte >= raw.size()) break;
    const std::string text = raw.substr(at_byte, size);
    audit_trail_->ignore(text, begin + at_byte, LabelPart::left_out, *events_);
  }
}

void ParserCore::audit_idle(bool of_reasoning) {
  std::string_view text = at.idle;
  if (holds_stray()) {
    audit(Fate::marker, text.substr(0, at.stray_begin), of_reasoning);
    put_stray(text.substr(at.stray_begin, at.stray_end - at.stray_begin));
    text.remove_prefix(at.stray_end);
    at.stray_end = 0;
  }
  while (labels && !text.empty()) {
    std::size_t first = std::string_view::npos, size = 0;
    for (const std::string& end : program_.ends) {
      if (const std::size_t begin = text.find(end); begin < first) {
        first = begin;
        size = end.size();
      }
    }
    if (first == std::string_view::npos) break;
    audit(Fate::marker, text.substr(0, first), of_reasoning);
    audit(Fate::marker, text.substr(first, size), of_reasoning);
    text.remove_prefix(first + size);
  }
  audit(Fate::marker, text, of_reasoning);
  at.idle.clear();
}

void ParserCore::hold_idle(std::string_view marker) {
  at.idle += at.space;
  at.idle += marker;
  at.space.clear();
  if (at.state == State::content) at.boundary = Boundary::after_markup;
  at.may_chain = false;
  reset_cursor();
}

void ParserCore::hold_stray(std::string_view closer) {
  const bool is_first = !holds_stray();
  hold_idle(closer);
  at.stray_end = at.idle.size();
  if (is_first) at.stray_begin = at.stray_end - closer.size();
}

void ParserCore::drop_space(bool of_reasoning) {
  audit_idle(of_reasoning);
  audit(Fate::whitespace, at.space, of_reasoning);
  at.space.clear();
}

std::string_view ParserCore::drop_skipped(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size() && i < at.skip.size() && text[i] == at.skip[i]) ++i;
  audit(Fate::whitespace, text.substr(0, i), at.skip_is_reasonings);
  at.skip = i == text.size() ? at.skip.substr(i) : std::string_view{};
  if (minds_quotes_ && at.state == State::content) at.quotes.put(text.substr(0, i));
  return text.substr(i);
}

// Reasoning after its opener's optional label; empty while the label is being read.
std::string_view ParserCore::drop_label(std::string_view text) {
  if (at.label_read == std::string::npos) return text;
  const std::string& label = program().reasoning->label;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != label[at.label_read]) {
      end_label();
      return text.substr(i);
    }
    if (++at.label_read == label.size()) {
      end_label();
      return text.substr(i + 1);
    }
  }
  return {};
}

bool ParserCore::fits_label(std::string_view text) const {
  if (at.label_read == std::string::npos || text.empty()) return true;
  return text[0] == program().reasoning->label[at.label_read];
}

void ParserCore::end_label() {
  if (at.label_read == std::string::npos) return;
  const std::string_view label = program().reasoning->label;
  const std::string_view read = label.substr(0, at.label_read);
  at.label_read = std::string::npos;
  if (trim(read) == trim(label)) {
    audit(Fate::marker, read, true);
  } else if (!read.empty()) {
    emit_reasoning(read);
  }
}

Quotes ParserCore::quotes_before(std::string_view marker) const {
  if (!minds_quotes_ || at.state != State::content) return {};
  Quotes next = at.quotes;
  next.put(at.space);
  next.put(marker.substr(0, std::min(marker.find_first_not_of(kSpace), marker.size())));
  return next;
}

void ParserCore::begin_quote(std::string_view begun) {
  begin_trial(begun, false);
  trial.tries_call = trial.quotes = trial.is_quoted = true;
}

// A prompt may have written white space that begins a marker; the trial keeps it with the rest.
void ParserCore::begin_after_call() {
  if (!is_blank(cursor.held())) return;
  cursor.flush([this](std::string_view text) { put_content(text); });
  begin_trial({}, false);
  trial.follows_call = true;
}

void ParserCore::begin_trial(const MarkerCursor::Found& match) {
  const bool quotes = is_quoted(match.text);
  begin_trial(match.text, match.marker->has_token);
  trial.quotes = trial.is_quoted = quotes;
  const Role role = static_cast<Role>(match.marker->role);
  trial.opens_section = role == Role::section_open;
  trial.tries_call = role == Role::call_open || trial.opens_section;
  trial.is_word =
      role == Role::call_open &&
      program().calls[format_->openers()[match.marker->value].front()].start.may_be_text;
  trial.is_amid_line =
      at.boundary == Boundary::none && at.last_byte != '\n' && match.text[0] != '\n';
}

void ParserCore::begin_trial(std::string_view marker, bool is_token) {
  AuditTrail::Place audit = audit_trail_ ? audit_trail_->place() : AuditTrail::Place();
  const std::size_t waiting = at.idle.size() + at.space.size();
  const std::uint64_t begin_at =
      audit.bytes + waiting + (audit_trail_ ? audit_trail_->ignored_bytes(waiting) : 0);
  at.quotes.expect_no_prose();
  trial.tries_call = trial.opens_section = trial.is_word = trial.is_amid_line = false;
  trial.quotes = trial.is_quoted = trial.follows_call = trial.has_call_markup = false;
  trial.rehearsed_bytes = trial.call_at = trial.closed_at = 0;
  trial.begin(marker, is_token, {at, calls.place(), std::move(audit), begin_at});
  events_ = &trial.events();
}

void ParserCore::settle_trial() {
  if (!trial.is_on()) return;
  trial.end();
  callers_->append(trial.events());
  events_ = callers_;
  trial.forget();
  if (at.state == State::content && cursor.is_idle()) reset_cursor();
}

void ParserCore::drop_trial() {
  trial.end();
  events_ = callers_;
  raw.clear();
  Trial::Start& start = trial.start();
  calls.go_back(start.calls);
  echo = {};
  if (audit_trail_) audit_trail_->go_back(std::move(start.audit));
  at = std::move(start.place);
  enter(at.state);
}

}  // namespace unspool
