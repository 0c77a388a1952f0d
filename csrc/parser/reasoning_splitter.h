// Takes the reasoning out of an output and passes everything else on, markup included, for a parser
// that stands after this one and reads text: a host may have a parser for each, with text between
// them.
#pragma once

#include <memory>
#include <string>

#include "parser/parser_filter.h"
#include "text/archive.h"

namespace unspool {

/// Events are `reasoning`, `content` and `finish`. What belongs to the reasoning's own markup is
/// dropped, as is markup that stands before it and follows nothing but reasoning, such as an
/// author's; calls, their markup and what is malformed are content, byte for byte. Calls are read
/// all the same: a marker inside one is no marker, and one that ends the reasoning is known. The
/// parser before it audits.
class ReasoningSplitter final : public ParserFilter {
 public:
  ReasoningSplitter(std::unique_ptr<EventParser> inner, bool audits)
      : ParserFilter(std::move(inner)), audits_(audits) {}

  std::unique_ptr<EventParser> clone() const override {
    return std::make_unique<ReasoningSplitter>(*this);
  }
  void finish(FinishReason reason, std::uint64_t token_end, Events& out) override;
  std::uint32_t call_count() const override { return 0; }
  void add_held(Held& out) const override;
  std::string extra() const override { return {}; }

  void visit(Archive& archive) override {
    archive.same("choice of options", kReasoningSplitter, audits_);
    ParserFilter::visit(archive);
    archive(lead_, has_begun_);
  }

 private:
  void pass(const Events& in, std::uint64_t token_end, Events& out) override;
  void put_lead(std::uint64_t token_end, Events& out);

  bool audits_;
  std::string lead_;        // markup that may lead in the answer or another block of reasoning
  bool has_begun_ = false;  // text or a call has come since the reasoning
};

}  // namespace unspool
