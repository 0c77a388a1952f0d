// Filters calls as the request wants: those to unknown tools, and those after the first one. Such a
// call is not emitted; the request decides where its text goes.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "filter/parser_filter.h"
#include "format/tool_schemas.h"
#include "parser/call_ids.h"
#include "parser/call_tally.h"
#include "text/archive.h"

namespace unspool {

/// Used after a parser with `ParserOptions::call_text`. Renumbers the calls that it emits.
class CallFilter final : public ParserFilter {
 public:
  /// Whether a request with these options needs the filter.
  static bool is_needed(const ParserOptions& options) {
    return !options.parallel_calls ||
           (options.tools && options.unknown_tools != UnknownTools::forward);
  }

  CallFilter(std::unique_ptr<EventParser> inner, CallIdStyle style, const ParserOptions& options);

  std::unique_ptr<EventParser> clone() const override {
    return std::make_unique<CallFilter>(*this);
  }
  Progress progress() const override {
    Progress result = ParserFilter::progress();
    result.calls = static_cast<std::uint32_t>(sent_);
    return result;
  }
  void add_held(Held& out) const override;

  void visit(Archive& archive) override;

 private:
  /// The destination of a call: emitted as a call, or its text emitted as one of these kinds.
  enum class Outlet : std::uint8_t { sent, content, dropped, malformed };
  struct Verdict {
    Outlet outlet = Outlet::sent;
    const char* reason = "";
  };

  Verdict judge(std::string_view name) const;
  void pass(const Events& in, std::uint64_t token_end, Events& out) override;
  void pass_event(const Event& event, const Events& in, Events& out);
  void begin(const Event& event, const Events& in, Events& out);
  void emit_text(std::string_view text, std::uint64_t token_end, Events& out) const;
  void pass_audit(const Events& in, Events& out);
  ByteLabel label_of(const ByteLabel& label, Outlet outlet, std::int32_t index) const;

  std::shared_ptr<const ToolSchemas> tools_;
  UnknownTools unknown_tools_;
  bool parallel_calls_;
  std::int32_t max_calls_;
  CallIds ids_;
  bool audits_;
  bool labels_;
  CallTally tally_;
  Verdict verdict_;        // for the last call
  std::int32_t sent_ = 0;  // calls
  struct Sent {
    Outlet outlet;
    std::int32_t index;  // the call's new index, if it is emitted

    void visit(Archive& archive) {
      archive.choice(outlet, Outlet::malformed);
      archive(index);
    }
  };
  std::vector<Sent> outlets_;  // of all calls: an audit may come puts later than its call
};

}  // namespace unspool
