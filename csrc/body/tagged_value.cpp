#include "body/tagged_value.h"

#include <algorithm>
#include <utility>

#include "text/json_escape.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// A longer run of blanks is not the closing tag's indentation; bounds the held text.
constexpr std::size_t kMaxIndentation = 64;

}  // namespace

void TaggedValue::begin(TypeSet types, std::string& out) {
  types_ = types;
  mode_ = Mode::undecided;
  is_at_start_ = slot_.trim != ValueTrim::none;
  is_empty_line_ = has_line_ = false;
  space_left_ =
      slot_.trim == ValueTrim::none ? static_cast<std::uint32_t>(slot_.space_before.size()) : 0;
  opener_read_ = slot_.value_open.empty() ? kNotLookedFor : 0;
  entities_ = EntityDecoder();
  candidate_ = TypedCandidate(types_, slot_.python_values);
  reader_.reset();
  clear_held();
  space_.clear();
  read_ = 0;
  // Most parameters: nothing waits.
  if (types_.is_only(TypeSet::string)) become_string(out);
}

void TaggedValue::fail(const char* problem, std::string_view unread) {
  problem_ = problem;
  unread_ += unread;
}

void TaggedValue::put_with_opener(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == slot_.value_open[opener_read_]) {
      if (++opener_read_ < slot_.value_open.size()) continue;
      opener_read_ = kNotLookedFor;  // complete: it is markup
      // Within value_open and its end, as in CDATA, a reference is plain text.
      entities_.turn_off();
      return put_inside(text.substr(i + 1), out);
    }
    // White space before the opener is markup; it is not before a value without one.
    if (opener_read_ == 0 && is_space(text[i]) && slot_.trim == ValueTrim::space) continue;
    give_up_opener(out);
    return put_inside(text.substr(i), out);
  }
}

void TaggedValue::add_held(Held& out) const {
  if (opener_read_ != kNotLookedFor) {
    out.add(HeldReason::marker, std::string_view(slot_.value_open).substr(0, opener_read_));
  }
  if (mode_ == Mode::undecided) out.add(HeldReason::value, held_);
  if (mode_ == Mode::container) reader_.add_held(out);
  out.add(HeldReason::character, entities_.held());
  out.add(HeldReason::space, space_);
}

// Text that began like value_open belongs to the value.
void TaggedValue::give_up_opener(std::string& out) {
  const std::size_t read = opener_read_;
  opener_read_ = kNotLookedFor;
  if (read != kNotLookedFor) put_inside(slot_.value_open.substr(0, read), out);
}

// White space at the edges is handled as the format defines; the rest is the value.
void TaggedValue::put_inside(std::string_view text, std::string& out) {
  if (slot_.trim == ValueTrim::none || has_failed()) return put_trimmed(text, out);
  if (is_at_start_ && !text.empty()) text.remove_prefix(read_start(text));
  if (text.empty()) return;
  is_empty_line_ = false;
  const std::size_t end = text.find_last_not_of(kSpace) + 1;  // 0 if all of it is white space
  if (end > 0) {
    // More of the value follows, so the held white space is part of it.
    if (!space_.empty()) put_trimmed(space_, out);
    space_.clear();
    put_trimmed(text.substr(0, end), out);
    text.remove_prefix(end);
  }
  // After a fault, nothing of the value may get lost.
  (has_failed() ? unread_ : space_) += text;
  if (trims_line_breaks(slot_.trim) && !space_.empty()) put_inner_space(out);
}

// Reads the white space that the marker before the value ends with. Each end of it counts.
std::size_t TaggedValue::read_space(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && space_left_ > 0) {
    const std::string_view left =
        std::string_view(slot_.space_before).substr(slot_.space_before.size() - space_left_);
    if (text[size] != left[0]) {
      space_left_ = 0;
      break;
    }
    --space_left_;
    ++size;
  }
  return size;
}

// Reads what the format drops before a value: white space or a line break.
std::size_t TaggedValue::read_start(std::string_view text) {
  if (slot_.trim == ValueTrim::space) {
    const std::size_t size = std::min(text.find_first_not_of(kSpace), text.size());
    is_at_start_ = size == text.size();
    return size;
  }
  std::size_t size = 0;
  if (space_.empty() && text[0] == '\r') {
    // `\r` alone is text; it is a line break only before `\n`, which may come later.
    space_.assign(1, '\r');
    if (++size == text.size()) return size;
  }
  is_at_start_ = false;
  if (text[size] != '\n') return size;
  space_.clear();
  is_empty_line_ = has_line_ = true;
  return size + 1;
}

