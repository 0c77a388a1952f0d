#include "body/json_call.h"

#include <algorithm>

#include "text/json_escape.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// Longer names and keys are no names; it bounds what one stream holds.
constexpr std::size_t kMaxNameBytes = 1024;

// More text between a name and the arguments is not kept.
constexpr std::size_t kMaxUnreadBytes = 1 << 16;

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

BodyResult JsonCall::put(std::string_view text, CallSink& sink) {
  unread_from_ = 0;
  BodyResult result = read(text, sink);
  if (keeps_unread_) unread_.append(text, unread_from_, result.consumed - unread_from_);
  if (unread_.size() > kMaxUnreadBytes) keeps_unread_ = false;
  if (!keeps_unread_) unread_.clear();
  if (result.status == ScanStatus::failed) result.unread = unread_;
  return result;
}

// From `from` on the text may be lost: a call's arguments may not stand where they belong.
void JsonCall::keep_unread(std::size_t from) {
  keeps_unread_ = true;
  unread_from_ = from;
  unread_.clear();
}

BodyResult JsonCall::read(std::string_view text, CallSink& sink) {
  std::size_t i = 0;
  const auto fail_here = [&] { return BodyResult{i, ScanStatus::failed}; };
  while (i < text.size()) {
    const std::string_view rest = text.substr(i);
    bool is_end = false;
    problem_ = "";
    switch (state_) {
      case State::key_string:
        i += put_string(rest, key_, is_end);
        if (is_end) state_ = State::colon;
        break;
      case State::name_string:
        i += put_string(rest, name_, is_end);
        if (!is_end) break;
        if (name_.empty()) {
          problem_ = "the tool's name is empty";
          --i;
          break;
        }
        has_name_ = true;
        name_depth_ = depth_;
        state_ = State::after_value;
        if (is_tentative_ && !has_arguments_) break;
        if (!announce(sink)) {
          --i;
        } else if (!has_arguments_) {
          keep_unread(i);
        }
        break;
      case State::id_string:
        i += put_string(rest, id_, is_end);
        if (is_end) state_ = State::after_value;
        break;
      case State::arguments_string: i += put_arguments_string(rest, sink); break;
      case State::arguments_object:
      case State::arguments_null:
      case State::flat_value:
      case State::skipped_value: i += put_scanned(rest, sink); break;
      default:
        switch (step(text[i], sink)) {
          case Step::next: ++i; break;
          case Step::call_ended: return {i + 1, ScanStatus::more};
          case Step::again: break;
          case Step::failed: return fail_here();
          case Step::done: return {i + 1, ScanStatus::done};
        }
    }
    if (*problem_ != '\0') return fail_here();
  }
  return {i, ScanStatus::more};
}

// Reads a string's inside into `into`; sets problem_ where it cannot be.
std::size_t JsonCall::put_string(std::string_view text, std::string& into, bool& is_end) {
  std::size_t i = 0;
  while (i < text.size() && !is_end) {
    const JsonStringDecoder::Piece piece = decoder_.next(text.substr(i));
    i += piece.consumed;
    if (piece.is_invalid) {
      problem_ = "an escape in a string is not JSON";
      return i;
    }
    is_end = piece.is_end;
    std::size_t room = kMaxNameBytes - std::min(into.size(), kMaxNameBytes);
    while (room < piece.decoded.size() && is_utf8_continuation(piece.decoded[room])) ++room;
    if (piece.decoded.size() > room) {
      problem_ = "a name or key is longer than 1,024 bytes";
      return i - std::min(piece.consumed, piece.decoded.size() - room);
    }
    into += piece.decoded;
  }
  return i;
}

std::size_t JsonCall::put_arguments_string(std::string_view text, CallSink& sink) {
  out_.clear();
  const JsonInString::Result result = inner_.put(text, out_);
  problem_ = result.problem;
  say_arguments(out_, sink);
  if (result.is_end) {
    arguments_done_ = true;
    state_ = State::after_value;
  }
  return result.consumed;
}

