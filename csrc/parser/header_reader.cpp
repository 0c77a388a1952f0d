#include "parser/header_reader.h"

#include <algorithm>
#include <utility>

#include "text/white_space.h"

namespace unspool {

namespace {

// A longer header is none; it bounds what a stream holds.
constexpr std::size_t kMaxHeaderBytes = 1024;

}  // namespace

void HeaderReader::begin(std::size_t markup, bool is_begun) {
  header_.open(markup, is_begun);
  at_.markup = static_cast<std::uint8_t>(markup);
  core_.enter(State::markup);
}

// Anything else than a header that the prompt has opened is content.
std::size_t HeaderReader::read_beginning(char byte) {
  core_.raw += byte;
  const auto& markup = core_.spec().markup;
  bool may_go_on = false;
  for (std::size_t i = 0; i < markup.size(); ++i) {
    for (const std::string& text : markup[i].begins) {
      if (text == core_.raw) {
        const auto& closers = markup[i].close.texts;
        const bool is_empty = std::find(closers.begin(), closers.end(), text) != closers.end();
        const std::string closer = is_empty ? std::exchange(core_.raw, {}) : std::string();
        begin(i, true);
        if (is_empty) read_again(closer);
        return 1;
      }
      may_go_on |= text.starts_with(core_.raw);
    }
  }
  if (may_go_on) return 1;
  const std::string raw = std::exchange(core_.raw, {});
  core_.enter(State::content);
  read_again(raw);
  return 1;
}

// Whether what stands before the header, or in it, makes it more text.
bool HeaderReader::is_prose() const {
  return core_.trial.is_amid_line || header_.spec().is_inline ||
         core_.trial.place.state == State::reasoning ||
         (!core_.raw.empty() && is_space(core_.raw[0]));
}

std::size_t HeaderReader::read(std::string_view text) {
  const MarkerCursor::Found found = core_.cursor.put(
      text.substr(0, 1), [this](std::string_view piece) { parser_.release(piece); });
  if (found.marker != nullptr) {
    parser_.on_marker(found);
  } else if (core_.trial.is_on() && is_prose() && !fits(core_.raw)) {
    core_.trial.outcome = Outcome::mention;
  } else if (header_.is_begun() && !fits(core_.raw)) {
    release_begun();
  } else if (core_.raw.size() > kMaxHeaderBytes || (header_.is_begun() && text[0] == '\n')) {
    core_.trial.is_on() ? void(core_.trial.outcome = Outcome::mention) : release_endless();
  }
  return 1;
}

// Nothing ends the header: it is text of what it stands in.
void HeaderReader::release_endless() {
  flush_cursor();
  audit_header({});
  at_.boundary = Boundary::none;
  if (!header_.spec().is_inline) at_.markup_return = State::content;
  const std::string raw = std::exchange(core_.raw, {});
  at_.line = Line::inside;
  core_.enter(at_.markup_return);
  parser_.release(raw);
}

// The output did not begin with the header that it was to begin with: it is content.
void HeaderReader::release_begun() {
  flush_cursor();
  header_.release();
  core_.release_raw();
}

void HeaderReader::on_markup(const MarkerCursor::Found& found) {
  const MarkupSpec& markup = core_.spec().markup[found.marker->value];
  at_.closer_pending = false;
  at_.may_chain = false;
  if (!markup.has_header()) return core_.after_markup(markup.open.after);
  core_.raw.clear();
  begin(found.marker->value, false);
}

void HeaderReader::on_inline_markup(const MarkerCursor::Found& found) {
  const bool has_header = core_.spec().markup[found.marker->value].has_header();
  if (has_header && !found.marker->has_token) {
    if (core_.trial.is_read_again(found)) return parser_.release(found.text);
    if (!core_.trial.is_on()) core_.begin_trial(found);
  }
  const std::string held = core_.take_held();
  if (at_.state == State::content) at_.boundary = Boundary::none;
  if (!held.empty()) {
    at_.state == State::content ? core_.emit_content(held) : core_.emit_reasoning(held);
  }
  core_.audit(Fate::marker, found.text, at_.state == State::reasoning);
  at_.skip = {};
  if (!has_header) return core_.reset_cursor();
  at_.markup_return = at_.state;
  core_.raw.clear();
  begin(found.marker->value, false);
}

// What a header says that is none: nothing ends it, or it says something else.
void HeaderReader::give_up(std::string_view header) {
  audit_header({});
  if (is_blank(header)) return core_.audit(Fate::marker, header);
  core_.put_malformed(header, header_.fits(header, true) ? "nothing ends the header"
                                                         : "the header says something else");
}

void HeaderReader::on_end(const MarkerCursor::Found& found) {
  const bool fits = header_.fits(core_.raw, true) &&
                    !header_.names_stranger(core_.raw, core_.tools(), core_.calls.index() >= 0);
  const bool closes = static_cast<Role>(found.marker->role) == Role::header_close;
  if (!fits && closes && header_.is_begun()) {
    core_.raw += found.text;
    return release_begun();
  }
  const std::string header = std::exchange(core_.raw, {});
  closes ? on_close(found, header, fits) : on_cut(found, header, fits);
}

// A marker stands where the header's closer is missing.
void HeaderReader::on_cut(const MarkerCursor::Found& found, const std::string& header, bool fits) {
  const Role role = static_cast<Role>(found.marker->role);
  const bool ends_message =
      role == Role::ignore || role == Role::markup_open || header_.spec().is_inline;
  const bool is_header = is_blank(header) || (fits && !ends_message);
  if (!is_header && core_.trial.is_on()) {  // its opener was a mention
    core_.trial.outcome = Outcome::mention;
    return;
  }
  if (is_header) {
    core_.settle_trial();
    audit_header(header);
  } else {
    give_up(header);
  }
  if (role == Role::call_text) {
    core_.enter(State::content);
    return parser_.release(found.text);
  }
  at_.state = State::content;
  parser_.on_marker(found);
}

void HeaderReader::on_close(const MarkerCursor::Found& found, const std::string& header,
                            bool fits) {
  const MarkupSpec& markup = header_.spec();
  const bool may_be_text = core_.trial.is_amid_line || markup.is_inline || markup.names_tool;
  if (core_.trial.is_on() && !fits && may_be_text) {
    core_.trial.outcome = Outcome::mention;
    return;
  }
  core_.settle_trial();
  if (fits) {
    core_.raw = header;
  } else {
    give_up(header);
  }
  core_.raw += found.text;
  if (markup.is_inline) {
    const std::string raw = std::exchange(core_.raw, {});
    core_.audit(Fate::marker, raw, at_.markup_return == State::reasoning);
    return core_.enter(at_.markup_return);
  }
  core_.drop_space();
  if (begin_call(header)) return;
  const bool is_reasoning = header_.announces_reasoning(header);
  audit_header(std::exchange(core_.raw, {}), is_reasoning);
  core_.after_markup(markup.close.after);
  at_.skip_is_reasonings = is_reasoning;
  if (!is_reasoning) return;
  at_.boundary = Boundary::none;
  at_.reasoning_is_empty = true;
  core_.enter(State::reasoning);
}

// Begins the call to the tool that the header names, or the calls that it announces; false where it
// does neither.
bool HeaderReader::begin_call(std::string_view header) {
  const int call = header_.call();
  if (call < 0) return false;
  const std::string_view tool = header_.tool(header);
  if (tool.empty() && !header_.announces_calls(header)) return false;
  // A name is the call's own text; its audit comes with the call.
  audit_header(tool.empty() ? std::exchange(core_.raw, {}) : std::string());
  call_.begin_headed(call, tool);
  return true;
}

void HeaderReader::finish(bool is_cut) {
  const bool is_header = fits(core_.raw);
  flush_cursor();
  if (header_.is_begun()) return core_.release_raw();
  const std::string raw = std::exchange(core_.raw, {});
  is_cut&& is_header ? audit_header(raw) : give_up(raw);
}

void HeaderReader::audit_header(std::string_view header, bool of_reasoning) {
  core_.audit(Fate::marker, header_.opener, of_reasoning);
  core_.audit(Fate::marker, header, of_reasoning);
  header_.opener.clear();
}

}  // namespace unspool
