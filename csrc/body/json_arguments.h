// The body of a call whose name stands outside: one JSON object, or a string that holds one.
#pragma once

#include <string>

#include "body/body.h"
#include "body/json_in_string.h"

namespace unspool {

class JsonArguments final : public Body {
 public:
  BodyResult put(std::string_view text, CallSink& sink) override;
  BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) override;
  void end(CallSink&) override {}
  bool may_end_here(CallSink& sink) override;
  const char* problem() const override;

 private:
  BodyResult put_string(std::string_view text, std::size_t begin, CallSink& sink);

  ValueReader reader_;
  JsonInString inner_;
  bool has_begun_ = false;
  bool in_string_ = false;
  std::string out_;
};

}  // namespace unspool
