#include "parser/call_writer.h"

#include <memory>
#include <utility>

namespace unspool {

CallWriter::CallWriter(CallIdStyle style, const ParserOptions& options)
    : limits_(options.limits),
      max_calls_(options.limits.calls()),
      repairs_(options.repair),
      emits_text_(options.call_text),
      labels_(options.label_paths != nullptr) {
  if (!emits_text_) ids_.emplace(style, options.id_seed, options.choice);
}

void CallWriter::begin(std::string_view name, std::string_view id, const ToolSchema* schema,
                       std::uint64_t token_end, Events& out) {
  settle_end(token_end, out);
  // Before the check, so that calls beyond the limit are counted too.
  ++place_.index;
  is_open_ = true;
  guard_.reset();
  // Counted but not announced: its text is reported as malformed.
  if (is_over()) return;
  guard_ = std::make_unique<ArgumentsGuard>(limits_, repairs_, schema);
  const std::string call_id = ids_ ? ids_->id_of(id, name, place_.index) : std::string(id);
  out.add_begin(number(), name, call_id, token_end);
}

void CallWriter::put_text(std::string_view text, std::uint64_t token_end, Events& out) {
  if (text.empty()) return;
  if (is_over()) {
    out.add_text(EventKind::malformed, -1, text, token_end, kTooManyCalls);
  } else if (emits_text_) {
    out.add_text(EventKind::call_text, number(), text, token_end);
  }
}

void CallWriter::put_malformed(std::string_view text, const char* problem, std::uint64_t token_end,
                               Events& out) {
  if (!is_over()) out.add_text(EventKind::malformed, number(), text, token_end, problem);
}

void CallWriter::end(std::uint16_t repairs, std::uint64_t token_end, Events& out) {
  // Only a forged state has an open call without a guard, apart from calls beyond the limit.
  if (!guard_) return end(CallStatus::malformed, repairs, token_end, out);
  if (!guard_->is_whole() && !guard_->has_failed()) {
    // The reason why a call that has ended is not complete.
    put_malformed({}, guard_->problem(), token_end, out);
  }
  end(guard_->is_whole() ? CallStatus::complete : CallStatus::malformed, repairs, token_end, out);
}

void CallWriter::end(CallStatus status, std::uint16_t repairs, std::uint64_t token_end,
                     Events& out) {
  is_open_ = is_complete_ = end_waits_ = false;
  if (is_over()) return;
  // A stream holds the guard's memory only while a call is open.
  const ClonedPtr<ArgumentsGuard> guard = std::exchange(guard_, nullptr);
  if (guard && guard->has_failed()) status = CallStatus::malformed;
  is_complete_ = status == CallStatus::complete;
  // Repairs of a call that is broken all the same are of no interest.
  const int mended = is_complete_ && guard ? guard->repairs() | repairs : 0;
  place_.tally.put(status);
  out.add_end(number(), status, token_end, static_cast<std::uint16_t>(mended));
}

}  // namespace unspool
