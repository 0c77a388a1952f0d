// A body of JSON with the slips mended that models make: what comes in is read as almost-JSON and
// handed on as JSON.
#pragma once

#include <memory>
#include <string>

#include "body/body.h"
#include "body/literal_scanner.h"

namespace unspool {

class Repaired final : public Body {
 public:
  explicit Repaired(std::unique_ptr<Body> body)
      : body_(std::move(body)), scanner_(LiteralStyle::json) {}

  BodyResult put(std::string_view text, CallSink& sink) override;
  BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) override;
  void end(CallSink& sink) override { body_->end(sink); }
  bool may_end_here(CallSink& sink) override { return body_->may_end_here(sink); }
  void complete(CallSink& sink) override;
  std::uint16_t repairs() const override { return scanner_.repairs(); }
  const char* problem() const override {
    return *body_->problem() != '\0' ? body_->problem() : "the call cannot be mended";
  }
  void add_held(Held& out) const override {
    body_->add_held(out);
    scanner_.add_held(out);
  }

 private:
  BodyResult pass_on(CallSink& sink);

  std::unique_ptr<Body> body_;
  LiteralScanner scanner_;
  std::string json_;
};

}  // namespace unspool