// Reads a value that the scanner understands.
std::size_t JsonCall::put_scanned(std::string_view text, CallSink& sink) {
  out_.clear();
  const bool is_said = state_ == State::arguments_object || state_ == State::flat_value;
  const ScanResult result = is_said ? reader_.put(text, out_) : reader_.check(text);
  say_arguments(out_, sink);
  if (result.status == ScanStatus::failed) problem_ = "the call is not valid JSON";
  if (result.status == ScanStatus::done) {
    if (state_ == State::arguments_null) say_arguments("{}", sink);
    if (state_ == State::arguments_object || state_ == State::arguments_null) {
      arguments_done_ = true;
    }
    state_ = State::after_value;
  }
  return result.consumed;
}

JsonCall::Step JsonCall::fail(const char* problem) {
  problem_ = problem;
  return Step::failed;
}

JsonCall::Step JsonCall::begin_object() {
  has_name_ = has_arguments_ = arguments_done_ = is_announced_ = is_flat_ = false;
  keeps_unread_ = false;
  other_depths_ = name_depth_ = 0;
  name_.clear();
  id_.clear();
  held_arguments_.clear();
  depth_ = 1;
  state_ = State::first_key;
  return Step::next;
}

JsonCall::Step JsonCall::step(char byte, CallSink& sink) {
  if (is_space(byte)) return Step::next;
  switch (state_) {
    case State::start:
      if (byte == '{') return begin_object();
      if (byte != '[') return fail("the call is not a JSON object");
      in_array_ = true;
      state_ = State::first_element;
      return Step::next;
    case State::first_element:
    case State::element:
      if (byte == '{') return begin_object();
      if (byte != ']' || state_ == State::element)
        return fail("a call in the list is not a JSON object");
      return is_tentative_ ? fail("the list has no calls") : Step::done;
    case State::after_element:
      if (byte == ']') return Step::done;
      if (byte != ',') return fail("the list of calls is not valid JSON");
      state_ = State::element;
      return Step::next;
    case State::first_key:
    case State::key:
      if (byte == '}' && state_ == State::first_key) return end_object(sink);
      if (byte != '"') return fail("the call is not valid JSON");
      key_.clear();
      decoder_.reset();
      state_ = State::key_string;
      return Step::next;
    case State::colon:
      if (byte != ':') return fail("the call is not valid JSON");
      key_kind_ = classify_key();
      // Nothing marks a bare object as a call but its keys.
      if (is_tentative_ && key_kind_ == Key::other && !has_name_ && !has_arguments_ &&
          key_ != "type") {
        return fail("the object is not a call");
      }
      if (key_kind_ == Key::other && has_name_ && depth_ == name_depth_ && !begin_flat(sink)) {
        return Step::failed;
      }
      state_ = State::value;
      return Step::next;
    case State::value: return begin_value(byte, sink);
    case State::after_value:
      if (byte == '}') return end_object(sink);
      if (byte != ',') return fail("the call is not valid JSON");
      state_ = State::key;
      return spec_.name_is_key && has_name_ ? end_member(sink) : Step::next;
    default: return Step::failed;
  }
}

JsonCall::Key JsonCall::classify_key() {
  if (spec_.name_is_key && !has_name_) {
    name_ = key_;
    has_name_ = !name_.empty();
    return Key::arguments;
  }
  if (contains(spec_.name_keys, key_)) return Key::name;
  if (contains(spec_.arguments_keys, key_)) return Key::arguments;
  if (contains(spec_.id_keys, key_)) return Key::id;
  if (contains(spec_.wrapper_keys, key_)) return Key::wrapper;
  return Key::other;
}

JsonCall::Step JsonCall::begin_value(char byte, CallSink& sink) {
  reader_.reset();
  decoder_.reset();
  inner_.reset();
  const bool is_name = key_kind_ == Key::name || (key_kind_ == Key::wrapper && byte == '"');
  if (is_name && !has_name_) {
    if (byte != '"') return fail("the tool's name is not a string");
    state_ = State::name_string;
    return Step::next;
  }
  if (key_kind_ == Key::wrapper && byte == '{' && depth_ == 1) {
    depth_ = 2;
    state_ = State::first_key;
    return Step::next;
  }
  if (key_kind_ == Key::arguments) {
    if (has_arguments_) return fail("the arguments are written twice");
    if (byte != '{' && byte != '"' && byte != 'n')
      return fail("the arguments are not a JSON object");
    has_arguments_ = true;
    keeps_unread_ = false;
    if (has_name_ && !is_announced_ && !announce(sink)) return Step::failed;
    if (byte == '"') {
      state_ = State::arguments_string;
      return Step::next;
    }
    state_ = byte == '{' ? State::arguments_object : State::arguments_null;
    return Step::again;
  }
  if (key_kind_ == Key::id && byte == '"' && id_.empty()) {
    state_ = State::id_string;
    return Step::next;
  }
  if (key_kind_ == Key::flat) {
    state_ = State::flat_value;
    return Step::again;
  }
  if (key_kind_ == Key::other && key_ != "type") {
    other_depths_ |= static_cast<std::uint8_t>(1U << depth_);
  }
  state_ = State::skipped_value;
  return Step::again;
}

