// Values that quote calls of their own format, or that only look so.
//
// Where a value holds markup that would end it without its own closer, two readings are possible:
//
//   quoted     the markup is text: its closers pair up, and the value's own closer follows
//   damaged    the value's closer is missing
//
// Everything from that markup on is held (`State::quoted`) until the value's own closer comes, or
// the output or the limit ends. Then the text is the value's, or it is read again as damaged.
#include <algorithm>
#include <utility>

#include "body/xml_parameters.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

using Part = QuotedText::Part;

// Whether what follows decides about the held markup; it is read as a quote then.
bool XmlParameters::may_be_quoted() {
  if (is_damaged_ || tries_ == 0 || has_failed() || !value_.takes_text()) return false;
  const Letters held = std::exchange(tail_, {});
  closes_ = Closes::nothing;
  closed_section_ = false;
  quoted_.put_text();
  enter(State::quoted);
  read_again(held);
  return true;
}

void XmlParameters::give_up(const char* problem) {
  if (!may_be_quoted()) fail(problem);
}

std::size_t XmlParameters::read_quoted(const Letter& run) {
  // Up to the limit, whatever the chunks, and not amid a character.
  const std::size_t room = max_held_ + 1 - std::min(tail_.size(), max_held_);
  const Letter letter{run.symbol != 0 ? run.text : first_bytes(run.text, room), run.symbol};
  const auto match = find_marker(letter, [this](std::string_view piece) {
    if (!is_blank(piece)) quoted_.put_text();
  });
  tail_.put({letter.text.substr(0, match.consumed), letter.symbol});
  pass(match.consumed);
  if (match.marker != nullptr) on_quoted(match);
  if (state_ == State::quoted && tail_.size() > max_held_) give_up_quoted();
  return match.consumed;
}

void XmlParameters::on_quoted(const MarkerCursor::Found& match) {
  const Role role = static_cast<Role>(match.marker->role);
  const std::size_t at = tail_.size() - match.text.size();
  if (slot_.is_keyless) return on_quoted_in_only_value(role, at);
  const bool goes_on = role == Role::parameter_open || role == Role::body_close ||
                       (role == Role::json_close && is_wrapped_);
  const bool is_part = role == Role::key_end || role == Role::value_begin;
  if (is_part && quoted_.misses_opener()) return give_up_quoted();
  std::size_t end = QuotedText::kNone;
  if (goes_on) end = quoted_.own_closer();
  if (role == Role::section_close) end = quoted_.last_closer();
  end == QuotedText::kNone ? note(role, at) : end_quoted(end);
}

// A value without a key has no closer of its own: that of the call ends it.
void XmlParameters::on_quoted_in_only_value(Role role, std::size_t at) {
  const std::string_view before = tail_.text().substr(0, at);
  const std::size_t line = before.find_last_not_of(" \t") + 1;
  const bool begins_line =
      line == 0 || before[line - 1] == '\n' || tail_.text().substr(at).starts_with('\n');
  if (trims_line_breaks(slot_.trim) && !begins_line) return quoted_.put_text();
  if (role == Role::body_close && !quoted_.has_opened(Part::call)) return end_quoted(at);
  note(role, at);
}

// Markup at this place of the held text is part of the value's text, or may be.
void XmlParameters::note(Role role, std::size_t at) {
  switch (role) {
    case Role::section_open: return quoted_.open(Part::section);
    case Role::call_open: return quoted_.open(Part::call);
    case Role::parameter_open: {
      // One letter is too weak for a quote: `C# x=1` opens nothing.
      if (slot_.open.texts.front().size() == 1) return;
      const bool has_tag = slot_.key_close.texts.front().size() > 1;
      return quoted_.open(has_tag ? Part::key : Part::value);
    }
    case Role::bare_tag: return quoted_.open(Part::value);
    case Role::value_begin: return quoted_.open_value(!slot_.key_end.empty());
    case Role::value_close: return quoted_.close_value(at);
    case Role::body_close: return quoted_.close_call();
    case Role::section_close: return quoted_.close_section();
    default: return;
  }
}

// The held text up to `at` is the value's.
void XmlParameters::end_quoted(std::size_t at) {
  const Letters held = std::exchange(tail_, {});
  is_damaged_ = true;
  holds_tag_ = false;
  quoted_.clear();
  enter(State::value);
  release_slip();
  value_text(held.text().substr(0, at));
  read_again(held.from(at));
}

void XmlParameters::give_up_quoted() {
  const Letters held = std::exchange(tail_, {});
  is_damaged_ = true;
  --tries_;
  quoted_.clear();
  enter(State::value);
  read_again(held);
}

BodyResult XmlParameters::decide(bool is_restart, CallSink& sink) {
  read_ = 0;
  while (state_ == State::quoted) {
    if (quoted_.end() != QuotedText::kNone) {
      end_quoted(quoted_.end());
    } else if (is_restart || quoted_.has_ended()) {
      give_up_quoted();
    } else {  // the value is still open
      end_quoted(tail_.size() - cursor_.held().size());
      holds_tag_ = true;
    }
  }
  return finish_put(0, state_ == State::done, sink);
}

}  // namespace unspool
