// The body of a call whose name is outside of it: one object, or a string that contains one.
#pragma once

#include <string>

#include "body/body.h"
#include "body/json_in_string.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"

namespace unspool {

class Arguments final : public Body {
 public:
  /// JSON or almost-JSON.
  explicit Arguments(const BodyOptions& options)
      : is_json_(true), reader_(options.repairs ? kNearlyJson : kJson) {
    link(options.marks);
  }

  /// An object in its own dialect, such as {city:<|"|>Paris<|"|>,days:3}.
  Arguments(const MarkerSet& quotes, const BodyOptions& options)
      : is_json_(false),
        mends_(options.repairs),
        reader_(options.repairs ? kNearlyBare : kBareText, quotes, options.schema) {
    link(options.marks);
  }

  std::unique_ptr<Body> clone() const override { return std::make_unique<Arguments>(*this); }
  void link(CallMarks* marks) override;
  BodyResult put(std::string_view text, CallSink& sink) override;
  BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) override;
  void end(CallSink& sink) override;
  bool may_end_here(CallSink& sink) override;
  void complete(CallSink& sink) override;
  std::uint16_t repairs() const override;
  const char* problem() const override;
  std::size_t undecided_bytes() const override {
    return reader_.unwritten().size() + reader_.delimiter().size() + inner_.escape_bytes();
  }
  BodyRest rest() const override {
    const bool is_in_text = is_json_ && !is_encoded_ && !is_call_ && reader_.in_text();
    return {is_in_text ? kCutsJson : kAllClasses};
  }
  void add_held(Held& out) const override { reader_.add_held(out); }

  void visit(Archive& archive) override;

 private:
  BodyResult read(std::string_view text, CallSink& sink);
  BodyResult read_call(std::string_view text, CallSink& sink);
  BodyResult read_encoded(std::string_view text, CallSink& sink);
  BodyResult finish_put(const ScanResult& result, CallSink& sink);
  void mark(CallMark::Kind kind, std::size_t at);

  bool is_json_;
  bool mends_ = false;
  bool is_call_ = false;  // (city=..) instead of {city:..}
  bool is_encoded_ = false;
  ValueReader reader_;
  LocalPtr<CallMarks> marks_;
  ClonedPtr<ValueMarks> members_;  // the members of the object
  std::size_t offset_ = 0;         // of its text in the text of this put
  JsonInString inner_;
  std::string out_;
  std::uint16_t repairs_ = 0;
};

}  // namespace unspool
