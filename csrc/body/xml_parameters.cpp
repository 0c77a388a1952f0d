#include "body/xml_parameters.h"

#include <algorithm>
#include <utility>

#include "body/names.h"
#include "text/json_escape.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// A longer name is none, and white space behind a tag beyond this is not markup; it bounds what is
// held.
constexpr std::size_t kMaxKeyBytes = 1024;
constexpr std::size_t kMaxTailSpace = 256;

}  // namespace

XmlParameters::XmlParameters(const XmlParametersSpec& spec, const CallMarkers& markers,
                             const ToolSchema* schema, bool in_parameter)
    : spec_(spec), markers_(markers), schema_(schema), value_(spec) {
  enter(in_parameter ? State::key : State::parameter);
}

void XmlParameters::enter(State state) {
  state_ = state;
  switch (state) {
    case State::parameter:
    case State::maybe_end: cursor_.reset(&markers_.parameter); break;
    case State::key:
    case State::next_key: cursor_.reset(&markers_.key); break;
    case State::value: cursor_.reset(&markers_.value); break;
    case State::json:
    case State::done: break;
  }
}

BodyResult XmlParameters::put(std::string_view text, CallSink& sink) {
  out_.clear();
  std::size_t i = 0;
  while (i < text.size() && state_ != State::done && !has_failed()) i += read_some(text.substr(i));
  return finish_put(i, sink);
}

BodyResult XmlParameters::put_token(Symbol symbol, std::string_view literal, CallSink& sink) {
  out_.clear();
  std::string released;
  MarkerCursor::Found found;
  switch (state_) {
    case State::parameter: {
      const std::string before(cursor_.held());
      found = cursor_.put_token(symbol, literal, [&](std::string_view text) { released += text; });
      if (!released.empty()) {
        fail("text stands between the parameters", before);
        return {0, ScanStatus::failed, {}, false, unread_};
      }
      break;
    }
    case State::key:
      found = cursor_.put_token(symbol, literal, [&](std::string_view text) { key_text(text); });
      break;
    case State::value:
      found = cursor_.put_token(symbol, literal, [&](std::string_view text) { value_text(text); });
      break;
    case State::maybe_end:
      found = cursor_.put_token(symbol, literal, [&](std::string_view text) { released += text; });
      end_maybe(found, released);
      return finish_put(literal.size(), sink);
    case State::next_key:
      found = cursor_.put_token(symbol, literal, [&](std::string_view text) { released += text; });
      read_next_key(found, released);
      return finish_put(literal.size(), sink);
    case State::json:
      if (scanner_.in_string()) return put(literal, sink);
      fail("a marker stands inside the call's JSON", {});
      return finish_put(0, sink);
    case State::done: break;
  }
  if (found.marker != nullptr) act_on(found);
  return finish_put(literal.size(), sink);
}

BodyResult XmlParameters::finish_put(std::size_t consumed, CallSink& sink) {
  if (!out_.empty()) sink.put_arguments(out_);
  if (has_failed()) return {consumed, ScanStatus::failed, {}, false, unread_};
  if (state_ != State::done) return {consumed, ScanStatus::more};
  sink.end_call();
  return {consumed, ScanStatus::done, closer_, closed_section_};
}

void XmlParameters::fail(const char* problem, std::string_view unread) {
  if (!has_failed()) problem_ = problem;
  unread_ += unread;
}

std::size_t XmlParameters::read_some(std::string_view text) {
  std::string released;
  switch (state_) {
    case State::parameter: {
      if (cursor_.is_idle() && is_space(text[0])) return 1;
      if (spec_.json_body && !has_parameters_ && cursor_.is_idle() && text[0] == '{') {
        has_parameters_ = has_json_ = true;
        scanner_.reset();
        enter(State::json);
        return 0;
      }
      const auto found =
          cursor_.put(text.substr(0, 1), [&](std::string_view piece) { released += piece; });
      if (!released.empty()) {
        fail("text stands between the parameters", released);
        unread_ += cursor_.held();
      } else if (found.marker != nullptr) {
        act_on(found);
      }
      return 1;
    }
    case State::key:
    case State::value: {
      const bool in_key = state_ == State::key;
      const auto found = cursor_.put(
          text, [&](std::string_view piece) { in_key ? key_text(piece) : value_text(piece); });
      if (has_failed()) {
        unread_ += found.marker != nullptr ? found.text : cursor_.held();
      } else if (found.marker != nullptr) {
        act_on(found);
      }
      return found.consumed;
    }
    case State::maybe_end: {
      if (cursor_.is_idle() && is_space(text[0]) && tail_.size() < tail_tag_ + kMaxTailSpace) {
        tail_ += text[0];
        return 1;
      }
      const auto found =
          cursor_.put(text.substr(0, 1), [&](std::string_view piece) { released += piece; });
      end_maybe(found, released);
      return 1;
    }
    case State::next_key: {
      const auto found =
          cursor_.put(text.substr(0, 1), [&](std::string_view piece) { released += piece; });
      read_next_key(found, released);
      return 1;
    }
    case State::json: {
      const ScanResult result = scanner_.put(text, &out_);
      if (result.status == ScanStatus::failed) {
        fail("the arguments are not valid JSON", text.substr(result.consumed, 1));
        return result.consumed + 1;
      }
      if (result.status == ScanStatus::done) enter(State::parameter);
      return result.consumed;
    }
    case State::done: break;
  }
  return text.size();
}

