// A body of JSON with the slips mended that models make: what comes in is read as almost-JSON and
// handed on as JSON.
#pragma once

#include <memory>
#include <string>

#include "body/body.h"
#include "body/value_reader.h"

namespace unspool {

class Repaired final : public Body, private CallSink, private ValueListener {
 public:
  /// `dialect`: how the format itself writes. What Python has besides JSON is no slip in kPython.
  explicit Repaired(std::unique_ptr<Body> body, const Dialect& dialect = kNearlyJson)
      : body_(std::move(body)), is_python_(dialect.rules.python), reader_(dialect) {
    reader_.set_listener(this);
  }

  BodyResult put(std::string_view text, CallSink& sink) override;
  BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) override;
  void end(CallSink& sink) override { body_->end(relay_to(sink)); }
  bool may_end_here(CallSink& sink) override;
  void complete(CallSink& sink) override;
  std::uint16_t repairs() const override {
    constexpr unsigned kOfPython = kSingleQuotes | kPythonLiteral | kTrailingComma;
    const unsigned repairs = reader_.repairs() | repairs_;
    return static_cast<std::uint16_t>(is_python_ ? repairs & ~kOfPython : repairs);
  }
  const char* problem() const override {
    return *body_->problem() != '\0' ? body_->problem() : "the call cannot be mended";
  }
  std::size_t undecided_bytes() const override { return unread_.size(); }
  void add_held(Held& out) const override {
    body_->add_held(out);
    reader_.add_held(out);
  }

 private:
  // CallSink, between the body and its owner
  bool begin_call(std::string_view name, std::string_view id) override {
    return is_announced_ = sink_->begin_call(name, id);
  }
  void put_arguments(std::string_view fragment) override { sink_->put_arguments(fragment); }
  void end_call() override {
    is_announced_ = false;
    has_ended_ = true;
    sink_->end_call();
  }
  const ToolSchemas* tools() const override { return sink_->tools(); }

  // ValueListener: a byte that has only shown what stands before it is left until that is passed
  // on.
  Answer on_value_end(std::size_t, std::size_t) override { return Answer::stop; }
  Answer on_key_end(std::size_t, std::size_t) override { return Answer::stop; }
  Answer on_comma(std::size_t, std::size_t) override { return Answer::stop; }

  CallSink& relay_to(CallSink& sink) {
    sink_ = &sink;
    return *this;
  }
  BodyResult pass_on(CallSink& sink);
  void keep_unread(std::string_view text);

  std::unique_ptr<Body> body_;
  bool is_python_;
  CallSink* sink_ = nullptr;  // of the call at hand
  bool is_announced_ = false;
  bool has_ended_ = false;  // a call, with the byte at hand
  std::uint16_t repairs_ = 0;
  std::string unread_;  // the end of an announced call's text, until it is certain
  ValueReader reader_;
  std::string json_;
};

}  // namespace unspool
