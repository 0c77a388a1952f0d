#include "parser/parser.h"

#include <algorithm>
#include <utility>

#include "text/white_space.h"

namespace unspool {

namespace {

// A format may list a tag of its reasoning as markup too, for where it closes nothing. Where
// headers tell what is reasoning, the same tags close other messages.
bool is_reasonings_tag(const FormatSpec& spec, std::string_view tag) {
  const auto has = [&](const MarkerSpec& marker) {
    return std::find(marker.texts.begin(), marker.texts.end(), tag) != marker.texts.end();
  };
  return spec.reasoning && !spec.headers_tell_reasoning() &&
         (has(spec.reasoning->open) || has(spec.reasoning->close));
}

bool ends_turn(const FormatSpec& spec, std::string_view token) {
  return std::find(spec.ignore.begin(), spec.ignore.end(), token) != spec.ignore.end();
}

// Markup that no header follows, around text or at the end of a turn.
bool changes_nothing(Role role, const MarkupSpec* markup) {
  return role == Role::ignore || (markup != nullptr && !markup->has_header() && !markup->is_inline);
}

}  // namespace

Parser::Parser(std::shared_ptr<const Format> format, ParserOptions options)
    : format_(std::move(format)),
      options_(std::move(options)),
      header_(*format_),
      calls_(format_->spec().call_ids, options_) {
  start_at(options_.start.value_or(format_->start_without_prompt()));
}

void Parser::start_at(const Format::Start& start) {
  at_.skip = start.skip;
  at_.skip_is_reasonings = true;
  State state = start.in_reasoning ? State::reasoning : State::content;
  if (start.markup >= 0) {
    header_.open(static_cast<std::size_t>(start.markup), true);
    return enter(State::markup);
  }
  at_.in_section = start.in_section;
  if (start.opener >= 0) {  // none of the prompt is emitted
    reading_.opener = static_cast<std::size_t>(start.opener);
    at_.call = format_->openers()[reading_.opener].front();
    return enter(State::opening);
  }
  if (start.in_section) {
    at_.boundary = Boundary::after_markup;
    return enter(State::content);
  }
  for (const MarkupSpec& markup : format_->spec().markup) {
    if (!markup.begins.empty()) state = start.in_reasoning ? state : State::beginning;
  }
  enter(state);
}

Region Parser::region() const {
  if (is_rehearsing()) return Region::reasoning;
  switch (at_.state) {
    case State::content:
    case State::beginning:
    case State::markup:
    case State::fence: return Region::content;
    case State::reasoning: return Region::reasoning;
    case State::opening:
    case State::header: return Region::tool_call;
    case State::body:
    case State::malformed:
      return calls_.is_open() || !call().is_tentative() ? Region::tool_call : Region::content;
  }
  return Region::content;
}

bool Parser::is_undecided() const {
  return is_rehearsing() || at_.state == State::fence || at_.state == State::beginning ||
         at_.state == State::markup ||
         (at_.state == State::body && !calls_.is_open() && call().is_tentative());
}

void Parser::add_held(Held& out, bool as_text) const {
  if (trial_.is_on()) return trial_.add_held(out, why_trial_waits());
  if (at_.label_read != std::string::npos) {
    const std::string_view label = format_->spec().reasoning->label;
    out.add(HeldReason::marker, label.substr(0, at_.label_read));
  }
  out.add(HeldReason::marker, at_.idle);
  out.add(HeldReason::space, at_.space);
  out.add(HeldReason::header, header_.opener);
  switch (at_.state) {
    case State::content:
    case State::reasoning:
    case State::malformed: out.add(cursor_); break;
    case State::beginning: out.add(HeldReason::header, reading_.raw); break;
    case State::markup:
      out.add(HeldReason::header, reading_.raw);
      out.add(HeldReason::header, cursor_.held());
      break;
    case State::fence: out.add(HeldReason::call, reading_.raw); break;
    case State::opening:
    case State::header:
      out.add(HeldReason::name, reading_.raw);
      break;  // with what the cursor holds
    case State::body: return add_held_of_body(out, as_text);
  }
}

HeldReason Parser::why_trial_waits() const {
  if (at_.state == State::markup) return HeldReason::header;
  const bool is_call = is_rehearsing() || (at_.state == State::body && call().is_tentative());
  return is_call ? HeldReason::call : HeldReason::name;
}

void Parser::add_held_of_body(Held& out, bool as_text) const {
  if (!calls_.is_open()) {
    return out.add(call().is_tentative() ? HeldReason::call : HeldReason::name, reading_.raw);
  }
  if (as_text) return out.add(HeldReason::closing_tag, reading_.pending_text);
  calls_.add_held(out);
  reading_.body->add_held(out);
}

void Parser::enter(State state) {
  at_.state = state;
  bare_candidate_ = -1;
  reset_cursor();
}

void Parser::reset_cursor() {
  switch (at_.state) {
    case State::content:
      if (is_rehearsing()) return cursor_.reset(&markers().rehearsal);
      cursor_.reset(at_.in_section || at_.closer_pending ? &markers().inside : &markers().content);
      break;
    case State::reasoning: cursor_.reset(&markers().reasoning); break;
    case State::header: cursor_.reset(&markers().calls[at_.call].header); break;
    case State::malformed: cursor_.reset(&markers().malformed); break;
    case State::markup: cursor_.reset(&markers().headers[header_.markup()]); break;
    case State::opening: cursor_.reset(&markers().openers); break;
    case State::beginning:
    case State::fence:
    case State::body: break;
  }
}

void Parser::write_to(Events& out) {
  main_out_ = &out;
  out_ = trial_.is_on() ? &trial_.events() : main_out_;
}

void Parser::put_text(std::string_view text, std::uint64_t token_end, Events& out) {
  write_to(out);
  token_end_ = token_end;
  read_all(text);
}

void Parser::put_token(Symbol symbol, std::uint64_t token_end, Events& out) {
  write_to(out);
  token_end_ = token_end;
  const std::string_view literal = format_->symbol_text(symbol);
  if (!options_.by_id) return read_all(literal);
  const std::uint64_t trial = trial_.number();
  read_token(symbol, literal);
  after_reading(trial, literal, symbol);
}

void Parser::read_all(std::string_view text) {
  while (!text.empty()) {
    const std::uint64_t trial = trial_.number();
    const std::size_t read = read_some(text);
    after_reading(trial, text.substr(0, read), Trial::kText);
    text.remove_prefix(read);
  }
}

// What was read before and kept: only a trial that begins in it needs what follows again.
void Parser::read_again(const Letters& letters) {
  const std::uint64_t first = trial_.number();
  std::size_t i = 0;
  while (i < letters.size() && trial_.outcome == Outcome::open) {
    const Letter letter = letters.at(i);
    const std::uint64_t trial = trial_.number();
    std::size_t read = letter.text.size();
    if (letter.symbol != 0) {
      read_token(letter.symbol, letter.text);
    } else {
      read = read_some(letter.text);
    }
    if (trial != first) keep_input(trial, letter.text.substr(0, read), letter.symbol);
    i += read;
    if (trial_.number() != first) act();
  }
}

void Parser::read_again(std::string_view text) {
  Letters letters;
  letters.put(text);
  read_again(letters);
}

void Parser::read_token(Symbol symbol, std::string_view literal) {
  // The end of a turn is never text where it is known by id, not even inside a string.
  const bool is_inside = at_.is_in_call() || at_.state == State::fence;
  if (is_inside && ends_turn(format_->spec(), literal)) return ignore(literal);
  if (at_.state == State::body) {
    const bool was_announced = calls_.is_open();
    const BodyResult result = reading_.body->put_token(symbol, literal, *this);
    on_body(result, literal, was_announced);
    if (result.consumed > 0 || trial_.outcome != Outcome::open) return;
  }
  if (at_.state == State::fence || at_.state == State::beginning) release_raw_as_content();
  if (at_.state == State::opening && read_token_after_opener(symbol, literal)) return;
  if (at_.state == State::content) {
    at_.line = Line::inside;
    bare_candidate_ = -1;
  }
  const MarkerCursor::Found found =
      cursor_.put_token(symbol, literal, [this](std::string_view text) { release(text); });
  if (at_.state == State::header) reading_.raw += literal;
  if (found.marker != nullptr) on_marker(found);
}

// Whether the token is read: an opener again, or what shows that the opener was a mention.
bool Parser::read_token_after_opener(Symbol symbol, std::string_view literal) {
  const MarkerCursor::Found found = cursor_.put_token(symbol, literal, [](std::string_view) {});
  reading_.raw += literal;
  if (found.marker != nullptr && on_opener_again(found)) return true;
  reading_.raw.resize(reading_.raw.size() - literal.size());
  trial_.has_call_markup = true;
  on_failure("what follows the opener is not a call", {});
  return trial_.outcome != Outcome::open;
}

void Parser::put_special(std::string_view text, std::uint64_t token_end, Events& out) {
  write_to(out);
  token_end_ = token_end;
  read_special(text);
}

void Parser::read_special(std::string_view text) {
  if (!reads_special()) {
    // It stands between what was read and what follows, and shows in neither.
    if (at_.state == State::fence || (at_.state == State::beginning && !reading_.raw.empty())) {
      release_raw_as_content();
    }
    if (at_.state == State::beginning || is_blank(cursor_.held())) return;
    bare_candidate_ = -1;
    return cursor_.flush([this](std::string_view held) { release(held); });
  }
  const bool may_be_content =
      at_.state == State::body && !calls_.is_open() && call().is_tentative();
  if (may_be_content) reading_.specials.emplace_back(reading_.raw.size(), text.size());
  while (!text.empty() && reads_special()) {
    const std::uint64_t trial = trial_.number();
    const std::size_t read = read_some(text);
    after_reading(trial, text.substr(0, read), Trial::kSpecial);
    text.remove_prefix(read);
  }
}

std::size_t Parser::read_some(std::string_view text) {
  switch (at_.state) {
    case State::content: return read_content(text);
    case State::fence: return read_fence(text[0]);
    case State::beginning: return read_beginning(text[0]);
    case State::markup: return read_markup(text);
    case State::opening: return read_opening(text[0]);
    case State::header: return read_header(text[0]);
    case State::body: return read_body(text);
    case State::reasoning:
    case State::malformed: break;
  }
  const MarkerCursor::Found found =
      cursor_.put(text, [this](std::string_view piece) { release(piece); });
  if (found.marker != nullptr) {
    on_marker(found);
  } else if (!fits_label(cursor_.held())) {
    end_label();  // what the cursor holds ends it, marker or not
  }
  return found.consumed;
}

// What the cursor gives back goes where the state says.
void Parser::release(std::string_view text) {
  switch (at_.state) {
    case State::content: release_content(text); break;
    case State::reasoning:
      text = drop_skipped(drop_label(text));
      if (!text.empty()) release_reasoning(text);
      break;
    case State::header: reading_.name += text; break;
    case State::markup: reading_.raw += text; break;
    case State::malformed: emit_malformed(text); break;
    case State::beginning:
    case State::fence:
    case State::opening:
    case State::body: break;
  }
}

void Parser::on_marker(const MarkerCursor::Found& found) {
  if (trial_.outcome != Outcome::open) return;  // what stands before it has decided the trial
  const Role role = static_cast<Role>(found.marker->role);
  switch (at_.state) {
    case State::header: return on_header_end(found);
    case State::markup: return on_markup_end(found);
    case State::malformed:
      if (role != Role::ignore) return on_malformed_end(found);
      break;
    case State::reasoning: end_label(); break;
    default: break;
  }
  on_marker_in_text(role, found);
}

// A marker in content or reasoning, or the end of a turn after a call that cannot be read.
void Parser::on_marker_in_text(Role role, const MarkerCursor::Found& found) {
  if (is_mention(role, found)) return release(found.text);
  if (trial_.is_on() && at_.state == State::content && decides_trial(role, found)) return;
  const MarkupSpec* markup = markup_of(role, found);
  if (changes_nothing(role, markup) && is_amid_text() && !found.marker->has_token) {
    return hold_idle(found.text);
  }
  if (role == Role::ignore) {
    drop_space(Fate::whitespace);
    return audit(Fate::marker, found.text);
  }
  if (markup != nullptr && markup->is_inline) return on_inline_markup(found);
  if (role == Role::call_close && at_.closer_is_calls) return on_own_closer(found);
  if (is_on_trial(role, found) && !trial_.is_on()) begin_trial(found);
  cross(role, found);
}

// Whether a marker in the content after the one on trial decides what that one is.
bool Parser::decides_trial(Role role, const MarkerCursor::Found& found) {
  const MarkupSpec* markup = markup_of(role, found);
  const bool has_header = markup != nullptr && markup->has_header();
  if (has_rehearsed()) {
    if (role == Role::reasoning_close || has_header) {
      trial_.closes_rehearsal = found;
      trial_.outcome = Outcome::rehearsal;
      return true;
    }
    const bool calls_again = role == Role::call_open && !at_.in_section;
    if (calls_again || role == Role::section_open) settle_trial();
    return false;
  }
  const bool closes = role == Role::section_close || role == Role::call_close;
  if (!closes && role != Role::ignore && role != Role::reasoning_open && !has_header) return false;
  trial_.outcome = closes ? Outcome::empty : Outcome::mention;
  return true;
}

// Whether a marker's bytes are the reasoning's, for the audit.
bool Parser::belongs_to_reasoning(Role role, const MarkerCursor::Found& found) const {
  if (role == Role::reasoning_open || role == Role::reasoning_close) return true;
  const bool is_first = !at_.has_content && calls_.index() < 0;
  return role == Role::markup_open && is_first && is_reasonings_tag(format_->spec(), found.text);
}

// A marker that counts: what it opens or closes begins or ends here.
void Parser::cross(Role role, const MarkerCursor::Found& found) {
  const MarkupSpec* markup = markup_of(role, found);
  const bool is_reasonings = belongs_to_reasoning(role, found);
  at_.has_slip |= found.marker->is_slip;
  drop_space(Fate::whitespace, is_reasonings);
  if (role == Role::call_open) return on_opener(found);  // its audit waits for its name
  if (options_.only_reasoning && markup != nullptr && markup->has_header()) {
    header_.opener = found.text;
  } else {
    audit(Fate::marker, found.text, is_reasonings);
  }
  at_.skip_is_reasonings = is_reasonings;
  switch (role) {
    case Role::reasoning_open:
    case Role::reasoning_close: return on_reasoning(role);
    case Role::section_open: return on_section();
    case Role::markup_open: return on_markup(found);
    case Role::call_close:
    case Role::section_close: return on_closer(role, found);
    default: return;
  }
}

void Parser::on_reasoning(Role role) {
  const ReasoningSpec& reasoning = *format_->spec().reasoning;
  if (role == Role::reasoning_close) {
    if (!at_.has_content) at_.line = Line::start;
    return after_markup(reasoning.close.after);
  }
  at_.reasoning_is_empty = true;
  at_.may_chain = false;
  at_.skip = reasoning.open.after;
  at_.label_read = reasoning.label.empty() ? std::string::npos : 0;
  enter(State::reasoning);
}

void Parser::on_section() {
  at_.in_section = true;
  at_.may_chain = false;
  after_markup(format_->spec().section_open.after);
}

// The closer of a call that had an opener of its own: both are part of the call's text.
void Parser::on_own_closer(const MarkerCursor::Found& found) {
  audit(Fate::marker, std::exchange(at_.idle, {}));
  put_call_text(Fate::whitespace, std::exchange(at_.space, {}));
  put_call_text(Fate::marker, found.text);
  at_.skip_is_reasonings = false;
  on_closer(Role::call_close, found);
}

void Parser::on_opener(const MarkerCursor::Found& found) {
  // Not announced yet: should it come to nothing, the opener is part of the raw text.
  reading_.raw = drop_skipped(found.text);
  reading_.repairs = take_slip();
  at_.skip_is_reasonings = false;
  reading_.raw_opener = reading_.raw.size();
  reading_.opener = found.marker->value;
  at_.call = format_->openers()[reading_.opener].front();
  at_.closer_pending = false;
  at_.may_chain = false;
  at_.boundary = Boundary::none;
  at_.skip = {};
  enter(State::opening);
}

void Parser::on_closer(Role role, const MarkerCursor::Found& found) {
  const FormatSpec& spec = format_->spec();
  // The section's opener may be missing; its closer is markup all the same.
  at_.closer_pending =
      role == Role::call_close && !at_.in_section && !spec.section_close.is_empty();
  at_.may_chain = false;
  at_.in_fence = false;
  at_.closer_is_calls = false;
  if (role == Role::section_close) at_.in_section = false;
  after_markup(role == Role::section_close ? std::string_view(spec.section_close.after)
                                           : spec.calls[found.marker->value].close.after);
}

void Parser::finish(FinishReason reason, std::uint64_t token_end, Events& out) {
  write_to(out);
  token_end_ = token_end;
  while (trial_.is_on()) end_trial(reason);
  switch (at_.state) {
    case State::fence:
    case State::beginning: release_raw_as_content(); break;
    case State::markup: finish_header(!ended_itself(reason)); break;
    case State::opening:
    case State::header: finish_name(); break;
    case State::body: finish_body(reason); break;
    case State::malformed: finish_malformed(reason); break;
    case State::content:
    case State::reasoning: break;
  }
  finish_text();
  out.add_finish(calls_.reason(reason), token_end_);
}

// The output ends between regions, or in reasoning.
void Parser::finish_text() {
  if (at_.state == State::content || at_.state == State::reasoning) {
    if (!at_.idle.empty()) drop_space(Fate::whitespace);  // text after it may begin a marker
    cursor_.flush([this](std::string_view text) { release(text); });
    if (at_.state == State::reasoning) end_label();
  }
  if (at_.boundary == Boundary::start && !at_.space.empty() && at_.idle.empty()) {
    emit_content(at_.space);  // the message is nothing but white space
  } else {
    drop_space(Fate::whitespace);
  }
  at_.space.clear();
}

// The output ends inside a header.
void Parser::finish_header(bool is_cut) {
  const bool is_header = header_.fits(reading_.raw, false);
  cursor_.flush([this](std::string_view text) { release(text); });
  if (header_.is_begun()) {
    release_raw_as_content();
  } else if (is_cut && is_header) {
    audit_header(reading_.raw);
  } else {
    give_up_header(reading_.raw);
  }
  reading_.raw.clear();
}

// The output ends before the name of a call does.
void Parser::finish_name() {
  if (call().is_tentative()) return release_raw_as_content();
  reading_.problem = "the output ends before the tool's name";
  emit_malformed(reading_.raw);
  reading_.raw.clear();
}

}  // namespace unspool
