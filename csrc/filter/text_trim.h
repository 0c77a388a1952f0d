// Removes white space at both ends of the content and of the reasoning. White space between two
// texts stays.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "filter/parser_filter.h"
#include "filter/text_edges.h"
#include "text/archive.h"

namespace unspool {

/// Used after all other filters. White space is held until text of the same kind follows. At the
/// end of the output it is dropped, and audited as white space.
class TextTrim final : public ParserFilter {
 public:
  /// White space longer than `max_held_bytes` is text. `trims_content`: false if the content is the
  /// input of another parser.
  TextTrim(std::unique_ptr<EventParser> inner, bool trims_content, std::size_t max_held_bytes);

  std::unique_ptr<EventParser> clone() const override { return std::make_unique<TextTrim>(*this); }
  Rest rest() const override;
  void add_held(Held& out) const override;
  void add_held_text(Held& out) const override;

  void visit(Archive& archive) override {
    archive.same("choice of options", kTextTrim);
    ParserFilter::visit(archive);
    archive(texts_, audit_);
  }

 private:
  struct Text {
    EventKind kind;
    Fate fate;
    bool is_trimmed;
    TextEdges edges, audit_edges;
    std::string open = {};  // white space that is held

    void visit(Archive& archive) {
      archive.given(kind, fate, is_trimmed);
      archive(edges, audit_edges, open);
    }
  };
  struct Waiting {
    Events::Audited piece;
    std::optional<EventKind> open;  // the kind of the held white space; nullopt: its fate is known

    void visit(Archive& archive) {
      archive(piece);
      bool is_open = open.has_value();
      archive(is_open);
      if (archive.is_reading()) open = is_open ? std::optional(EventKind::content) : std::nullopt;
      if (open) archive.choice(*open, EventKind::reasoning);
    }
  };

  Text* text_of(EventKind kind);
  Text* text_of(Fate fate);
  void pass(const Events& in, std::uint64_t token_end, Events& out) override;
  void put(Text& to, std::string_view text, std::uint64_t token_end, Events& out);
  void release_content(const Event& malformed, Events& out);
  void put_audit(Text& to, const Events::Audited& piece);
  void settle(const Text& text, Fate fate);
  void pass_audit(Events& out);

  std::array<Text, 2> texts_;  // content, reasoning
  std::deque<Waiting> audit_;
};

}  // namespace unspool