// In maybe_end: the tag was the value's end, or it was not, or that is still open.
void XmlParameters::end_maybe(const MarkerCursor::Found& found, const std::string& released) {
  const bool is_whole = found.marker != nullptr && released.empty();
  if (closed_section_) {
    closed_section_ = false;  // something follows: all of it was text
  } else if (is_whole && static_cast<Role>(found.marker->role) == Role::section_close) {
    // The call's own closer is missing. A value may hold this too: it counts only if nothing
    // follows.
    tail_ += found.text;
    closed_section_ = true;
    return;
  } else if (is_whole) {
    end_value_before(found.text);
    if (!has_failed()) act_on(found);
    return;
  } else if (released.empty()) {
    return;
  }
  take_tag_as_text(released + std::string(found.marker != nullptr ? found.text : cursor_.held()));
}

// The tag in tail_ is text after all; what follows it may begin or hold the tag that counts.
void XmlParameters::take_tag_as_text(std::string_view behind) {
  const std::string tag = tail_.substr(0, tail_tag_);
  const std::string again = tail_.substr(tail_tag_).append(behind);
  tail_.clear();
  enter(State::value);
  value_text(tag);
  std::string_view rest = again;
  while (!rest.empty() && !has_failed()) rest.remove_prefix(read_some(rest));
  unread_ += rest;
}

void XmlParameters::act_on(const MarkerCursor::Found& found) {
  switch (static_cast<Role>(found.marker->role)) {
    case Role::parameter_open:
      if (has_json_) return fail("a parameter follows the call's JSON", found.text);
      if (state_ == State::value) return on_opener_in_value(found);
      key_.clear();
      enter(State::key);
      break;
    case Role::value_begin: begin_value(found.text); break;
    case Role::value_close:
      tail_ = found.text;
      tail_tag_ = tail_.size();
      enter(State::maybe_end);
      break;
    case Role::section_close: closed_section_ = true; [[fallthrough]];
    case Role::body_close:
      if (!has_json_) out_ += has_parameters_ ? "}" : "{}";
      closer_ = found.text;
      enter(State::done);
      break;
    default: break;
  }
}

// A value holds what opens a parameter: the end of the value, if a closing tag was forgotten.
void XmlParameters::on_opener_in_value(const MarkerCursor::Found& found) {
  if (spec_.next_closes) {
    end_value();
    key_.clear();
    return enter(State::key);
  }
  const bool begins_line = found.text.starts_with('\n') || spec_.trim != ValueTrim::newline;
  if (schema_ == nullptr || !begins_line) return value_text(found.text);
  tail_ = found.text;
  tail_tag_ = tail_.size();
  enter(State::next_key);
}

// In next_key: a parameter that the schema has and that was not given yet ends the value before it.
void XmlParameters::read_next_key(const MarkerCursor::Found& found, std::string_view released) {
  tail_ += released;
  const bool is_broken =
      spec_.name_end.empty() && released.find_first_of("<\n") != std::string_view::npos;
  if (is_broken || tail_.size() > tail_tag_ + kMaxKeyBytes) return take_tag_as_text(cursor_.held());
  if (found.marker == nullptr) return;
  const std::string key = tail_.substr(tail_tag_);
  const std::string name(split_key(key).name);
  if (schema_->find(name) == nullptr || given_.count(name) > 0) return take_tag_as_text(found.text);
  end_value_before(found.text);
  key_ = key;
  if (!has_failed()) begin_value(found.text);
}

// The tail was markup behind the value, and so is `marker`; a value that fails leaves them unread.
void XmlParameters::end_value_before(std::string_view marker) {
  const std::string tail = std::exchange(tail_, {});
  end_value();
  if (has_failed()) unread_.append(tail).append(marker);
}

