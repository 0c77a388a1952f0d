// The events and the audit are trimmed apart, by two sets of edges, because they come in different
// pieces: an event is text that was emitted, the audit has markers between.
//
//   content     "\n\nHi "   "you"   "\n"
//   emitted     "Hi"        " you"  -         the last "\n" waits, and is dropped at the end
//
// Held white space holds back the audit after it too, since the audit is in the order of the
// output.
#include "filter/text_trim.h"

#include <utility>

namespace unspool {

namespace {

bool has_finish(const Events& events) {
  return !events.is_empty() && events.list().back().kind == EventKind::finish;
}

}  // namespace

TextTrim::TextTrim(std::unique_ptr<EventParser> inner, bool trims_content,
                   std::size_t max_held_bytes)
    : ParserFilter(std::move(inner)),
      texts_{Text{EventKind::content, Fate::content, trims_content, TextEdges(max_held_bytes),
                  TextEdges(max_held_bytes)},
             Text{EventKind::reasoning, Fate::reasoning, true, TextEdges(max_held_bytes),
                  TextEdges(max_held_bytes)}} {}

TextTrim::Text* TextTrim::text_of(EventKind kind) {
  for (Text& text : texts_) {
    if (text.kind == kind && text.is_trimmed) return &text;
  }
  return nullptr;
}

TextTrim::Text* TextTrim::text_of(Fate fate) {
  for (Text& text : texts_) {
    if (text.fate == fate && text.is_trimmed) return &text;
  }
  return nullptr;
}

void TextTrim::pass(const Events& in, std::uint64_t, Events& out) {
  for (const Event& event : in.list()) {
    // Clients see malformed text as content, so white space before it stands between two texts.
    if (event.kind == EventKind::malformed && event.index < 0 &&
        std::string_view(event.reason) != kStray)
      release_content(event, out);
    if (Text* text = text_of(event.kind)) {
      put(*text, in.text(event), event.span.end, out);
    } else {
      out.add(event, in);
    }
  }
  for (const Events::Audited& piece : in.audit()) {
    if (piece.fate == Fate::malformed && !piece.is_aside) {
      // The same for the audit.
      settle(texts_.front(), Fate::content);
      texts_.front().audit_edges.pass_text();
    }
    if (Text* text = text_of(piece.fate)) {
      put_audit(*text, piece);
    } else {
      audit_.push_back({piece, std::nullopt});
    }
  }
  // Now no text can follow.
  if (has_finish(in)) {
    for (const Text& text : texts_) settle(text, Fate::whitespace);
  }
  pass_audit(out);
}

// Malformed text outside calls is content for the consumer.
void TextTrim::release_content(const Event& malformed, Events& out) {
  Text& content = texts_.front();
  if (!content.open.empty()) out.add_text(content.kind, -1, content.open, malformed.span.end);
  content.open.clear();
  content.edges.pass_text();
}

void TextTrim::put(Text& to, std::string_view text, std::uint64_t token_end, Events& out) {
  to.edges.put(text, [&](TextEdges::Part part, std::string_view piece) {
    // Only dropped from the events; the audit has it as white space.
    if (part == TextEdges::Part::before) return;
    if (part == TextEdges::Part::open) {
      to.open += piece;
      return;
    }
    if (!to.open.empty()) out.add_text(to.kind, -1, to.open, token_end);
    to.open.clear();
    out.add_text(to.kind, -1, piece, token_end);
  });
}

void TextTrim::put_audit(Text& to, const Events::Audited& piece) {
  to.audit_edges.put(piece.text, [&](TextEdges::Part part, std::string_view text) {
    if (part == TextEdges::Part::text) settle(to, to.fate);
    Waiting waiting{{piece, std::string(text)}, std::nullopt};
    if (part == TextEdges::Part::open) waiting.open = to.kind;
    if (part == TextEdges::Part::before) waiting.piece.fate = Fate::whitespace;
    audit_.push_back(std::move(waiting));
  });
}

// Decides the fate of a text's held white space: all of it is after the last piece whose fate is
// certain.
void TextTrim::settle(const Text& text, Fate fate) {
  for (auto waiting = audit_.rbegin(); waiting != audit_.rend(); ++waiting) {
    // Everything before it was settled when it was put.
    if (!waiting->open && waiting->piece.fate == text.fate) return;
    if (waiting->open != text.kind) continue;
    waiting->piece.fate = fate;
    waiting->open.reset();
  }
}

void TextTrim::pass_audit(Events& out) {
  while (!audit_.empty() && !audit_.front().open) {
    const Events::Audited& piece = audit_.front().piece;
    out.add_audit(piece, piece.text);
    audit_.pop_front();
  }
}

Rest TextTrim::rest() const {
  Rest rest = inner().rest();
  for (const Text& text : texts_) {
    if (!text.is_trimmed || text.kind != rest.kind) continue;
    // What the inner parser holds may be white space.
    if (!text.edges.is_in_text() || rest.holds) return {};
    rest.stops |= kEndsInSpace;
  }
  return rest;
}

void TextTrim::add_held(Held& out) const {
  for (const Text& text : texts_) out.add(HeldReason::space, text.open);
  inner().add_held(out);
}

void TextTrim::add_held_text(Held& out) const {
  for (const Text& text : texts_) out.add(HeldReason::space, text.open);
  inner().add_held_text(out);
}

}  // namespace unspool