// Models write arguments beside the name. They count where the tool's schema knows them; once one
// has counted, all must. False: the call cannot be what was meant.
bool JsonCall::begin_flat(CallSink& sink) {
  if (key_ == "type" || (has_arguments_ && !is_flat_)) return true;
  const ToolSchema* schema = sink.knows_tools() ? sink.tools()->find(name_) : nullptr;
  const bool is_known = schema != nullptr && schema->find(key_) != nullptr;
  if (!is_known && !is_flat_) return true;
  if (!is_known || (other_depths_ & 1U << depth_) != 0) {
    problem_ = "what stands beside the name is not an argument of the tool";
    return false;
  }
  if (!is_announced_ && !announce(sink)) return false;
  keeps_unread_ = false;
  std::string member = is_flat_ ? ", " : "{";
  append_json_string(key_, member);
  member += ": ";
  say_arguments(member, sink);
  is_flat_ = has_arguments_ = true;
  key_kind_ = Key::flat;
  return true;
}

// Where the key is the name, every member is a call.
JsonCall::Step JsonCall::end_member(CallSink& sink) {
  if (!is_announced_ && !announce(sink)) return Step::failed;
  if (!has_arguments_) say_arguments("{}", sink);
  sink.end_call();
  has_calls_ = true;
  begin_object();
  state_ = State::key;
  return Step::call_ended;
}

JsonCall::Step JsonCall::end_object(CallSink& sink) {
  if (depth_ == 2) {
    depth_ = 1;
    state_ = State::after_value;
    return Step::next;
  }
  if (!has_name_) return fail("the call has no name");
  if (is_tentative_ && !has_arguments_ && !sink.knows_tools())
    return fail("the object is not a call");
  if (!has_arguments_ && (other_depths_ & 1U << name_depth_) != 0) {
    return fail("the call's arguments are not where they belong");
  }
  if (!is_announced_ && !announce(sink)) return Step::failed;
  if (!has_arguments_) say_arguments("{}", sink);
  if (is_flat_) say_arguments("}", sink);
  sink.end_call();
  keeps_unread_ = false;
  has_calls_ = true;
  state_ = State::after_element;
  depth_ = 0;
  return in_array_ ? Step::call_ended : Step::done;
}

bool JsonCall::announce(CallSink& sink) {
  if (!sink.begin_call(name_, id_)) {
    problem_ = "the tool is not one of the request's";
    return false;
  }
  is_announced_ = true;
  if (!held_arguments_.empty()) sink.put_arguments(held_arguments_);
  held_arguments_.clear();
  return true;
}

void JsonCall::say_arguments(std::string_view text, CallSink& sink) {
  if (text.empty()) return;
  if (is_announced_) {
    sink.put_arguments(text);
  } else {
    held_arguments_ += text;
  }
}

BodyResult JsonCall::put_token(Symbol, std::string_view literal, CallSink& sink) {
  if (in_string()) return put(literal, sink);
  problem_ = "a marker stands inside the call's JSON";
  return {0, ScanStatus::failed};
}

bool JsonCall::in_string() const {
  switch (state_) {
    case State::key_string:
    case State::name_string:
    case State::id_string:
    case State::arguments_string: return true;
    case State::arguments_object:
    case State::flat_value:
    case State::skipped_value: return reader_.in_string();
    default: return false;
  }
}

bool JsonCall::may_end_here(CallSink&) {
  if (is_announced_ && arguments_done_ && depth_ > 0 && state_ == State::after_value) return true;
  return state_ == State::after_element && has_calls_;  // a list without its bracket
}

}  // namespace unspool
