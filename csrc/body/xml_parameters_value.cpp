// Values between tags, and tags that may be part of a value's text.
#include <algorithm>
#include <utility>

#include "body/xml_parameters.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// Longer text after a tag is not markup; bounds what is held and read again.
constexpr std::size_t kMaxTailCount = 256;
constexpr std::size_t kMarkerCount = 32;  // a marker counts as this many bytes of white space

}  // namespace

// Text up to a tag, or a token.
std::size_t XmlParameters::read_value(const Letter& run) {
  const auto found = find_marker(run, [this](std::string_view piece) { value_text(piece); });
  pass(found.consumed);
  if (has_failed()) {
    unread_.put(found.marker != nullptr ? found.text : cursor_.held());
    unread_.end_with(run);
  } else if (found.marker != nullptr) {
    on_tag(found);
  }
  return found.consumed;
}

void XmlParameters::value_text(std::string_view text) {
  if (has_failed()) {
    unread_.put(text);
  } else {
    value_.put(text, value_out());
    check_value();
    if (is_doubled_) aside_.clear();
  }
}

std::string& XmlParameters::value_out() {
  return is_doubled_ || written_ == Written::wrapper ? aside_ : out_;
}

// Marks that the held or last text is the tag after the value.
void XmlParameters::mark_value_end() {
  mark_parameter_end(value_.trim_at_end(closes_ == Closes::value),
                     tail_.is_empty() ? closer_.size() : tail_.size());
}

void XmlParameters::end_value() {
  mark_value_end();
  value_.end(closes_ == Closes::value, value_out());
  check_value();
  repairs_ |= value_.repairs();
  if (is_doubled_) aside_.clear();
  is_doubled_ = false;
}

// Ends the value; if it is invalid, stops reading and returns false.
bool XmlParameters::finish_value() {
  end_value();
  if (has_failed()) fail(problem_);
  return !has_failed();
}

void XmlParameters::check_value() {
  if (*value_.problem() == '\0' || has_failed()) return;
  problem_ = value_.problem();
  unread_.put(value_.unread());
}

// The first parameter did not hold all arguments.
void XmlParameters::write_wrapper() {
  if (written_ != Written::wrapper) return;
  out_ += "{\"arguments\": ";
  out_ += aside_;
  aside_.clear();
  written_ = Written::members;
}

// A tag in a value: it ends the value if the text after it proves that.
void XmlParameters::on_tag(const MarkerCursor::Found& found) {
  const Role role = static_cast<Role>(found.marker->role);
  if (slot_.is_keyless) return on_closer_of_only_value(found);
  switch (role) {
    case Role::parameter_open: return on_opener_in_value(found);
    case Role::json_open: holds_tag_ = true; return value_text(found.text);
    case Role::call_open:
      return holds_tag_ ? hold_tag(found, State::next_call) : value_text(found.text);
    case Role::key_end:
      return holds_tag_ ? hold_tag(found, State::key_end) : value_text(found.text);
    case Role::value_begin:
      if (!is_unopened_ && (!holds_tag_ || !slot_.key_end.empty())) return value_text(found.text);
      tail_.put(found.text);
      return fail(is_unopened_ ? "text stands between a parameter's name and its value"
                               : "a parameter's opener is missing");
    default: break;
  }
  hold_tag(found, State::after_tag);
  const bool closes_call = role == Role::body_close;
  closes_ = role == Role::value_close ? Closes::value
            : closes_call             ? Closes::call
                                      : Closes::nothing;
  closed_section_ = false;
  closer_ = closes_call ? found.text : std::string_view{};
}

// Only the call's closer ends its only value. If it needs a line of its own, one within a line is
// text. A value that contains another call's opener in this way may be two calls.
void XmlParameters::on_closer_of_only_value(const MarkerCursor::Found& found) {
  const bool counts = !trims_line_breaks(slot_.trim) || value_.is_at_line_start();
  const Role role = static_cast<Role>(found.marker->role);
  holds_tag_ = holds_tag_ || (counts && role == Role::call_open);
  if (!counts || role != Role::body_close) return value_text(found.text);
  if (holds_tag_) {
    tail_.put(found.text);
    return fail("the call is not closed");
  }
  closer_ = found.text;
  if (finish_value()) end_call(found.text);
}

void XmlParameters::hold_tag(const MarkerCursor::Found& found, State state) {
  tail_.clear();
  tail_.put(found.text);
  tail_tag_ = tail_end_ = tail_.size();
  tail_count_ = 0;
  key_.clear();
  key_end_ = std::string::npos;
  enter(state);
}

void XmlParameters::on_opener_in_value(const MarkerCursor::Found& found) {
  const bool begins_line = !trims_line_breaks(slot_.trim) || value_.is_at_line_start();
  if (begins_line) return hold_tag(found, State::next_key);
  value_text(found.text);
}

// A value contains a closing tag and text after it. If the end of a name and a value's opener
// follow, a parameter's opener is missing.
void XmlParameters::read_key_end(const MarkerCursor::Found& found) {
  tail_count_ += released_.size();
  const bool is_text = slot_.types.empty() && !is_blank(released_);
  if (is_text || tail_count_ > kMaxTailCount) return take_tag_as_text();
  if (found.marker == nullptr) return;
  if (static_cast<Role>(found.marker->role) != Role::value_begin) return take_tag_as_text();
  fail("a parameter's opener is missing");
}

