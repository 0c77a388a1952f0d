// The parser parses every call and announces it; the filter decides at the announcement, since a
// call's name never changes after it. A call that is not sent leaves its text (`call_text`, with
// all markers), so nothing is lost:
//
//   outlet      events of the call      its text
//   sent        passed on, renumbered   dropped, the events say it all
//   content     dropped                 content
//   dropped     dropped                 in `Message::dropped`, with the reason
//   malformed   dropped                 malformed: more calls than max_calls
//
// Parsing does not depend on it: the text after a call reads the same whether the call is sent or
// not.
#include "filter/call_filter.h"

#include <utility>

#include "parser/call_writer.h"

namespace unspool {

CallFilter::CallFilter(std::unique_ptr<EventParser> inner, CallIdStyle style,
                       const ParserOptions& options)
    : ParserFilter(std::move(inner)),
      tools_(options.tools),
      unknown_tools_(options.unknown_tools),
      parallel_calls_(options.parallel_calls),
      max_calls_(options.limits.calls()),
      ids_(style, options.id_seed, options.choice),
      audits_(options.audit),
      labels_(options.label_paths != nullptr) {}

CallFilter::Verdict CallFilter::judge(std::string_view name) const {
  const bool is_unknown = tools_ && tools_->find(name) == nullptr;
  if (is_unknown && unknown_tools_ != UnknownTools::forward) {
    return {unknown_tools_ == UnknownTools::content ? Outlet::content : Outlet::dropped,
            "the tool is not one of the request's"};
  }
  // Of those that are sent: a call to an unknown tool is not the request's one call.
  if (!parallel_calls_ && sent_ > 0) return {Outlet::dropped, "the request wants one call at most"};
  // Counted here and not in the parser, whose calls may be dropped.
  if (sent_ >= max_calls_) return {Outlet::malformed, kTooManyCalls};
  return {};
}

void CallFilter::pass(const Events& in, std::uint64_t, Events& out) {
  for (const Event& event : in.list()) pass_event(event, in, out);
  pass_audit(in, out);
}

void CallFilter::pass_event(const Event& event, const Events& in, Events& out) {
  const bool is_sent = verdict_.outlet == Outlet::sent;
  const std::uint64_t token_end = event.span.end;
  switch (event.kind) {
    case EventKind::tool_call_begin: return begin(event, in, out);
    case EventKind::call_text: return emit_text(in.text(event), token_end, out);
    case EventKind::tool_call_end:
      if (!is_sent) return;
      // Only calls that are sent: a response whose calls were all dropped must not end with
      // `tool_calls`.
      tally_.put(event.status);
      return out.add_end(sent_ - 1, event.status, token_end, event.repairs);
    case EventKind::tool_call_arguments:
    case EventKind::malformed:
      // Malformed text outside of calls is not affected.
      if (event.index < 0) break;
      if (is_sent) out.add_text(event.kind, sent_ - 1, in.text(event), token_end, event.reason);
      return;
    case EventKind::finish: return out.add_finish(tally_.reason(event.finish_reason), token_end);
    default: break;
  }
  out.add(event, in);
}

void CallFilter::begin(const Event& event, const Events& in, Events& out) {
  verdict_ = judge(in.name(event));
  if (audits_) outlets_.push_back({verdict_.outlet, sent_});
  if (verdict_.outlet != Outlet::sent) return;
  // By the new number: ids such as `functions.f:0` contain it.
  const std::string id = ids_.id_of(in.id(event), in.name(event), sent_);
  out.add_begin(sent_++, in.name(event), id, event.span.end, in.text(event));
}

void CallFilter::emit_text(std::string_view text, std::uint64_t token_end, Events& out) const {
  switch (verdict_.outlet) {
    case Outlet::sent: return;
    case Outlet::content: return out.add_text(EventKind::content, -1, text, token_end);
    case Outlet::dropped:
      return out.add_text(EventKind::dropped, -1, text, token_end, verdict_.reason);
    case Outlet::malformed:
      return out.add_text(EventKind::malformed, -1, text, token_end, verdict_.reason);
  }
}

// The bytes of a call that is not emitted are content or malformed.
ByteLabel CallFilter::label_of(const ByteLabel& label, Outlet outlet, std::int32_t index) const {
  switch (outlet) {
    case Outlet::sent: {
      ByteLabel sent = label;
      // The parser audits calls by number whenever a filter follows; the host sees numbers only in
      // labels.
      sent.call = labels_ ? index : -1;
      return sent;
    }
    case Outlet::content: return {.fate = Fate::content};
    case Outlet::malformed: break;
    case Outlet::dropped:
      return {.fate = Fate::malformed,
              .is_aside = true,
              .part = labels_ ? LabelPart::left_out : LabelPart::none};
  }
  return {.fate = Fate::malformed};
}

void CallFilter::pass_audit(const Events& in, Events& out) {
  for (const Events::Audited& piece : in.audit()) {
    if (piece.call < 0) {
      out.add_audit(piece, piece.text);
      continue;
    }
    const Sent& sent = outlets_.at(static_cast<std::size_t>(piece.call));
    out.add_audit(label_of(piece, sent.outlet, sent.index), piece.text);
  }
}

void CallFilter::add_held(Held& out) const {
  // What is held of a call that becomes text is its text, not its arguments.
  verdict_.outlet == Outlet::sent ? inner().add_held(out) : inner().add_held_text(out);
}

void CallFilter::visit(Archive& archive) {
  archive.same("choice of options", kCallFilter, unknown_tools_, parallel_calls_, max_calls_,
               audits_, labels_);
  ParserFilter::visit(archive);
  archive.given(tools_);
  archive.choice(verdict_.outlet, Outlet::malformed);
  archive.literal(verdict_.reason);
  archive(ids_, tally_, sent_, outlets_);
  archive.expect(sent_ >= 0 && sent_ < CallWriter::Place::kMostCalls);
}

}  // namespace unspool
