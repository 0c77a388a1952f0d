#include "body/pythonic.h"

#include "body/names.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// Names of tools may have dots and hyphens, which Python's have not.
bool continues_tool(char byte) { return continues_name(byte) || byte == '.' || byte == '-'; }

}  // namespace

BodyResult Pythonic::put(std::string_view text, CallSink& sink) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (state_ == State::value) {
      const ScanResult result = reader_.put(text.substr(i), out_);
      sink.put_written(out_);
      i += result.consumed;
      // The value goes on in the next text.
      if (result.status == ScanStatus::more) break;
      at_ = i;
      if (result.status == ScanStatus::failed) {
        problem_ = "an argument's value is not a Python literal";
        return {i, ScanStatus::failed, {}, false, unread()};
      }
      end_value();
      continue;
    }
    at_ = i - rest_.size();
    const Step result = step(rest_.empty() ? text[i] : rest_.front(), sink);
    if (result == Step::again) continue;
    if (result == Step::failed) return {i, ScanStatus::failed, {}, false, unread()};
    if (rest_.empty()) {
      ++i;
    } else {
      rest_.erase(0, 1);
    }
    // The owner learns of each end, since another call of the list is another call of the answer.
    if (result == Step::call_ended) return {i, in_list_ ? ScanStatus::more : ScanStatus::done};
    if (result == Step::done) return {i, ScanStatus::done};
  }
  return {text.size(), ScanStatus::more};
}

BodyResult Pythonic::put_token(Symbol, std::string_view literal, CallSink& sink) {
  // Within a string, even a marker's token is the model's text.
  if (state_ == State::value && reader_.in_string()) return put(literal, sink);
  problem_ = "a marker stands inside the call";
  return {0, ScanStatus::failed};
}

Pythonic::Step Pythonic::fail(const char* problem) {
  problem_ = problem;
  return Step::failed;
}

// White space is significant inside a name, and is an error between a name and its bracket.
bool Pythonic::skips_space() const {
  return state_ != State::name && state_ != State::after_name && state_ != State::key &&
         state_ != State::equals;
}

Pythonic::Step Pythonic::step(char byte, CallSink& sink) {
  if (is_space(byte) && skips_space()) return Step::next;
  switch (state_) {
    case State::start:
    case State::element: return begin_element(byte);
    case State::name: return read_name(byte, name_, State::after_name);
    case State::after_name: return open_arguments(byte, sink);
    case State::key_or_end: return begin_key(byte, sink);
    case State::key: return read_name(byte, key_, State::equals);
    case State::equals: return begin_value(byte, sink);
    case State::after_value: return after_value(byte, sink);
    case State::after_call: return after_call(byte, sink);
    case State::value: break;
  }
  return Step::failed;
}

// The list's brackets, or a call.
Pythonic::Step Pythonic::begin_element(char byte) {
  if (byte == '[' && state_ == State::start) {
    in_list_ = true;
    state_ = State::element;
    return Step::next;
  }
  if (byte == ']' && in_list_) {
    // `[]` in content is a list; after a marker it is an empty list of calls.
    return is_tentative_ && name_.empty() ? fail("the list has no calls") : Step::done;
  }
  if (!begins_name(byte)) return fail("a call does not begin with a name");
  name_.clear();
  repairs_ = 0;
  is_announced_ = has_arguments_ = false;
  mark(CallMark::Kind::name);
  state_ = State::name;
  return Step::again;
}

Pythonic::Step Pythonic::read_name(char byte, std::string& name, State after) {
  if (!continues_tool(byte)) {
    if (after == State::after_name) mark(CallMark::Kind::name_end);
    state_ = after;
    return Step::again;
  }
  // The name is held until its bracket, so its length is bounded.
  if (name.size() >= kMaxNameBytes && !is_utf8_continuation(byte)) {
    return fail("a name is longer than 1,024 bytes");
  }
  name += byte;
  return Step::next;
}

