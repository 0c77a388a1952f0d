#include "body/pythonic.h"

#include "text/json_escape.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

constexpr std::size_t kMaxNameBytes = 1024;

bool continues_name(char byte) {
  return begins_python_name(byte) || (byte >= '0' && byte <= '9') || byte == '.' || byte == '-';
}

}  // namespace

bool begins_python_name(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
         static_cast<unsigned char>(byte) >= 0x80;
}

BodyResult Pythonic::put(std::string_view text, CallSink& sink) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (state_ == State::value) {
      out_.clear();
      const ScanResult result = reader_.put(text.substr(i), out_);
      say(out_, sink);
      i += result.consumed;
      if (result.status == ScanStatus::more) break;
      if (result.status == ScanStatus::failed) {
        problem_ = "an argument's value is not a Python literal";
        return {i, ScanStatus::failed, {}, false, unread()};
      }
      state_ = State::after_value;
      continue;
    }
    switch (step(text[i], sink)) {
      case Step::next: ++i; break;
      case Step::again: break;
      case Step::call_ended: return {i + 1, in_list_ ? ScanStatus::more : ScanStatus::done};
      case Step::failed: return {i, ScanStatus::failed, {}, false, unread()};
      case Step::done: return {i + 1, ScanStatus::done};
    }
  }
  return {text.size(), ScanStatus::more};
}

BodyResult Pythonic::put_token(Symbol, std::string_view literal, CallSink& sink) {
  if (state_ == State::value && reader_.in_string()) return put(literal, sink);
  problem_ = "a marker stands inside the call";
  return {0, ScanStatus::failed};
}

Pythonic::Step Pythonic::fail(const char* problem) {
  problem_ = problem;
  return Step::failed;
}

Pythonic::Step Pythonic::step(char byte, CallSink& sink) {
  switch (state_) {
    case State::start:
      if (is_space(byte)) return Step::next;
      if (byte == '[' && !in_list_) {
        in_list_ = true;
        state_ = State::element;
        return Step::next;
      }
      [[fallthrough]];
    case State::element:
      if (is_space(byte)) return Step::next;
      if (byte == ']' && in_list_) {
        return is_tentative_ && name_.empty() ? fail("the list has no calls") : Step::done;
      }
      if (!begins_python_name(byte)) return fail("a call does not begin with a name");
      name_.clear();
      is_announced_ = has_arguments_ = false;
      state_ = State::name;
      return Step::again;
    case State::name:
      if (continues_name(byte)) {
        if (name_.size() >= kMaxNameBytes && !is_utf8_continuation(byte))
          return fail("a name is longer than 1,024 bytes");
        name_ += byte;
        return Step::next;
      }
      state_ = State::after_name;
      return Step::again;
    case State::after_name:
      if (byte != '(') return fail("a name is not followed by a bracket");
      // Where not even a bracket stands before the name, an argument must follow it.
      if ((!is_tentative_ || (in_list_ && sink.knows_tools())) && !announce(sink))
        return Step::failed;
      state_ = State::key_or_end;
      return Step::next;
    case State::key_or_end:
      if (is_space(byte)) return Step::next;
      if (byte == ')') return end_call(sink);
      if (!begins_python_name(byte)) return fail("an argument has no name");
      key_.clear();
      raw_key_.clear();
      state_ = State::key;
      return Step::again;
    case State::key:
      if (continues_name(byte)) {
        if (key_.size() >= kMaxNameBytes && !is_utf8_continuation(byte))
          return fail("a name is longer than 1,024 bytes");
        key_ += byte;
        raw_key_ += byte;
        return Step::next;
      }
      state_ = State::equals;
      return Step::again;
    case State::equals:
      if (is_space(byte)) {
        raw_key_ += byte;
        return Step::next;
      }
      if (byte != '=') return fail("an argument has no name");
      if (!is_announced_ && !announce(sink)) return Step::failed;
      out_ = has_arguments_ ? ", " : "{";
      append_json_string(key_, out_);
      out_ += ": ";
      key_.clear();
      say(out_, sink);
      has_arguments_ = true;
      reader_.reset();
      state_ = State::value;
      return Step::next;
    case State::after_value:
      if (is_space(byte)) return Step::next;
      if (byte == ')') return end_call(sink);
      if (byte != ',') return fail("an argument is not followed by a comma");
      state_ = State::key_or_end;
      return Step::next;
    case State::after_call:
      if (is_space(byte)) return Step::next;
      if (byte != ']' && byte != ',' && byte != ';') {
        return fail("a call is not followed by a comma");
      }
      close_call(sink);
      state_ = State::element;
      return byte == ']' ? Step::done : Step::call_ended;
    case State::value: break;
  }
  return Step::failed;
}

bool Pythonic::announce(CallSink& sink) {
  if (!sink.begin_call(name_, {})) {
    problem_ = "the tool is not one of the request's";
    return false;
  }
  is_announced_ = true;
  return true;
}

Pythonic::Step Pythonic::end_call(CallSink& sink) {
  if (!is_announced_ && !announce(sink)) return Step::failed;
  state_ = State::after_call;
  if (in_list_) return Step::next;
  close_call(sink);
  return Step::call_ended;
}

void Pythonic::close_call(CallSink& sink) {
  say(has_arguments_ ? "}" : "{}", sink);
  sink.end_call();
  is_announced_ = false;
}

bool Pythonic::may_end_here(CallSink& sink) {
  if (state_ != State::after_call || !is_announced_) return state_ == State::element;
  say(has_arguments_ ? "}" : "{}", sink);
  return true;
}

void Pythonic::say(std::string_view text, CallSink& sink) {
  if (!text.empty()) sink.put_arguments(text);
}

void Pythonic::end(CallSink& sink) {
  if (state_ != State::value) return;
  out_.clear();
  reader_.end(out_);
  say(out_, sink);
}

void Pythonic::complete(CallSink& sink) {
  out_.clear();
  if (state_ == State::value) reader_.close(out_);
  out_ += has_arguments_ ? "}" : "{}";
  repairs_ |= kClosed;
  say(out_, sink);
  sink.end_call();
}

}  // namespace unspool
