// The parser in what the template writes around text: headers that tell what follows them.
#include <algorithm>
#include <utility>

#include "parser/parser.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// A longer header is none; it bounds what a stream holds.
constexpr std::size_t kMaxHeaderBytes = 1024;

}  // namespace

// The output may go on with a header that the prompt has opened; anything else is content.
std::size_t Parser::read_beginning(char byte) {
  reading_.raw += byte;
  const auto& markup = format_->spec().markup;
  bool may_go_on = false;
  for (std::size_t i = 0; i < markup.size(); ++i) {
    for (const std::string& text : markup[i].begins) {
      if (text == reading_.raw) {
        const auto& closers = markup[i].close.texts;
        const bool is_empty =
            std::find(closers.begin(), closers.end(), reading_.raw) != closers.end();
        const std::string closer = is_empty ? std::exchange(reading_.raw, {}) : std::string();
        header_.open(i, true);
        enter(State::markup);
        if (is_empty) read_again(closer);
        return 1;
      }
      may_go_on |= text.starts_with(reading_.raw);
    }
  }
  if (may_go_on) return 1;
  const std::string raw = std::move(reading_.raw);
  reading_.raw.clear();
  enter(State::content);
  read_again(raw);
  return 1;
}

std::size_t Parser::read_markup(std::string_view text) {
  const MarkerCursor::Found found =
      cursor_.put(text.substr(0, 1), [this](std::string_view piece) { release(piece); });
  const bool is_prose = trial_.is_amid_line || header_.spec().is_inline ||
                        trial_.place.state == State::reasoning ||
                        (!reading_.raw.empty() && is_space(reading_.raw[0]));
  if (found.marker != nullptr) {
    on_marker(found);
  } else if (trial_.is_on() && is_prose && !header_.fits(reading_.raw, false)) {
    trial_.outcome = Outcome::mention;
  } else if (header_.is_begun() && !header_.fits(reading_.raw, false)) {
    release_begun();
  } else if (reading_.raw.size() > kMaxHeaderBytes || (header_.is_begun() && text[0] == '\n')) {
    trial_.is_on() ? void(trial_.outcome = Outcome::mention) : release_endless_header();
  }
  return 1;
}

// Nothing ends the header: it is text of what it stands in.
void Parser::release_endless_header() {
  cursor_.flush([this](std::string_view piece) { release(piece); });
  audit_header({});
  at_.boundary = Boundary::none;
  if (!header_.spec().is_inline) at_.markup_return = State::content;
  const std::string raw = std::exchange(reading_.raw, {});
  at_.line = Line::inside;
  enter(at_.markup_return);
  release(raw);
}

// The output did not begin with the header that it was to begin with: it is content.
void Parser::release_begun() {
  cursor_.flush([this](std::string_view piece) { release(piece); });
  header_.release();
  release_raw_as_content();
}

void Parser::on_markup(const MarkerCursor::Found& found) {
  const MarkupSpec& markup = format_->spec().markup[found.marker->value];
  at_.closer_pending = false;
  at_.may_chain = false;
  if (!markup.has_header()) return after_markup(markup.open.after);
  header_.open(found.marker->value, false);
  reading_.raw.clear();
  enter(State::markup);
}

// Markup within text, such as a citation's: the text around it goes on.
void Parser::on_inline_markup(const MarkerCursor::Found& found) {
  const bool has_header = format_->spec().markup[found.marker->value].has_header();
  if (has_header && !found.marker->has_token) {
    if (is_read_again(found)) return release(found.text);
    if (!trial_.is_on()) begin_trial(found);
  }
  const std::string held = std::exchange(at_.idle, {}) + std::exchange(at_.space, {});
  if (at_.state == State::content) at_.boundary = Boundary::none;
  if (!held.empty()) at_.state == State::content ? emit_content(held) : emit_reasoning(held);
  audit(Fate::marker, found.text, at_.state == State::reasoning);
  at_.skip = {};
  if (!has_header) return reset_cursor();
  at_.markup_return = at_.state;
  header_.open(found.marker->value, false);
  reading_.raw.clear();
  enter(State::markup);
}

