// The body of a call whose name is outside of it: one object, or a string that contains one.
#pragma once

#include <string>

#include "body/body.h"
#include "body/json_in_string.h"
#include "text/archive.h"
#include "text/cloned_ptr.h"
#include "text/letters.h"

namespace unspool {

class Arguments final : public Body {
 public:
  /// JSON or almost-JSON.
  explicit Arguments(const BodyOptions& options)
      : is_json_(true), reader_(options.repairs ? kNearlyJson : kJson) {
    link(options.marks);
  }

  /// An object in its own dialect, such as {city:<|"|>Paris<|"|>,days:3}.
  Arguments(const CallMarkers& markers, const BodyOptions& options)
      : is_json_(false),
        mends_(options.repairs),
        max_held_(options.max_held),
        tries_(options.tries),
        reader_(options.repairs ? kNearlyBare : kBareText, markers.quote, options.schema) {
    reader_.follow_calls(markers.quoted, tries_ > 0);
    link(options.marks);
  }

  std::unique_ptr<Body> clone() const override { return std::make_unique<Arguments>(*this); }
  void link(CallMarks* marks) override;
  BodyResult put(std::string_view text, CallSink& sink) override;
  BodyResult put_token(Symbol symbol, std::string_view literal, CallSink& sink) override;
  bool is_undecided() const override { return !held_.is_empty(); }
  BodyResult decide(bool is_restart, CallSink& sink) override;
  std::uint8_t tries() const override { return tries_; }
  void end(CallSink& sink) override;
  bool may_end_here(CallSink& sink) override;
  void complete(CallSink& sink) override;
  std::uint16_t repairs() const override;
  const char* problem() const override;
  std::size_t undecided_bytes() const override {
    return held_.size() + reader_.unwritten().size() + reader_.delimiter().size() +
           inner_.escape_bytes();
  }
  BodyRest rest() const override {
    const bool is_in_text = is_json_ && !is_encoded_ && !is_call_ && reader_.in_text();
    return {is_in_text ? kCutsJson : kAllClasses};
  }
  void add_held(Held& out) const override {
    reader_.add_held(out);
    out.add(HeldReason::value, held_.text());
  }

  void visit(Archive& archive) override;

 private:
  BodyResult read(const Letter& run, CallSink& sink);
  ScanResult read_some(const Letter& run);
  ScanResult read_held(const Letter& run);
  ScanResult end_held(std::size_t quoted);
  ScanResult give_up_held();
  ScanResult read_again(const Letters& held, std::size_t from);
  BodyResult read_call(std::string_view text, CallSink& sink);
  BodyResult read_encoded(std::string_view text, CallSink& sink);
  BodyResult finish_put(const ScanResult& result, CallSink& sink);
  void mark(CallMark::Kind kind, std::size_t at);

  static constexpr std::size_t kOpen = std::string::npos;

  bool is_json_;
  bool mends_ = false;
  std::size_t max_held_ = 0;
  std::uint8_t tries_ = kMaxTries;
  bool is_call_ = false;  // (city=..) instead of {city:..}
  bool is_encoded_ = false;
  ValueReader reader_;
  LocalPtr<CallMarks> marks_;
  ClonedPtr<ValueMarks> members_;  // the members of the object
  std::size_t offset_ = 0;         // of its text in the text of this put
  std::int64_t read_ = 0;          // of this put; negative while held text is read again
  Letters held_;                   // from a quote on that may be a part of a quoted call
  std::size_t quote_size_ = 0;     // of that quote
  std::size_t closed_at_ = kOpen;  // the last quote in it, outside of a call and before white space
  std::size_t likely_end_ = kOpen;  // the first one that ends the string, but not its own calls'
  bool is_paired_ = true;           // the quotes before the last one
  Letters unread_;
  JsonInString inner_;
  std::string out_;
  std::uint16_t repairs_ = 0;
};

}  // namespace unspool
