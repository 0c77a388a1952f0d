// Takes the reasoning out of an output and passes everything else on, markup included, for a parser
// that stands behind this one and reads text: a host may have a parser for each, with text between
// them.
#pragma once

#include <memory>
#include <string>

#include "parser/event_parser.h"

namespace unspool {

/// Events are `reasoning`, `content` and `finish`. What belongs to the reasoning's own markup is
/// dropped, as is markup that stands before it and follows nothing but reasoning, such as an
/// author's; calls, their markup and what is malformed are content, byte for byte. Calls are read
/// all the same: a marker inside one is no marker, and one that ends the reasoning is known.
class ReasoningSplitter final : public EventParser {
 public:
  ReasoningSplitter(std::unique_ptr<EventParser> inner, bool audits)
      : inner_(std::move(inner)), audits_(audits) {}

  void expect_ids() override { inner_->expect_ids(); }
  void put_prompt(std::string_view prompt) override { inner_->put_prompt(prompt); }
  void put_text(std::string_view text, std::uint64_t token_end, Events& out) override;
  void put_token(Symbol symbol, std::uint64_t token_end, Events& out) override;
  void put_special(std::string_view text, std::uint64_t token_end, Events& out) override;
  bool reads_special() const override { return inner_->reads_special(); }
  void finish(FinishReason reason, std::uint64_t token_end, Events& out) override;
  Region region() const override { return inner_->region(); }
  bool is_undecided() const override { return inner_->is_undecided(); }
  std::uint32_t call_count() const override { return 0; }
  void add_held(Held& out) const override;

 private:
  void pass(std::uint64_t token_end, Events& out);
  void put_lead(std::uint64_t token_end, Events& out);

  std::unique_ptr<EventParser> inner_;  // it audits
  Events events_;                       // what it said in this put
  bool audits_;
  std::string lead_;        // markup that may lead in the answer or another block of reasoning
  bool has_begun_ = false;  // text or a call has come since the reasoning
};

}  // namespace unspool
