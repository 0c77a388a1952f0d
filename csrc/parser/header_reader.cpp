#include "parser/header_reader.h"

#include <algorithm>
#include <utility>

#include "text/white_space.h"

namespace unspool {

namespace {

// Longer text is not a header; bounds what a stream holds.
constexpr std::size_t kMaxHeaderBytes = 1024;

}  // namespace

void HeaderReader::begin(std::size_t markup) {
  header_.open(markup);
  at_.markup = static_cast<std::uint8_t>(markup);
  at_.headed = Place::Headed::no;
  core_.raw.clear();
  of_turn_ = 0;
  core_.enter(State::markup);
}

void HeaderReader::go_on(std::size_t markup, std::string text) {
  begin(markup);
  of_turn_ = text.size();
  core_.raw = std::move(text);
}

void HeaderReader::put(std::string_view text) {
  core_.raw += text;
  // The turn's header is over before it was read: the output writes one of its own.
  if (opens_another(true)) core_.trial.outcome = Outcome::mention;
}

// Whether the output opens its own header after one that the turn has opened.
bool HeaderReader::opens_another(bool is_whole) const {
  return core_.trial.is_on() && core_.trial.is_of_turn() &&
         header_.opens_another(std::string_view(core_.raw).substr(of_turn_), is_whole);
}

// Whether the text before or in the header makes it ordinary text.
bool HeaderReader::is_prose(std::string_view header) const {
  return core_.trial.is_amid_line || header_.markup().is_inline ||
         core_.trial.start().place.state == State::reasoning ||
         (!header.empty() && is_space(header[0]));
}

// On trial, each byte may prove that it is not a header.
std::size_t HeaderReader::read(std::string_view text) {
  const std::size_t known = core_.raw.size() + core_.cursor.held().size();
  // One byte more than the limit, so that a header of just this length passes.
  const std::size_t room = kMaxHeaderBytes + 1 - std::min(known, kMaxHeaderBytes);
  const MarkerCursor::Found match =
      core_.cursor.put(text.substr(0, core_.trial.is_on() ? 1 : room),
                       [this](std::string_view piece) { parser_.release(piece); });
  if (match.marker != nullptr) {
    parser_.on_marker(match);
  } else if (core_.raw.size() + core_.cursor.held().size() > kMaxHeaderBytes) {
    // With a trial the input is read again, and nothing needs to be undone here.
    core_.trial.is_on() ? void(core_.trial.outcome = Outcome::mention) : release_endless();
  } else if (core_.trial.is_on() && is_prose(core_.raw) && !opens_another(false) &&
             !fits(core_.raw)) {
    core_.trial.outcome = Outcome::mention;
  }
  return match.consumed;
}

// Nothing ends the header: it is text of the surrounding region.
void HeaderReader::release_endless() {
  flush_cursor();
  audit_header({});
  at_.boundary = Boundary::none;
  // Only inline markup returns to the region around it.
  if (!header_.markup().is_inline) at_.markup_return = State::content;
  const std::string raw = std::exchange(core_.raw, {});
  at_.line = Line::inside;
  core_.enter(at_.markup_return);
  parser_.release(raw);
}

void HeaderReader::on_markup(const MarkerCursor::Found& match) {
  const MarkupRegion& markup = core_.program().markup[match.marker->value];
  at_.closer_pending = false;
  at_.may_chain = false;
  if (!markup.has_header()) return core_.after_markup(markup.open.after);
  begin(match.marker->value);
}

void HeaderReader::on_inline_markup(const MarkerCursor::Found& match) {
  const bool has_header = core_.program().markup[match.marker->value].has_header();
  if (has_header && !match.marker->has_token) {
    // The trial has shown that this one is text.
    if (core_.trial.is_read_again(match)) return parser_.release(match.text);
    if (!core_.trial.is_on()) core_.begin_trial(match);
  }
  const std::string held = core_.take_held();
  if (at_.state == State::content) at_.boundary = Boundary::none;
  if (!held.empty()) {
    at_.state == State::content ? core_.emit_content(held) : core_.emit_reasoning(held);
  }
  // The held white space was emitted before: within text it is text.
  core_.audit(Fate::marker, match.text, at_.state == State::reasoning);
  at_.skip = {};
  if (!has_header) return core_.reset_cursor();
  at_.markup_return = at_.state;
  begin(match.marker->value);
}

// An invalid header: nothing ends it, or its text is not allowed.
// `is_text`: it may be the user's.
void HeaderReader::give_up(std::string_view header, std::size_t of_turn, bool is_text) {
  const std::string_view written = header.substr(of_turn);
  audit_header({});
  // An empty header is markup without a meaning, not a fault.
  if (is_blank(written)) return core_.audit(Fate::marker, written);
  if (!is_text) return core_.put_stray(written);
  core_.put_malformed(written, header_.fits(header, true) ? "nothing ends the header"
                                                          : "the header says something else");
}

void HeaderReader::on_end(const MarkerCursor::Found& match) {
  const bool fits = header_.fits(core_.raw, true) &&
                    !header_.names_stranger(core_.raw, core_.tools(), core_.calls.index() >= 0);
  const bool closes = static_cast<Role>(match.marker->role) == Role::header_close;
  const std::string header = std::exchange(core_.raw, {});
  const std::size_t of_turn = std::exchange(of_turn_, 0);
  closes ? on_close(match, header, of_turn, fits) : on_cut(match, header, of_turn, fits);
}

// Another marker is in the place of the header's closer.
void HeaderReader::on_cut(const MarkerCursor::Found& match, std::string_view header,
                          std::size_t of_turn, bool fits) {
  const Role role = static_cast<Role>(match.marker->role);
  const bool ends_message =
      role == Role::ignore || role == Role::markup_open || header_.markup().is_inline;
  // A header that a call cuts is whole if its text is one: models leave out the closer.
  const bool is_header = is_blank(header) || (fits && !ends_message);
  const bool calls = core_.trial.is_of_turn() && !header_.tool(header).empty();
  const bool is_prose_about_it = core_.trial.is_on() && is_prose(header);
  const bool is_broken =
      ends_message && !is_prose_about_it && header_.is_without_text(header, fits);
  if (!is_header && core_.trial.is_on() && !calls && !is_broken) {  // its opener was a mention
    core_.trial.outcome = Outcome::mention;
    return;
  }
  const bool opens_call = role == Role::call_open || role == Role::section_open;
  if (!core_.has_quoted() && !(core_.is_quoting() && opens_call)) core_.settle_trial();
  is_header ? audit_header(header.substr(of_turn)) : give_up(header, of_turn, !is_broken);
  // The opener of a call, where calls are off: content, with its header as markup.
  if (role == Role::call_text) {
    core_.enter(State::content);
    return parser_.release(match.text);
  }
  at_.state = State::content;
  parser_.on_marker(match);
}

void HeaderReader::on_close(const MarkerCursor::Found& match, std::string_view header,
                            std::size_t of_turn, bool fits) {
  const MarkupRegion& markup = header_.markup();
  // At the start of a line, a header with a wrong text was still meant as a header.
  const bool may_be_text = core_.trial.is_amid_line || markup.is_inline || markup.names_tool;
  if (core_.trial.is_on() && !fits && may_be_text) {
    core_.trial.outcome = Outcome::mention;
    return;
  }
  const bool calls = fits && header_.call() >= 0 &&
                     (!header_.tool(header).empty() || header_.announces_calls(header));
  // What follows a quoted call decides.
  if (!core_.has_quoted() && !(core_.is_quoting() && calls)) core_.settle_trial();
  if (fits) {
    // What the call's text begins with, if the header calls a tool.
    core_.raw = header.substr(of_turn);
  } else {
    // Between its markers all is header, also a word that the family does not have.
    give_up(header, of_turn, !markup.is_header_between_markers());
  }
  core_.raw += match.text;
  if (markup.is_inline) {
    const std::string raw = std::exchange(core_.raw, {});
    core_.audit(Fate::marker, raw, at_.markup_return == State::reasoning);
    return core_.enter(at_.markup_return);
  }
  core_.drop_space();
  if (begin_call(header)) return;
  // The turn may have written a part of the word, or a header of its own before it.
  const bool is_reasoning =
      header_.announces_reasoning(header) || header_.announces_reasoning(header.substr(of_turn));
  audit_header(std::exchange(core_.raw, {}), is_reasoning);
  // What is quoted to the user is no call: the header cannot be forged where tokens open it.
  const bool is_text = !is_reasoning && markup.says_what_follows() && !is_blank(header);
  core_.after_markup(markup.close.after, !is_text                         ? Place::Headed::no
                                         : header_.announces_text(header) ? Place::Headed::for_user
                                                                          : Place::Headed::yes);
  at_.skip_is_reasonings = is_reasoning;
  if (!is_reasoning) return;
  at_.boundary = Boundary::none;
  at_.reasoning_is_empty = true;
  core_.enter(State::reasoning);
}

// Begins the call to the tool in the header, or the calls that the header announces; returns false
// if it has neither.
bool HeaderReader::begin_call(std::string_view header) {
  const int call = header_.call();
  if (call < 0) return false;
  const std::string_view tool = header_.tool(header);
  if (tool.empty() && !header_.announces_calls(header)) return false;
  // A name is part of the call's text; it is audited with the call.
  audit_header(tool.empty() ? std::exchange(core_.raw, {}) : std::string());
  call_.begin_headed(call, tool);
  return true;
}

void HeaderReader::finish(bool is_cut) {
  const bool is_header = fits(core_.raw);
  flush_cursor();
  const std::string raw = std::exchange(core_.raw, {});
  // The answer was cut off inside a header: it would have been one.
  if (is_cut && is_header) {
    audit_header(raw);
  } else {
    give_up(raw, 0, true);
  }
}

void HeaderReader::audit_header(std::string_view header, bool of_reasoning) {
  core_.audit(Fate::marker, header_.opener, of_reasoning);
  core_.audit(Fate::marker, header, of_reasoning);
  header_.opener.clear();
}

}  // namespace unspool
