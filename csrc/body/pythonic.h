// Calls in Python syntax: [get_weather(city="Paris", days=3), now()], or one after the other
// without brackets.
//
//   [get_weather(city="Paris", days=3), now()]
//   ││name       │key │value          └ after_call: the comma makes the end certain
//   └ start
//
// Only values are JSON's business (ValueReader in the dialect kPython); the rest is ten states. The
// call is written as JSON while it is read: `{"city": "Paris", "days": 3}`.
//
// Python's syntax is easily met by chance: `Use print(x) here.` So without a marker a call is
// announced only at its first argument's `=`, at its closing bracket or, in a list, if the tools
// are known.
#pragma once

#include <string>

#include "body/body.h"
#include "body/value_reader.h"
#include "text/archive.h"

namespace unspool {

class Pythonic final : public Body {
 public:
  /// `is_tentative`: no marker identifies a call, so more must be read before it is announced.
  Pythonic(bool is_tentative, const BodyOptions& options)
      : is_tentative_(is_tentative), reader_(kPython), marks_(options.marks) {
    reader_.expect_arguments(!options.repairs);
  }

  std::unique_ptr<Body> clone() const override { return std::make_unique<Pythonic>(*this); }
  void link(CallMarks* marks) override { marks_ = marks; }
  BodyResult put(std::string_view text, CallSink& sink) override;
  BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) override;
  void end(CallSink& sink) override;
  bool may_end_here(CallSink& sink) override;
  void complete(CallSink& sink) override;
  std::uint16_t repairs() const override {
    const std::uint16_t open = state_ == State::value ? reader_.repairs() & kRawString : 0;
    return repairs_ | open;
  }
  const char* problem() const override { return problem_; }
  std::size_t undecided_bytes() const override { return unread().size(); }
  void add_held(Held& out) const override {
    if (state_ == State::value) return reader_.add_held(out);
    out.add(HeldReason::key, unread());
  }

  std::size_t find_next(std::string_view text, const ToolSchemas* tools) const override;

  void visit(Archive& archive) override {
    archive.given(is_tentative_, marks_);
    archive.choice(state_, State::after_call);
    archive(in_list_, is_announced_, has_arguments_, name_, key_, out_, reader_, rest_, at_,
            repairs_);
    archive.literal(problem_);
  }

 private:
  enum class State : std::uint8_t {
    start,        // [ or a name
    element,      // a name, or ]
    name,         // inside a name
    after_name,   // (
    key_or_end,   // an argument's name, or )
    key,          // inside an argument's name
    equals,       // =
    value,        // inside a value
    after_value,  // , or )
    after_call,   // in a list: a comma or ] makes the call's end certain
  };
  enum class Step : std::uint8_t { next, again, call_ended, failed, done };

  Step step(char byte, CallSink& sink);
  bool skips_space() const;
  Step begin_element(char byte);
  Step read_name(char byte, std::string& name, State after);
  Step open_arguments(char byte, CallSink& sink);
  Step begin_key(char byte, CallSink& sink);
  Step begin_value(char byte, CallSink& sink);
  void end_value();
  Step after_value(char byte, CallSink& sink);
  Step after_call(char byte, CallSink& sink);
  Step fail(const char* problem);
  /// Text that was read from an announced call and could not be written.
  std::string_view unread() const {
    if (state_ == State::value) return reader_.unwritten();
    return state_ == State::key || state_ == State::equals ? std::string_view(key_)
                                                           : std::string_view{};
  }
  void mark(CallMark::Kind kind) {
    if (marks_ != nullptr) marks_->add(kind, static_cast<std::int64_t>(at_));
  }
  bool announce(CallSink& sink);
  Step end_call(CallSink& sink);
  void close_call(CallSink& sink);
  std::string_view arguments_end() const { return has_arguments_ ? "}" : "{}"; }

  bool is_tentative_;
  State state_ = State::start;
  bool in_list_ = false;
  bool is_announced_ = false;
  bool has_arguments_ = false;
  std::string name_;
  std::string key_;  // including the white space after it
  std::string out_;
  ValueReader reader_;
  std::string rest_;  // text behind a value, which the reader read to be certain of its end
  LocalPtr<CallMarks> marks_;
  std::size_t at_ = 0;  // the current byte
  std::uint16_t repairs_ = 0;
  const char* problem_ = "";
};

}  // namespace unspool
