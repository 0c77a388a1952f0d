// The parser in what the template writes around text: headers that tell what follows them.
#include <algorithm>
#include <utility>

#include "parser/parser.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// A longer header is none; it bounds what a stream holds.
constexpr std::size_t kMaxHeaderBytes = 1024;

// Whether `word` stands in `text`, not as a part of a longer word.
bool has_word(std::string_view text, std::string_view word) {
  const auto is_edge = [&](std::size_t at) {
    return at >= text.size() || is_space(text[at]) || text[at] == '<' || text[at] == '>';
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    if ((at == 0 || is_edge(at - 1)) && is_edge(at + word.size())) return true;
  }
  return false;
}

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
        header_.markup = static_cast<std::uint8_t>(i);
        enter(State::markup);
        header_.is_begun = true;
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
  const bool is_prose = trial_.is_amid_line || format_->spec().markup[header_.markup].is_inline ||
                        trial_.place.state == State::reasoning ||
                        (!reading_.raw.empty() && is_space(reading_.raw[0]));
  if (found.marker != nullptr) {
    on_marker(found);
  } else if (trial_.is_on() && is_prose && !fits_header(reading_.raw, false)) {
    trial_.outcome = Outcome::mention;
  } else if (header_.is_begun && !fits_header(reading_.raw, false)) {
    release_begun();
  } else if (reading_.raw.size() > kMaxHeaderBytes || (header_.is_begun && text[0] == '\n')) {
    if (trial_.is_on()) {
      trial_.outcome = Outcome::mention;
      return 1;
    }
    cursor_.flush([this](std::string_view piece) { release(piece); });
    audit_header({});
    at_.boundary = Boundary::none;
    if (!format_->spec().markup[header_.markup].is_inline) at_.markup_return = State::content;
    const std::string raw = std::move(reading_.raw);
    reading_.raw.clear();
    at_.line = Line::inside;
    enter(at_.markup_return);
    release(raw);
  }
  return 1;
}

// The output did not begin with the header that it was to begin with: it is content.
void Parser::release_begun() {
  cursor_.flush([this](std::string_view piece) { release(piece); });
  header_.is_begun = false;
  release_raw_as_content();
}

void Parser::on_markup(const MarkerCursor::Found& found) {
  const MarkupSpec& markup = format_->spec().markup[found.marker->value];
  at_.closer_pending = false;
  at_.may_chain = false;
  if (!markup.has_header()) return after_markup(markup.open.after);
  header_.markup = found.marker->value;
  reading_.raw.clear();
  enter(State::markup);
  header_.is_begun = false;
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
  header_.markup = found.marker->value;
  reading_.raw.clear();
  header_.is_begun = false;
  enter(State::markup);
}

// Whether a header may say this, or begin with it if it is not whole.
bool Parser::fits_header(std::string_view header, bool is_whole) {
  const auto& pattern = format_->header(header_.markup);
  if (!pattern || header.empty()) return true;
  if (!header_.search) header_.search = std::make_unique<RegexSearch>(pattern, 0, 0, false);
  header_.search->advance({header, 0, is_whole});
  return header_.search->is_decided() ? header_.search->match().begin == 0
                                      : header_.search->earliest() == 0;
}

// What a header says that is none: nothing ends it, or it says something else.
void Parser::give_up_header(std::string_view header) {
  audit_header({});
  if (is_blank(header)) return audit(Fate::marker, header);
  reading_.problem =
      fits_header(header, true) ? "nothing ends the header" : "the header says something else";
  out_->add_text(EventKind::malformed, -1, header, token_end_, reading_.problem);
  audit(Fate::malformed, header);
}

