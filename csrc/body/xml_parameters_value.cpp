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

constexpr const char* kMisspelled = "a closing tag is misspelled";
constexpr const char* kNoText = "a value that is no text holds markup";

template <typename Test>
bool any_tag(const MarkerTexts& tags, Test&& test) {
  return std::any_of(tags.texts.begin(), tags.texts.end(),
                     [&](const std::string& tag) { return test(trim(tag)); });
}

// Where one of the tags may begin in the text; else its size.
std::size_t find_begin(std::string_view text, const MarkerTexts& tags) {
  std::size_t begin = text.size();
  for (const std::string& tag : tags.texts) {
    if (!trim(tag).empty()) begin = std::min(begin, text.find(trim(tag).substr(0, 1)));
  }
  return begin;
}

}  // namespace

// Text up to a tag, or a token.
std::size_t XmlParameters::read_value(const Letter& run) {
  const auto match = find_marker(run, [this](std::string_view piece) { value_text(piece); });
  pass(match.consumed);
  // The cursor holds text without its tokens; this copy has them too.
  is_token_ = run.symbol != 0 && trim(match.text) == trim(run.text);
  held_.follow({run.text.substr(0, match.consumed), run.symbol},
               match.marker != nullptr ? match.text : cursor_.held());
  if (has_failed()) {
    unread_.put(held_);
  } else if (match.marker != nullptr) {
    on_tag(match);
    if (cursor_.is_idle()) held_.clear();
  }
  return match.consumed;
}

BodyRest XmlParameters::rest() const {
  const bool is_in_text = state_ == State::value && cursor_.is_idle() && has_text_ && !mends_ &&
                          !is_doubled_ && written_ == Written::members && !has_failed();
  if (!is_in_text) return {};
  return {cursor_.stops() | value_.stops() | end_.stops(), true, trims_line_breaks(slot_.trim)};
}

void XmlParameters::value_text(std::string_view text) {
  if (has_failed()) return unread_.put(text);
  if (mends_) [[unlikely]]
    return put_mendable(text);
  put_value(text);
}

void XmlParameters::put_value(std::string_view text) {
  end_.put(text);
  if (!has_text_) has_text_ = !is_blank(text);
  value_.put(text, value_out());
  check_value();
  if (is_doubled_) aside_.clear();
}

// Holds what may be the value's closing tag without one of its letters.
void XmlParameters::put_mendable(std::string_view text) {
  while (!text.empty()) {
    if (slip_.empty()) {
      const std::size_t run = find_begin(text, slot_.close);
      if (run > 0) put_value(text.substr(0, run));
      text.remove_prefix(run);
      if (has_failed()) return unread_.put(text);
      if (text.empty()) return;
    }
    slip_ += text[0];
    text.remove_prefix(1);
    while (!slip_.empty() && !may_be_slip()) {
      put_value(slip_.substr(0, 1));
      slip_.erase(0, 1);
      if (has_failed()) return unread_.put(std::exchange(slip_, {}).append(text));
    }
  }
}

void XmlParameters::release_slip() {
  if (!slip_.empty()) put_value(std::exchange(slip_, {}));
}

bool XmlParameters::is_slip() const {
  return any_tag(slot_.close, [this](auto tag) { return lacks_letter(trim(slip_), tag); });
}

bool XmlParameters::may_be_slip() const {
  const std::string_view text =
      std::string_view(slip_).substr(0, slip_.find_last_not_of(kSpace) + 1);
  const bool has_space = text.size() < slip_.size();
  if (text.empty() || slip_.size() > kMaxTailCount) return false;
  return any_tag(slot_.close, [&](auto tag) {
    return has_space ? lacks_letter(text, tag) : may_lack_letter(text, tag);
  });
}

// Whether the value ends with its closing tag, but for one letter.
bool XmlParameters::ends_with_slip() const {
  return any_tag(slot_.close,
                 [this](auto tag) { return unspool::ends_with_slip(end_.text(), tag); });
}

