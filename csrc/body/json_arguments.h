// The body of a call whose name stands outside: one JSON object.
#pragma once

#include <string>

#include "body/body.h"

namespace unspool {

class JsonArguments final : public Body {
 public:
  BodyResult put(std::string_view text, CallSink& sink) override;
  BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) override;
  void end(CallSink&) override {}
  bool may_end_here(CallSink& sink) override;
  const char* problem() const override;
  std::size_t held_bytes() const override { return 0; }

 private:
  JsonScanner scanner_;
  bool has_begun_ = false;
  std::string out_;
};

}  // namespace unspool