// What a header says that is none: nothing ends it, or it says something else.
void Parser::give_up_header(std::string_view header) {
  audit_header({});
  if (is_blank(header)) return audit(Fate::marker, header);
  reading_.problem =
      header_.fits(header, true) ? "nothing ends the header" : "the header says something else";
  out_->add_text(EventKind::malformed, -1, header, token_end_, reading_.problem);
  audit(Fate::malformed, header);
}

void Parser::on_markup_end(const MarkerCursor::Found& found) {
  const bool fits = header_.fits(reading_.raw, true) &&
                    !header_.names_stranger(reading_.raw, tools(), calls_.index() >= 0);
  const bool closes = static_cast<Role>(found.marker->role) == Role::header_close;
  if (!fits && closes && header_.is_begun()) {
    reading_.raw += found.text;
    return release_begun();
  }
  const std::string header = std::exchange(reading_.raw, {});
  closes ? on_header_close(found, header, fits) : on_header_cut(found, header, fits);
}

// A marker stands where the header's closer is missing.
void Parser::on_header_cut(const MarkerCursor::Found& found, const std::string& header, bool fits) {
  const Role role = static_cast<Role>(found.marker->role);
  const bool ends_message =
      role == Role::ignore || role == Role::markup_open || header_.spec().is_inline;
  const bool is_header = is_blank(header) || (fits && !ends_message);
  if (!is_header && trial_.is_on()) {  // its opener was a mention
    trial_.outcome = Outcome::mention;
    return;
  }
  if (is_header) {
    settle_trial();
    audit_header(header);
  } else {
    give_up_header(header);
  }
  if (role == Role::call_text) {
    enter(State::content);
    return release(found.text);
  }
  at_.state = State::content;
  on_marker(found);
}

void Parser::on_header_close(const MarkerCursor::Found& found, const std::string& header,
                             bool fits) {
  const MarkupSpec& markup = header_.spec();
  if (trial_.is_on() && !fits && (trial_.is_amid_line || markup.is_inline || markup.names_tool)) {
    trial_.outcome = Outcome::mention;
    return;
  }
  settle_trial();
  if (fits) {
    reading_.raw = header;
  } else {
    give_up_header(header);
  }
  reading_.raw += found.text;
  if (markup.is_inline) {
    audit(Fate::marker, reading_.raw, at_.markup_return == State::reasoning);
    reading_.raw.clear();
    return enter(at_.markup_return);
  }
  drop_space(Fate::whitespace);
  if (call_recipient(header) || begin_calls(header)) return;
  const bool is_reasoning = header_.announces_reasoning(header);
  audit_header(reading_.raw, is_reasoning);
  reading_.raw.clear();
  after_markup(markup.close.after);
  at_.skip_is_reasonings = is_reasoning;
  if (!is_reasoning) return;
  at_.boundary = Boundary::none;
  at_.reasoning_is_empty = true;
  enter(State::reasoning);
}

void Parser::begin_headed(int kind) {
  at_.call = static_cast<std::uint8_t>(kind);
  reading_.raw_opener = 0;
  reading_.repairs = take_slip();
  reading_.has_closer = !call().close.is_empty();
  at_.skip = {};
  at_.boundary = Boundary::none;
}

// Begins the calls that a header announces without a name; false where it announces none.
bool Parser::begin_calls(std::string_view header) {
  const int call = header_.call();
  if (call < 0 || !header_.announces_calls(header)) return false;
  audit_header(reading_.raw);
  reading_.raw.clear();
  begin_headed(call);
  make_call_body({}, false);
  enter(State::body);
  return true;
}

// Begins the call to the tool that the header names; false where it names none.
bool Parser::call_recipient(std::string_view header) {
  const int call = header_.call();
  const std::string_view tool = header_.tool(header);
  if (call < 0 || tool.empty()) return false;
  audit_header({});
  begin_headed(call);
  reading_.name = tool;
  at_.state = State::header;
  if (name_call()) enter(State::body);
  return true;
}

}  // namespace unspool
