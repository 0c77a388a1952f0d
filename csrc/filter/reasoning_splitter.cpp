// It works on the audit and not on the events, because everything else must come out byte for byte,
// markers included, and only the audit has every byte. `lead_` holds markup between the reasoning
// and whatever follows it:
//
//   <think>Hm.</think><tool_call>{…}         the opener waits; the call begins: all is content
//   <|channel|>analysis… <|channel|>final    the second header waits: it may open more reasoning
#include "filter/reasoning_splitter.h"

namespace unspool {

namespace {

bool is_left_out(const ByteLabel& label) {
  return label.part == LabelPart::left_out && label.fate == Fate::marker;
}

}  // namespace

void ReasoningSplitter::finish(FinishReason reason, std::uint64_t token_end, Events& out) {
  ParserFilter::finish(reason, token_end, out);
  // At the end nothing follows the markup, so it belongs to the answer.
  put_lead(token_end, out);
  // The calls are text here; the second parser finds them and their reason.
  out.add_finish(reason == FinishReason::tool_calls ? FinishReason::stop : reason, token_end);
}

void ReasoningSplitter::pass(const Events& in, std::uint64_t token_end, Events& out) {
  for (const Events::Audited& piece : in.audit()) {
    if (audits_) audit_.push_back(piece);
    // A special token that is skipped is here for the labels only.
    if (is_left_out(piece)) continue;
    if (piece.of_reasoning || piece.fate == Fate::reasoning) {
      if (!piece.of_reasoning) out.add_text(EventKind::reasoning, -1, piece.text, token_end);
      // Markup before reasoning introduces it, and the second parser must not see it.
      lead_.clear();
      has_begun_ = false;
      pass_audit(false, out);
      continue;
    }
    // Only text or a call shows that the reasoning is over.
    has_begun_ |= piece.fate != Fate::marker && piece.fate != Fate::whitespace;
    lead_ += piece.text;
    if (has_begun_) put_lead(token_end, out);
  }
}

void ReasoningSplitter::put_lead(std::uint64_t token_end, Events& out) {
  if (!lead_.empty()) out.add_text(EventKind::content, -1, lead_, token_end);
  lead_.clear();
  pass_audit(true, out);
}

// In the order of the output: the markup waits, and so does what follows it.
void ReasoningSplitter::pass_audit(bool in_content, Events& out) {
  for (Events::Audited& piece : audit_) {
    piece.in_content = in_content && !is_left_out(piece);
    out.add_audit(piece, piece.text);
  }
  audit_.clear();
}

void ReasoningSplitter::add_held(Held& out) const {
  out.add(HeldReason::header, lead_);
  inner().add_held(out);
}

}  // namespace unspool