void Parser::on_markup_end(const MarkerCursor::Found& found) {
  const MarkupSpec& markup = format_->spec().markup[header_.markup];
  const bool fits = fits_header(reading_.raw, true) && names_no_stranger(reading_.raw);
  if (!fits && header_.is_begun && static_cast<Role>(found.marker->role) == Role::header_close) {
    reading_.raw += found.text;
    return release_begun();
  }
  const std::string header = std::move(reading_.raw);
  reading_.raw.clear();
  const Role role = static_cast<Role>(found.marker->role);
  if (role != Role::header_close) {
    const bool ends_message = role == Role::ignore || role == Role::markup_open || markup.is_inline;
    if ((ends_message || !fits) && !is_blank(header)) {
      if (trial_.is_on()) {  // its opener was a mention
        trial_.outcome = Outcome::mention;
        return;
      }
      give_up_header(header);
    } else {
      settle_trial();
      audit_header(header);  // what follows ends it
    }
    if (role == Role::call_text) {
      enter(State::content);
      return release(found.text);
    }
    at_.state = State::content;
    return on_marker(found);
  }
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
  const bool is_reasoning =
      format_->spec().reasoning &&
      std::any_of(markup.reasoning.begin(), markup.reasoning.end(),
                  [&](const std::string& word) { return has_word(header, word); });
  audit_header(reading_.raw, is_reasoning);
  reading_.raw.clear();
  after_markup(markup.close.after);
  at_.skip_is_reasonings = is_reasoning;
  if (!is_reasoning) return;
  at_.boundary = Boundary::none;
  at_.reasoning_is_empty = true;
  enter(State::reasoning);
}

// A header that is a name alone opens an answer's first call only if the name is one of the
// request's tools, where these are known.
bool Parser::names_no_stranger(std::string_view header) const {
  const MarkupSpec& markup = format_->spec().markup[header_.markup];
  if (!markup.names_tool) return true;
  const std::string_view name = recipient_of(header);
  if (name.empty() || tools() == nullptr || calls_.index() >= 0) return !name.empty();
  return tools()->find(name) != nullptr ||
         std::find(markup.not_tools.begin(), markup.not_tools.end(), name) !=
             markup.not_tools.end();
}

// Whom the header calls; empty where it calls no one.
std::string_view Parser::recipient_of(std::string_view header) const {
  const MarkupSpec& markup = format_->spec().markup[header_.markup];
  if (markup.names_tool) {
    for (const std::string& open : markup.open.texts) {
      if (header.starts_with(open)) header.remove_prefix(open.size());
    }
    return trim(header);
  }
  const std::size_t at =
      markup.recipient.empty() ? std::string_view::npos : header.find(markup.recipient);
  if (at == std::string_view::npos) return {};
  const std::string_view name = header.substr(at + markup.recipient.size());
  return name.substr(0, name.find_first_of(" \t\r\n<"));
}

// The kind of call that a header opens; -1 if the format has none.
int Parser::headed_call() const {
  const auto& calls = format_->spec().calls;
  const auto call = std::find_if(calls.begin(), calls.end(),
                                 [](const CallSpec& spec) { return spec.by_recipient; });
  return call == calls.end() ? -1 : static_cast<int>(call - calls.begin());
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
  const MarkupSpec& markup = format_->spec().markup[header_.markup];
  const bool says_so = std::any_of(markup.calls.begin(), markup.calls.end(),
                                   [&](const std::string& word) { return trim(header) == word; });
  const int call = headed_call();
  if (!says_so || call < 0) return false;
  audit_header(reading_.raw);
  reading_.raw.clear();
  begin_headed(call);
  make_call_body({}, false);
  enter(State::body);
  return true;
}

// Begins the call to the tool that the header names; false where it names none.
bool Parser::call_recipient(std::string_view header) {
  const MarkupSpec& markup = format_->spec().markup[header_.markup];
  const std::string_view name = recipient_of(header);
  const int call = headed_call();
  const auto& not_tools = markup.not_tools;
  if (name.empty() || call < 0 ||
      std::find(not_tools.begin(), not_tools.end(), name) != not_tools.end()) {
    return false;
  }
  audit_header({});
  begin_headed(call);
  reading_.name = name;
  at_.state = State::header;
  if (name_call()) enter(State::body);
  return true;
}

}  // namespace unspool