// A line break and blanks after it may belong to the closing tag; white space before it does not.
void TaggedValue::put_inner_space(std::string& out) {
  std::size_t begin = space_.rfind('\n');
  if (begin == std::string::npos) {
    begin = space_.ends_with('\r') ? space_.size() - 1 : space_.size();
  } else if (begin > 0 && space_[begin - 1] == '\r') {
    --begin;
  }
  // Then all of it is text, so that a stream never holds more.
  if (space_.size() - begin > kMaxIndentation) begin = space_.size();
  if (begin == 0) return;
  put_trimmed(std::string_view(space_).substr(0, begin), out);
  space_.erase(0, begin);
  if (has_failed()) unread_ += std::exchange(space_, {});
}

ByteClasses TaggedValue::stops() const {
  const bool is_in_text = mode_ == Mode::string && opener_read_ == kNotLookedFor && !is_at_start_ &&
                          space_left_ == 0 && !is_empty_line_ && space_.empty() &&
                          entities_.held().empty() && !has_failed();
  if (!is_in_text) return kAllClasses;
  ByteClasses stops = slot_.entities ? class_of('&') : 0;
  if (slot_.trim == ValueTrim::space) stops |= kEndsInSpace;
  if (trims_line_breaks(slot_.trim)) stops |= kEndsInOpenLine;
  return stops;
}

ValueTrim TaggedValue::trim_at_end(bool is_closed) const {
  const bool is_unpaired = slot_.trim == ValueTrim::newline_pair && !has_line_ && is_closed;
  // `<p>a\n</p>`: without a line break at the beginning, the one at the end was meant.
  return is_unpaired ? ValueTrim::none : slot_.trim;
}

bool TaggedValue::is_at_line_start() const {
  return is_empty_line_ || space_.find('\n') != std::string::npos;
}

void TaggedValue::put_trimmed(std::string_view text, std::string& out) {
  if (has_failed()) {
    unread_ += text;
    return;
  }
  // Most formats have no references, and then the text is passed on as a whole.
  if (!slot_.entities) return put_decoded(text, out);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string unread(word());  // text that cannot be parsed is reported unchanged
    unread += entities_.held();
    std::string decoded;
    entities_.put(text.substr(i, 1), decoded);
    put_decoded(decoded, out);
    if (!has_failed()) continue;
    unread_ = unread;
    unread_ += text.substr(i);
    return;
  }
}

void TaggedValue::put_decoded(std::string_view text, std::string& out) {
  switch (mode_) {
    case Mode::string: append_json_escaped(text, out); break;
    case Mode::container: put_container(text, out); break;
    case Mode::undecided: put_undecided(text, out); break;
  }
}

// If no string is allowed, an object or list is streamed as soon as the byte after its bracket
// identifies it.
bool TaggedValue::opens_container(char byte) const {
  return !types_.has(TypeSet::string) && ((byte == '{' && types_.has(TypeSet::object)) ||
                                          (byte == '[' && types_.has(TypeSet::array)));
}

bool TaggedValue::may_follow_opener(char byte) const {
  const bool is_object = held_[first_] == '{';
  // `[see below]` and `{name}` are text, which the byte after the bracket shows.
  std::string_view bytes = is_object ? "\"}" : "]\"{[-0123456789tfn";
  if (is_loose_) bytes = is_object ? "\"'}0123456789" : "]\"'{[(-0123456789tfnTFN";
  return bytes.find(byte) != std::string_view::npos;
}

void TaggedValue::put_undecided(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    hold(text[i], out);
    if (mode_ != Mode::undecided) return put_decoded(text.substr(i + 1), out);
  }
}

// Holds a byte until the value's type is known.
void TaggedValue::hold(char byte, std::string& out) {
  held_ += byte;
  const bool is_first = first_ == std::string::npos && !is_space(byte);
  if (is_first) first_ = held_.size() - 1;
  // A scalar, or text: the candidate follows it byte by byte.
  if (first_ == std::string::npos || !opens_container(held_[first_])) {
    if (!candidate_.put(byte)) become_string(out);
  } else if (!is_first && !is_space(byte)) {
    if (!may_follow_opener(byte)) return become_string(out);
    mode_ = Mode::container;
    // White space before the bracket is dropped.
    put_container(held_.substr(first_), out);
  }
}