Pythonic::Step Pythonic::open_arguments(char byte, CallSink& sink) {
  if (byte != '(') return fail("a name is not followed by a bracket");
  // If not even a bracket precedes the name, an argument must follow it.
  // `[f(` with tools known: the name decides. Else the first argument's `=` does.
  const bool is_certain = !is_tentative_ || (in_list_ && sink.knows_tools());
  if (is_certain && !announce(sink)) return Step::failed;
  state_ = State::key_or_end;
  return Step::next;
}

Pythonic::Step Pythonic::begin_key(char byte, CallSink& sink) {
  if (byte == ')') return end_call(sink);
  // Positional arguments have no name in a JSON object.
  if (!begins_name(byte)) return fail("an argument has no name");
  mark(CallMark::Kind::arguments);
  key_.clear();
  state_ = State::key;
  return Step::again;
}

Pythonic::Step Pythonic::begin_value(char byte, CallSink& sink) {
  if (is_space(byte)) {
    // Kept: if the call fails here, its text is reported as written.
    key_ += byte;
    return Step::next;
  }
  if (byte != '=') return fail("an argument has no name");
  if (!is_announced_ && !announce(sink)) return Step::failed;
  // At the equals sign, when the key is whole.
  begin_member(trim(key_), !has_arguments_, out_);
  sink.put_written(out_);
  has_arguments_ = true;
  if (marks_ != nullptr) {
    marks_->add_parameter(trim(key_), ValueTrim::none, static_cast<std::int64_t>(at_) + 1);
  }
  reader_.reset();
  reader_.set_in_list(in_list_);
  state_ = State::value;
  return Step::next;
}

void Pythonic::end_value() {
  rest_ = reader_.take_rest();
  at_ -= rest_.size();
  mark(CallMark::Kind::parameter_end);
  repairs_ |= reader_.repairs() & kRawString;
  state_ = State::after_value;
}

Pythonic::Step Pythonic::after_value(char byte, CallSink& sink) {
  if (byte == ')') return end_call(sink);
  if (byte != ',') return fail("an argument is not followed by a comma");
  state_ = State::key_or_end;
  return Step::next;
}

// In a list, the byte after a call makes its end certain.
Pythonic::Step Pythonic::after_call(char byte, CallSink& sink) {
  if (byte != ']' && byte != ',' && byte != ';') return fail("a call is not followed by a comma");
  close_call(sink);
  state_ = State::element;
  return byte == ']' ? Step::done : Step::call_ended;
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
  mark(CallMark::Kind::arguments_end);
  if (!is_announced_ && !announce(sink)) return Step::failed;
  // Text such as `[f(a=1) and more]` is no list of calls, and shows it only after the bracket.
  state_ = State::after_call;
  if (in_list_) return Step::next;
  close_call(sink);
  return Step::call_ended;
}

void Pythonic::close_call(CallSink& sink) {
  sink.put_arguments(arguments_end());
  sink.end_call();
  is_announced_ = false;
}

bool Pythonic::may_end_here(CallSink& sink) {
  // `[f(a=1)` may end here; so may `[f(a=1),`, whose call has ended already.
  if (state_ != State::after_call || !is_announced_) return state_ == State::element;
  sink.put_arguments(arguments_end());
  return true;
}

void Pythonic::end(CallSink& sink) {
  if (state_ != State::value) return;
  reader_.end(out_);
  sink.put_written(out_);
}

void Pythonic::complete(CallSink& sink) {
  if (state_ == State::value) reader_.close(out_);
  out_ += arguments_end();
  repairs_ |= kClosed;
  sink.put_written(out_);
  sink.end_call();
}

// A tool's name with its bracket.
std::size_t Pythonic::find_next(std::string_view text, const ToolSchemas* tools) const {
  if (!in_list_) return kNoCall;
  const std::size_t begin = text.find_first_not_of(kBetweenCalls);
  if (begin == std::string_view::npos) return text.size();
  if (!begins_name(text[begin])) return kNoCall;
  std::size_t end = begin;
  while (end < text.size() && continues_tool(text[end])) ++end;
  if (end == text.size()) return end;
  const bool is_tools = tools == nullptr || tools->find(text.substr(begin, end - begin)) != nullptr;
  return text[end] == '(' && is_tools ? begin : kNoCall;
}

}  // namespace unspool