// A value contains a closing tag and text after it. If a whole call begins, this call's end was not
// recognized: the closing tag was its end.
void XmlParameters::read_next_call(const MarkerCursor::Found& found) {
  key_ += released_;
  const bool is_broken = released_.find_first_of("<\n") != std::string::npos;
  if (is_broken || key_.size() > kMaxTailCount) return take_tag_as_text();
  if (found.marker == nullptr) return;
  const Role role = static_cast<Role>(found.marker->role);
  if (is_blank(key_) || (role != Role::name_close && role != Role::call_close)) {
    return take_tag_as_text();
  }
  const auto& openers = slot_.open.texts;
  const bool is_opener = std::find(openers.begin(), openers.end(), found.text) != openers.end();
  if (role == Role::call_close || is_opener) return fail("the call is not closed");
  enter(State::call_name);
}

void XmlParameters::read_call_name(const MarkerCursor::Found& found) {
  if (slot_.json_body && released_ == "{") return fail("the call is not closed");
  if (!released_.empty()) return take_tag_as_text();
  if (found.marker == nullptr) return;
  const Role role = static_cast<Role>(found.marker->role);
  if (role != Role::parameter_open && role != Role::body_close) return take_tag_as_text();
  fail("the call is not closed");
}

// A new parameter ends the value before it, once its whole name has been read. If the schema is
// known, it must have the parameter.
void XmlParameters::read_next_key(const MarkerCursor::Found& found) {
  if (add_to_key(released_) != KeyFit::fits) return take_tag_as_text();
  const bool is_broken =
      slot_.key_end.empty() && released_.find_first_of("<\n") != std::string::npos;
  if (is_broken) return take_tag_as_text();
  if (found.marker == nullptr) return;
  if (static_cast<Role>(found.marker->role) != Role::value_begin || !is_next_name()) {
    return take_tag_as_text();
  }
  if (holds_tag_) return fail("a parameter is not closed");
  if (finish_value() && take_key()) begin_value();
}

bool XmlParameters::is_next_name() const {
  if (!slot_.key_end.empty() && key_end_ == std::string::npos) return false;
  const Key key = split_key(key_);
  if (key.name.empty() || key.name.find_first_of("<>\n") != std::string_view::npos) return false;
  const bool has_type = std::any_of(slot_.types.begin(), slot_.types.end(), [&](const auto& type) {
    return key.attributes.find(type.first) != std::string_view::npos;
  });
  const bool is_known = has_type || schema_ == nullptr || schema_->parameters.empty() ||
                        schema_->find(key.name) != nullptr;
  return is_known && given_.count(key.name) == 0;
}

// Holds white space after a tag, up to a limit; returns how many bytes.
std::size_t XmlParameters::hold_space(std::string_view space) {
  space = space.substr(0, kMaxTailCount - std::min(tail_count_, kMaxTailCount));
  tail_.put(space);
  tail_count_ += space.size();
  return space.size();
}

void XmlParameters::read_after_tag(const MarkerCursor::Found& found) {
  if (!released_.empty()) {
    // The call's closer directly before the section's ends the value; otherwise text continues it.
    return closes_ == Closes::call && closed_section_ ? end_call_after_tag() : take_tag_as_text();
  }
  if (found.marker != nullptr) on_marker_after_tag(found);
}

// A second marker may decide about the first one. If it does not, it is held too.
void XmlParameters::on_marker_after_tag(const MarkerCursor::Found& found) {
  tail_count_ += kMarkerCount;
  const Role role = static_cast<Role>(found.marker->role);
  switch (role) {
    case Role::parameter_open:
    case Role::json_open: return continue_after_value(role);
    case Role::json_close: return take_tag_as_text();
    // Written twice, with only white space between: the first one ended the value.
    case Role::value_close:
      if (closes_ != Closes::value || closed_section_) return take_tag_as_text();
      tail_end_ = tail_.size();
      break;
    case Role::body_close:
      if (closes_ == Closes::value) return on_call_closer_after_value(found.text);
      break;
    case Role::section_close: on_section_closer_after_tag(found.text); break;
    case Role::ignore: break;
    default: return end_call_after_tag();
  }
  if (tail_count_ > kMaxTailCount) take_tag_as_text();
}

// The value's closer counts if the call continues after it.
void XmlParameters::continue_after_value(Role role) {
  if (closes_ != Closes::value || closed_section_) return take_tag_as_text();
  if (!finish_value()) return;
  role == Role::parameter_open ? open_parameter() : fail("JSON follows the parameters");
}

void XmlParameters::on_call_closer_after_value(std::string_view closer) {
  if (closed_section_) return take_tag_as_text();
  note_closer(closer);
  end_call_after_tag();
}

void XmlParameters::on_section_closer_after_tag(std::string_view closer) {
  // The call's own closer is missing.
  if (!closed_section_ && closes_ != Closes::call) note_closer(closer);
  closed_section_ = true;
}

void XmlParameters::note_closer(std::string_view closer) {
  closer_ = closer;
  tail_end_ = tail_.size();
}

// The following text proves that the call has ended; others read it.
void XmlParameters::end_call_after_tag() {
  if (!may_end_value()) return fail("a parameter is not closed");
  if (!finish_value()) return;
  unread_ = tail_.from(tail_end_);
  tail_.clear();
  // Text after the call's own closer is for others.
  closed_section_ = closed_section_ && closes_ != Closes::call;
  end_call(closer_);
}

// The tag is text after all; the text after it may begin or contain the tag that counts.
void XmlParameters::take_tag_as_text() {
  const Letters again = std::exchange(tail_, {});
  holds_tag_ = true;
  closes_ = Closes::nothing;
  closed_section_ = false;
  enter(State::value);
  value_text(again.text().substr(0, tail_tag_));
  read_again(again.from(tail_tag_));
}

}  // namespace unspool