void TaggedValue::put_container(std::string_view text, std::string& out) {
  if (text.empty()) return;
  const ScanResult result = reader_.put_whole(text, out);
  if (result.status == ScanStatus::failed) {
    // A bare word was read but not written.
    fail("a parameter's value is not valid JSON",
         std::string(word()).append(text.substr(result.consumed)));
  }
}

void TaggedValue::become_string(std::string& out) {
  mode_ = Mode::string;
  out += '"';
  append_json_escaped(held_, out);
  clear_held();
}

std::string TaggedValue::take_held() {
  std::string text(unwritten());
  text += entities_.held();
  text += space_;
  // White space at its beginning is left out, and character references are replaced.
  const bool is_as_read = mode_ == Mode::undecided ? text.size() == read_ : !slot_.entities;
  clear_held();
  reader_.reset();
  entities_ = EntityDecoder();
  space_.clear();
  return is_as_read ? text : std::string();
}

void TaggedValue::clear_held() {
  held_.clear();
  first_ = std::string::npos;
}

void TaggedValue::end(bool is_closed, std::string& out) {
  give_up_opener(out);
  const ValueTrim trim = trim_at_end(is_closed);
  const bool is_lone_return = trims_line_breaks(trim) && space_ == "\r";  // not a line break
  if (trim == ValueTrim::none || is_lone_return) put_trimmed(space_, out);
  // The value ends within a reference, so it was none: `AT&T` ends with `&T`.
  const std::string reference(entities_.held());
  entities_.turn_off();
  if (!reference.empty()) put_decoded(reference, out);
  switch (mode_) {
    case Mode::string: out += '"'; break;
    // At the end the whole text is there, and decides.
    case Mode::undecided: append_typed(held_, types_, out, slot_.python_values); break;
    case Mode::container:
      if (!reader_.is_complete() && !has_failed()) {
        fail("a parameter's value is not whole JSON",
             word().empty() ? std::string() : std::string(word()).append(space_));
      }
      break;
  }
  clear_held();
  space_.clear();
}

void TaggedValue::end_word(std::string& out) {
  if (mode_ == Mode::container && !has_failed()) reader_.end(out);
}

void TaggedValue::cut_off(std::string& out) {
  space_.clear();
  put_decoded(std::string(entities_.held()), out);
  if (mode_ != Mode::undecided || held_.empty()) return;
  // A number's digits and the beginning of a text stay unchanged.
  if (types_.has(TypeSet::string)) return become_string(out);
  // `tru` of a boolean is a prefix of JSON, and says no more than the model wrote.
  if (begins_json(held_)) {
    out += held_;
    return;
  }
  std::string beginning;
  append_typed_beginning(held_, types_, beginning);
  out += beginning;
  clear_held();
  if (beginning.starts_with('"')) {
    mode_ = Mode::string;
  } else {
    // `close` completes it later, if the call is repaired.
    held_ = beginning;
  }
}

bool TaggedValue::close(std::string& out) {
  switch (mode_) {
    case Mode::string: out += '"'; return true;
    case Mode::container: return reader_.close(out);
    case Mode::undecided: break;
  }
  ValueReader reader;
  reader.check(held_);
  return reader.close(out);  // null if nothing was written
}

void TaggedValue::visit(Archive& archive) {
  archive.given(slot_, is_loose_);
  archive.choice(mode_, Mode::container);
  archive(reader_, types_, is_at_start_, is_empty_line_, has_line_, opener_read_, entities_,
          candidate_);
  archive(held_, first_, space_, unread_, read_, space_left_);
  archive.literal(problem_);
  archive.expect(space_left_ <= slot_.space_before.size());
  archive.expect(opener_read_ == 0 || opener_read_ == kNotLookedFor ||
                 opener_read_ < slot_.value_open.size());
  // `hold` and `may_follow_opener` read the byte there.
  archive.expect(first_ == std::string::npos || first_ < held_.size());
}

}  // namespace unspool
