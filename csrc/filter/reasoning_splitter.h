// Separates the reasoning of an output and passes everything else on, including markup, to a parser
// that reads text: a host may have two parsers, with text between them.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "filter/parser_filter.h"
#include "text/archive.h"

namespace unspool {

/// Emits `reasoning`, `content` and `finish`. Drops the reasoning's own markup, and markup before
/// it that follows nothing but reasoning, such as an author's. Calls, their markup and malformed
/// text are content, byte for byte. Calls are still parsed, so that a marker inside a call does not
/// count, and a call that ends the reasoning is recognized. The parser before it must audit.
class ReasoningSplitter final : public ParserFilter {
 public:
  ReasoningSplitter(std::unique_ptr<EventParser> inner, bool audits)
      : ParserFilter(std::move(inner)), audits_(audits) {}

  std::unique_ptr<EventParser> clone() const override {
    return std::make_unique<ReasoningSplitter>(*this);
  }
  void finish(FinishReason reason, std::uint64_t token_end, Events& out) override;
  Progress progress() const override {
    Progress result = ParserFilter::progress();
    result.calls = 0;
    return result;
  }
  void add_held(Held& out) const override;
  std::string extra() const override { return {}; }

  void visit(Archive& archive) override {
    archive.same("choice of options", kReasoningSplitter, audits_);
    ParserFilter::visit(archive);
    archive(lead_, audit_, has_begun_);
  }

 private:
  void pass(const Events& in, std::uint64_t token_end, Events& out) override;
  void put_lead(std::uint64_t token_end, Events& out);
  void pass_audit(bool in_content, Events& out);

  bool audits_;
  std::string lead_;  // markup that may introduce the answer or another block of reasoning
  std::deque<Events::Audited> audit_;  // of that markup
  bool has_begun_ = false;             // text or a call has come since the reasoning
};

}  // namespace unspool
