// The body of a call whose name stands outside: one object in a dialect of its own, such as
// {city:<|"|>Paris<|"|>,days:3}.
#pragma once

#include <string>

#include "body/body.h"
#include "body/value_reader.h"

namespace unspool {

class LiteralArguments final : public Body {
 public:
  LiteralArguments(const MarkerSet& quotes, const ToolSchema* schema, bool repairs)
      : mends_(repairs), reader_(repairs ? kNearlyBare : kBareText, quotes, schema) {}

  BodyResult put(std::string_view text, CallSink& sink) override;
  BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) override;
  void end(CallSink& sink) override;
  bool may_end_here(CallSink& sink) override;
  void complete(CallSink& sink) override;
  std::uint16_t repairs() const override {
    return repairs_ | (reader_.repairs() & (kSingleQuotes | kMissingQuote));
  }
  const char* problem() const override { return "the arguments are not a whole object"; }
  std::size_t undecided_bytes() const override {
    return reader_.unwritten().size() + reader_.delimiter().size();
  }
  void add_held(Held& out) const override { reader_.add_held(out); }

 private:
  BodyResult finish_put(const ScanResult& result, std::size_t begin, CallSink& sink);

  BodyResult put_call(std::string_view text, std::size_t begin, CallSink& sink);

  bool mends_;
  bool is_call_ = false;  // (city=..) in place of {city:..}
  ValueReader reader_;
  std::string out_;
  std::uint16_t repairs_ = 0;
};

}  // namespace unspool
