#include "parser/reasoning_splitter.h"

namespace unspool {

void ReasoningSplitter::put_text(std::string_view text, std::uint64_t token_end, Events& out) {
  inner_->put_text(text, token_end, events_);
  pass(token_end, out);
}

void ReasoningSplitter::put_token(Symbol symbol, std::uint64_t token_end, Events& out) {
  inner_->put_token(symbol, token_end, events_);
  pass(token_end, out);
}

void ReasoningSplitter::finish(FinishReason reason, std::uint64_t token_end, Events& out) {
  inner_->finish(reason, token_end, events_);
  pass(token_end, out);
  out.add_finish(reason == FinishReason::tool_calls ? FinishReason::stop : reason, token_end);
}

Region ReasoningSplitter::region() const {
  return inner_->region() == Region::reasoning ? Region::reasoning : Region::content;
}

void ReasoningSplitter::pass(std::uint64_t token_end, Events& out) {
  for (const Events::Audited& piece : events_.audit()) {
    if (audits_) out.add_audit(piece.fate, piece.text, piece.of_reasoning);
    if (piece.of_reasoning) continue;
    const bool thinks = piece.fate == Fate::reasoning;
    out.add_text(thinks ? EventKind::reasoning : EventKind::content, -1, piece.text, token_end);
  }
  events_.clear();
}

}  // namespace unspool