void XmlParameters::key_text(std::string_view text) {
  const std::size_t room = kMaxKeyBytes - key_.size();
  key_ += text.substr(0, room);
  if (text.size() > room) fail("a parameter's name is longer than 1,024 bytes", text.substr(room));
}

TypeSet XmlParameters::types_of_key(std::string_view attributes) const {
  for (const auto& [text, types] : spec_.types) {
    if (attributes.find(text) != std::string_view::npos) return types;
  }
  const ValueSchema* value = schema_ == nullptr ? nullptr : schema_->find(key_);
  if (value != nullptr && !value->types.is_empty()) return value->types;
  return spec_.guess_types ? TypeSet::any() : TypeSet(TypeSet::string);
}

XmlParameters::Key XmlParameters::split_key(std::string_view text) const {
  Key key{text, {}, {}};
  for (const std::string& separator : spec_.name_end) {
    const std::size_t end = key.name.find(separator);
    if (end == std::string_view::npos) continue;
    key.attributes = key.name.substr(end + separator.size());
    key.name = key.name.substr(0, end);
  }
  key.name = unquote(trim(key.name), key.behind);
  if (key.attributes.empty()) key.attributes = key.behind;
  return key;
}

// Takes the name out of what stands before the value; false where there is none.
bool XmlParameters::read_key(std::string_view closer) {
  auto [name, attributes, behind] = split_key(key_);
  if (name.empty()) {
    fail("a parameter has no name", {});
    return false;
  }
  if (name.find_first_of("<>\n") != std::string_view::npos ||
      behind.find('<') != std::string_view::npos) {
    fail("a parameter's name holds markup", {});
    return false;
  }
  if (!spec_.name_end.empty() && spec_.types.empty() && !is_blank(attributes)) {
    attributes.remove_prefix(attributes.find_first_not_of(kSpace));
    fail("text stands between a parameter's name and its value", attributes);
    unread_ += closer;
    return false;
  }
  const std::string copy = spec_.name_entities ? without_entities(name) : std::string(name);
  const std::string rest(attributes);
  key_ = copy;
  types_ = types_of_key(rest);
  return true;
}

void XmlParameters::begin_value(std::string_view closer) {
  if (!read_key(closer)) return;
  out_ += has_parameters_ ? ", " : "{";
  has_parameters_ = true;
  append_json_string(key_, out_);
  out_ += ": ";
  if (schema_ != nullptr) given_.insert(key_);
  value_.begin(types_, out_);
  enter(State::value);
}

void XmlParameters::value_text(std::string_view text) {
  if (has_failed()) {
    unread_ += text;
  } else {
    value_.put(text, out_);
    check_value();
  }
}

void XmlParameters::end_value() {
  value_.end(out_);
  check_value();
}

void XmlParameters::check_value() {
  if (*value_.problem() != '\0') fail(value_.problem(), value_.unread());
}

void XmlParameters::end(CallSink& sink) {
  cut_off();
  if (state_ == State::value) value_.end_word(out_);
  if (!out_.empty()) sink.put_arguments(out_);
}

// What was held is the value's.
void XmlParameters::cut_off() {
  out_.clear();
  if (state_ == State::next_key) take_tag_as_text(cursor_.held());
  if (state_ == State::maybe_end) {
    end_value();
    if (closed_section_) out_ += '}';
  } else if (state_ == State::value) {
    if (value_.is_string()) {  // elsewhere it can only be the beginning of a tag
      cursor_.flush([&](std::string_view text) { value_text(text); });
    }
    value_.cut_off(out_);
  }
}

void XmlParameters::complete(CallSink& sink) {
  cut_off();
  if (!out_.empty()) sink.put_arguments(out_);
  out_.clear();
  if (state_ == State::json && !scanner_.close(out_)) return;
  if (state_ == State::value && !value_.close(out_)) return;
  repairs_ |= kClosed;
  if (!has_json_) out_ += has_parameters_ ? "}" : "{}";
  sink.put_arguments(out_);
  sink.end_call();
}

std::size_t XmlParameters::undecided_bytes() const {
  return tail_.size() + (state_ == State::done ? 0 : cursor_.held().size()) +
         (state_ == State::key ? key_.size() : 0) + value_.undecided_bytes();
}

void XmlParameters::add_held(Held& out) const {
  value_.add_held(out);
  if (state_ == State::key) out.add(HeldReason::key, key_);
  out.add(HeldReason::closing_tag, tail_);
  if (state_ != State::done && state_ != State::json) out.add(cursor_);
}

}  // namespace unspool