// Whether the output ends inside the value's closing tag.
bool XmlParameters::is_cut_in_closer() const {
  const std::string_view held = trim(cursor_.held());
  return state_ == State::value && held.size() > 1 &&
         any_tag(slot_.close, [held](auto tag) { return tag.starts_with(held); });
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
  if (closes_ != Closes::value && is_slip()) {
    closes_ = Closes::value;
    repairs_ |= kMarkup;
    mark_value_end();
    slip_.clear();
  } else {
    release_slip();
    mark_value_end();
    if (closes_ != Closes::value && ends_with_slip()) problem_ = kMisspelled;
  }
  if (closes_ == Closes::value && is_closed_twice_) repairs_ |= kMarkup;
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
void XmlParameters::on_tag(const MarkerCursor::Found& match) {
  const Role role = static_cast<Role>(match.marker->role);
  if (slot_.is_keyless) return on_closer_of_only_value(match);
  if (role == Role::value_begin && !has_text_ && slip_.empty()) {  // written twice, or quoted
    tail_.put(held_);
    if (may_be_quoted()) return;
    tail_.clear();
    repairs_ |= kMarkup;
    return value_.leave_out(match.text);
  }
  if (role == Role::key_end && is_token_ && !has_text_) {
    tail_.put(held_);
    return fail("a parameter's name does not end");
  }
  if (is_token_) return on_token(match);
  switch (role) {
    case Role::parameter_open: return on_opener_in_value(match);
    case Role::call_open: return on_call_in_value(match);
    case Role::key_end: return hold_tag(match, State::key_end);
    case Role::section_close:
      if (mends_ && !refuses_text()) return on_closer_in_value(match, role);
      [[fallthrough]];
    case Role::section_open:
    case Role::bare_tag:
    case Role::json_open: return take_as_text(match);
    case Role::value_begin:
      if (!is_unopened_ && (!holds_tag_ || !slot_.key_end.empty())) return take_as_text(match);
      tail_.put(held_);
      return is_unopened_ ? fail("text stands between a parameter's name and its value")
                          : miss_opener();
    default: return on_closer_in_value(match, role);
  }
}

// A marker that came as its token is text only if the value's own closer follows: a model writes a
// quoted marker as its token too, but damaged output has more of them.
void XmlParameters::on_token(const MarkerCursor::Found& match) {
  const Role role = static_cast<Role>(match.marker->role);
  switch (role) {
    case Role::parameter_open: return hold_tag(match, State::next_key);
    case Role::bare_tag: return take_as_text(match);
    case Role::section_open:
    case Role::call_open: return fail_at("the call is not closed");
    case Role::key_end:
    case Role::json_open:
    case Role::value_begin: return fail_at("a parameter is not closed");
    default: return on_closer_in_value(match, role);
  }
}

void XmlParameters::on_closer_in_value(const MarkerCursor::Found& match, Role role) {
  hold_tag(match, State::after_tag);
  const bool closes_call = role == Role::body_close;
  closes_ = role == Role::value_close ? Closes::value
            : closes_call             ? Closes::call
                                      : Closes::nothing;
  closed_section_ = role == Role::section_close;
  closer_ = closes_call || closed_section_ ? match.text : std::string_view{};
}

void XmlParameters::fail_at(const char* problem) {
  tail_.put(held_);
  give_up(problem);
}

// A marker is text, except in a value that refuses it.
void XmlParameters::take_as_text(const MarkerCursor::Found& match) {
  if (refuses_text()) {
    unread_.put(value_.take_held());
    return fail_at(kNoText);
  }
  const Role role = static_cast<Role>(match.marker->role);
  holds_tag_ = holds_tag_ || role == Role::json_open;
  note_text(role);
  value_text(match.text);
}

// Only the call's closer ends its only value. If it needs a line of its own, one within a line is
// text. A value that contains another call's opener in this way may be two calls.
void XmlParameters::on_closer_of_only_value(const MarkerCursor::Found& match) {
  const bool counts =
      !trims_line_breaks(slot_.trim) || value_.is_at_line_start() || match.text.starts_with('\n');
  const Role role = static_cast<Role>(match.marker->role);
  holds_tag_ = holds_tag_ || (counts && role == Role::call_open);
  if (counts && role == Role::call_open) quoted_.open(QuotedText::Part::call);
  if (!counts || role != Role::body_close) return value_text(match.text);
  if (holds_tag_) return fail_at("the call is not closed");
  closer_ = match.text;
  if (finish_value()) end_call(match.text);
}

void XmlParameters::hold_tag(const MarkerCursor::Found& match, State state) {
  tail_.clear();
  tail_.put(held_);
  tag_role_ = static_cast<Role>(match.marker->role);
  tag_is_token_ = is_token_;
  is_amid_line_ = is_mention_ = is_closed_twice_ = false;
  tail_tag_ = tail_end_ = tail_.size();
  tail_count_ = 0;
  key_.clear();
  key_end_ = std::string::npos;
  enter(state);
}

// Within a line it opens only after a closing tag, and with a key of the schema.
void XmlParameters::on_opener_in_value(const MarkerCursor::Found& match) {
  if (slot_.ends_lines() && !refuses_text()) return value_text(match.text);  // on the value's line
  if (ends_with_slip()) return fail_at(kMisspelled);
  const bool begins_line =
      !trims_line_breaks(slot_.trim) || (slip_.empty() && value_.is_at_line_start());
  hold_tag(match, State::next_key);
  is_amid_line_ = !begins_line;
  is_mention_ = !begins_line && !holds_closer_ && !is_slip();
}

// Whether a call begins here is known after its name.
void XmlParameters::on_call_in_value(const MarkerCursor::Found& match) {
  if (ends_with_slip()) return fail_at("the call is not closed");
  hold_tag(match, State::next_call);
}

// A value contains a closing tag and text after it. If the end of a name and a value's opener
// follow, a parameter's opener is missing.
void XmlParameters::read_key_end(const MarkerCursor::Found& match) {
  tail_count_ += released_.size();
  const bool is_text = slot_.types.empty() && !is_blank(released_);
  if (is_text || tail_count_ > kMaxTailCount) return take_tag_as_text();
  if (match.marker == nullptr) return;
  if (static_cast<Role>(match.marker->role) != Role::value_begin) return take_tag_as_text();
  miss_opener();
}

// The end of a name, or a value's opener, follows text. After a closer that closes nothing in the
// value, a parameter's opener is missing.
void XmlParameters::miss_opener() {
  constexpr const char* kMissing = "a parameter's opener is missing";
  const bool is_certain = holds_closer_ && quoted_.is_empty();
  is_certain ? fail(kMissing) : give_up(kMissing);
}

// A value contains the opener of a call. If a whole call of a known tool begins, or of any tool
// after a closing tag, this call's end is missing or was not recognized.
void XmlParameters::read_next_call(const MarkerCursor::Found& match) {
  key_ += released_;
  const bool is_broken = released_.find_first_of("<\n") != std::string::npos;
  if (is_broken || key_.size() > kMaxTailCount) return take_tag_as_text();
  if (match.marker == nullptr) return;
  const Role role = static_cast<Role>(match.marker->role);
  const std::string_view name = trim(key_);
  const bool is_name = !name.empty() && name.find_first_of(kSpace) == std::string_view::npos;
  if (!is_name || (role != Role::name_close && role != Role::call_close)) {
    return take_tag_as_text();
  }
  const bool is_known = tools_ != nullptr && tools_->find(name) != nullptr;
  if (!holds_tag_ && !is_known) return take_opener_as_text();
  const auto& openers = slot_.open.texts;
  const bool is_opener = std::find(openers.begin(), openers.end(), match.text) != openers.end();
  if (role == Role::call_close || is_opener) return give_up("the call is not closed");
  enter(State::call_name);
}

void XmlParameters::read_call_name(const MarkerCursor::Found& match) {
  if (slot_.json_body && released_ == "{") return give_up("the call is not closed");
  if (!released_.empty()) return take_opener_as_text();
  if (match.marker == nullptr) return;
  const Role role = static_cast<Role>(match.marker->role);
  if (role != Role::parameter_open && role != Role::body_close) return take_opener_as_text();
  give_up("the call is not closed");
}

// A new parameter ends the value before it, once its whole name has been read. If the schema is
// known, it must have the parameter.
void XmlParameters::read_next_key(const MarkerCursor::Found& match) {
  const KeyFit fit = add_to_key(released_);
  // Its name is whole, and known: the opener was no mention, whatever follows.
  if (fit == KeyFit::text_after && !is_mention_ && names_parameter()) {
    return fail("text stands between a parameter's name and its value");
  }
  if (fit != KeyFit::fits) return take_tag_as_text();
  const bool is_broken =
      slot_.key_end.empty() && released_.find_first_of("<\n") != std::string::npos;
  if (is_broken && !is_amid_line_ && !slot_.open.is_empty() && names_parameter())
    return fail("a parameter's name does not end");
  if (is_broken) return take_tag_as_text();
  if (match.marker == nullptr) return;
  if (static_cast<Role>(match.marker->role) != Role::value_begin) return take_tag_as_text();
  if (is_mention_) return take_opener_as_text();
  if (!is_next_name()) {
    if (slot_.open.is_empty()) return take_tag_as_text();
    const bool has_end = slot_.key_end.empty() || key_end_ != std::string::npos;
    return has_end || !names_parameter() ? take_opener_as_text()
                                         : fail("a parameter's name does not end");
  }
  if (closes_ != Closes::value) {
    if (holds_tag_) return give_up("a parameter is not closed");
    quoted_.expect_parameter();
    if (may_be_quoted()) return;
  }
  if (finish_value() && take_key()) begin_value();
}

// Whether the key, up to its line's end, is a parameter of the tool that is not given yet.
bool XmlParameters::names_parameter() const {
  const std::string_view name =
      split_key(std::string_view(key_).substr(0, key_.find_first_of("<\n"))).name;
  return schema_ != nullptr && schema_->find(name) != nullptr && given_.count(name) == 0;
}

bool XmlParameters::is_next_name() const {
  if (!slot_.key_end.empty() && key_end_ == std::string::npos) return false;
  const Key key = split_key(key_);
  if (key.name.empty() || key.name.find_first_of("<>\n") != std::string_view::npos) return false;
  // A line of the value, `if (x) y = 1`, is not one that opens a parameter.
  if (slot_.open.is_empty() && key.name.find_first_of(kSpace) != std::string_view::npos)
    return false;
  const bool has_type = std::any_of(slot_.types.begin(), slot_.types.end(), [&](const auto& type) {
    return key.attributes.find(type.first) != std::string_view::npos;
  });
  const bool is_any = schema_ == nullptr || schema_->parameters.empty();
  const bool is_known = is_any ? !is_amid_line_ : has_type || schema_->find(key.name) != nullptr;
  return is_known && given_.count(key.name) == 0;
}

// Holds white space after a tag, up to a limit; returns how many bytes.
std::size_t XmlParameters::hold_space(std::string_view space) {
  space = space.substr(0, kMaxTailCount - std::min(tail_count_, kMaxTailCount));
  tail_.put(space);
  tail_count_ += space.size();
  return space.size();
}

void XmlParameters::read_after_tag(const MarkerCursor::Found& match) {
  if (!released_.empty() && slot_.open.is_empty() && closes_ == Closes::value && !closed_section_)
    return read_next_line();
  if (!released_.empty()) {
    // The call's closer directly before the section's ends the value; otherwise text continues it.
    return closes_ == Closes::call && closed_section_ ? end_call_after_tag() : take_tag_as_text();
  }
  if (match.marker != nullptr) on_marker_after_tag(match);
}

// The line after a value's last one: the next parameter, or more of the value.
void XmlParameters::read_next_line() {
  const Letters held = std::exchange(tail_, {});
  tail_.put(held.text().substr(0, tail_tag_));
  key_.clear();
  key_end_ = std::string::npos;
  enter(State::next_key);
  read_again(held.from(tail_tag_));
}

// A second marker may decide about the first one. If it does not, it is held too.
void XmlParameters::on_marker_after_tag(const MarkerCursor::Found& match) {
  tail_count_ += kMarkerCount;
  const Role role = static_cast<Role>(match.marker->role);
  switch (role) {
    case Role::parameter_open:
    case Role::json_open: return continue_after_value(role);
    case Role::json_close: return on_wrapper_close();
    // Written twice, with only white space between: the first one ended the value.
    case Role::value_close:
      if (closes_ != Closes::value || closed_section_) return take_tag_as_text();
      is_closed_twice_ = true;
      tail_end_ = tail_.size();
      break;
    case Role::body_close:
      if (closes_ == Closes::value) return on_call_closer_after_value(match.text);
      break;
    case Role::section_close: on_section_closer_after_tag(match.text); break;
    case Role::ignore: break;
    case Role::key_end:
    case Role::value_begin:
    case Role::bare_tag: return take_tag_as_text();
    case Role::section_open:
    case Role::call_open:
      // The call's closer is missing, or the value quotes all of this.
      if (closer_.empty() && may_be_quoted()) return;
      return end_call_after_tag();
    default: return end_call_after_tag();
  }
  if (tail_count_ > kMaxTailCount) take_tag_as_text();
}

// The value's closer counts if the call continues after it.
void XmlParameters::continue_after_value(Role role) {
  if (closes_ != Closes::value || closed_section_) return take_tag_as_text();
  if (closes_quoted() && may_be_quoted()) return;
  if (!finish_value()) return;
  role == Role::parameter_open ? open_parameter() : fail("JSON follows the parameters");
}

// The element around the parameters ends after the last value.
void XmlParameters::on_wrapper_close() {
  if (!is_wrapped_ || closes_ != Closes::value || closed_section_) return take_tag_as_text();
  if (closes_quoted() && may_be_quoted()) return;
  is_wrapped_ = false;
  if (!finish_value()) return;
  tail_.clear();
  enter(State::parameter);
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
  if (!may_end_value()) return give_up("a parameter is not closed");
  if ((closes_ != Closes::value || closes_quoted()) && may_be_quoted()) return;
  if (!finish_value()) return;
  unread_ = tail_.from(tail_end_);
  tail_.clear();
  // Text after the call's own closer is for others.
  closed_section_ = closed_section_ && closes_ != Closes::call;
  end_call(closer_);
}

// The opener of a call or of a parameter is text, with its whole name: a closer may belong to it.
void XmlParameters::take_opener_as_text() {
  if (!tag_is_token_) note_text(tag_role_);
  take_tag_as_text();
}

// The tag is text after all; the text after it may begin or contain the tag that counts.
void XmlParameters::take_tag_as_text() {
  if (tag_is_token_) return give_up("a parameter is not closed");
  if (refuses_text()) {
    unread_.put(value_.take_held());
    return fail(kNoText);
  }
  const Letters again = std::exchange(tail_, {});
  // The end of a line within a text is no tag.
  const bool is_line = slot_.ends_lines() && tag_role_ == Role::value_close;
  holds_tag_ = holds_tag_ ||
               (state_ == State::after_tag && tag_role_ != Role::section_close && !is_line) ||
               (state_ == State::next_key && !is_mention_ && !is_line);
  holds_closer_ = holds_closer_ || (closes_ != Closes::nothing && !is_line);
  closes_ = Closes::nothing;
  closed_section_ = false;
  enter(State::value);
  value_text(again.text().substr(0, tail_tag_));
  read_again(again.from(tail_tag_));
}

}  // namespace unspool
