// Holds a call's end until the next event, because the text after the call may add repairs.
//
//   <tool_call>{"name": "f"}</tool_call>     an end: complete
//   {"name": "f"}</tool_call>                the same again: a second end, which adds a repair
//
// A host gets one end per call, so the first one waits for the event after it.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "filter/parser_filter.h"
#include "text/archive.h"

namespace unspool {

/// Used after a parser that repairs. If a call has two ends, the second one adds its repairs.
class CallEndFilter final : public ParserFilter {
 public:
  explicit CallEndFilter(std::unique_ptr<EventParser> inner) : ParserFilter(std::move(inner)) {}

  std::unique_ptr<EventParser> clone() const override {
    return std::make_unique<CallEndFilter>(*this);
  }

  void visit(Archive& archive) override {
    archive.same("choice of options", kCallEndFilter);
    ParserFilter::visit(archive);
    archive(end_);
  }

 private:
  void pass(const Events& in, std::uint64_t token_end, Events& out) override;
  void pass_event(const Event& event, const Events& in, Events& out);
  void release(Events& out);

  std::optional<Event> end_;
};

}  // namespace unspool
