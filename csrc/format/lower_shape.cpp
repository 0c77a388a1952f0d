#include "format/lower_shape.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "format/markers.h"

namespace unspool {

namespace {

using Texts = std::vector<std::string>;

/// Headers between a message's opener and its kind: the name of the author.
// An author is any name, so a header without a meaning stands between the two markers. The answer's
// end closes it too: a message may be cut after its author.
MarkupRegion lower_authors(const Shape& shape) {
  MarkupRegion authors;
  authors.header = "[^\\s<]*";
  const auto add = [&](const std::optional<Edge>& author) {
    if (author) add_new(authors.open.texts, author->text());
  };
  for (const TextShape& content : shape.contents) {
    add(content.author);
    if (content.author && !content.is_begun) authors.close.texts.push_back(content.open.text());
  }
  for (const TextShape& reasoning : shape.reasoning) add(reasoning.author);
  for (const CallShape& call : shape.calls) add(call.author);
  add_new(authors.close.texts, shape.ends);
  return authors;
}

// The token that ends an answer also ends its last message.
void end_messages(const Texts& ends, MarkupRegion authors, Program& program) {
  program.markup.push_back(std::move(authors));
  MarkupRegion end;
  add_new(end.open.texts, ends);
  program.markup.push_back(std::move(end));
  for (CallRegion& call : program.calls) add_new(call.close.texts, ends);
  if (program.reasoning) add_new(program.reasoning->close.texts, ends);
}

// Each message has its own closer, and a model may close the reasoning with another message's.
void lower_messages(const Shape& shape, ReasoningRegion& reasoning) {
  for (const TextShape& each : shape.reasoning) {
    add_new(reasoning.open.texts, each.own_open.literal());
    add_new(reasoning.close.texts, each.close.text());
  }
  add_new(reasoning.close.texts, shape.ends);
  for (const CallShape& call : shape.calls) {
    if (call.opens_message) add_new(reasoning.close.texts, call.own_close.text());
  }
}

void lower_tags(const Shape& shape, ReasoningRegion& reasoning) {
  for (const TextShape& each : shape.reasoning) {
    add_marker(reasoning.open, each.own_open);
    add_marker(reasoning.close, each.close);
    if (reasoning.label.empty()) reasoning.label = each.label;
  }
  if (shape.contents.empty()) return;  // the content's opener ends reasoning that nothing closed
  const Edge& content = shape.contents.front().own_open;
  if (content.is_token()) add_new(reasoning.close.texts, content.text());
}

ReasoningRegion lower_reasoning(const Shape& shape) {
  ReasoningRegion reasoning;
  if (shape.call_ends_reasoning) reasoning.calls = CallsInReasoning::end;
  shape.has_messages ? lower_messages(shape, reasoning) : lower_tags(shape, reasoning);
  return reasoning;
}

// Markup within a text that continues: ${content}<open>${content}<close>${content}.
void lower_inline(const TextShape& content, std::vector<MarkupRegion>& markup) {
  MarkupRegion open, close;
  open.is_inline = close.is_inline = true;
  open.open.texts.push_back(content.open.text());
  close.open.texts.push_back(content.close.text());
  if (content.note_close) {
    close.close.texts.push_back(content.note_close->text());
    close.header = "[^<>A-Za-z]*";
  }
  markup.push_back(std::move(open));
  markup.push_back(std::move(close));
}

// The markup around content does not change what the text is, so it is only dropped. In a format of
// messages the headers do that.
void lower_contents(const Shape& shape, std::vector<MarkupRegion>& markup) {
  if (shape.has_messages) return;
  for (const TextShape& content : shape.contents) {
    if (content.is_inline) {
      lower_inline(content, markup);
      continue;
    }
    for (const Edge& edge : {content.open, content.close}) {
      if (!edge.is_blank()) markup.push_back(to_markup(edge));
    }
  }
}

// White space around the end of all calls is the next text's: nothing is known of it.
void lower_sections(const Shape& shape, SectionRegion& section) {
  for (const TextShape& each : shape.sections) {
    add_marker(section.open, each.open);
    add_marker(section.close, each.close, KeepSpace::none);
  }
}

template <typename Item>
std::vector<Item> without_repeats(std::vector<Item> items) {
  std::vector<Item> once;
  for (Item& item : items) {
    if (std::find(once.begin(), once.end(), item) == once.end()) once.push_back(std::move(item));
  }
  return once;
}

}  // namespace

Program lower_shape(const Shape& shape) {
  Program program;
  program.name = shape.name;
  program.fingerprint = shape.fingerprint;
  program.turn = shape.turn;
  add_new(program.ends, shape.ends);
  for (const Edge& text : shape.leftovers) program.markup.push_back(to_markup(text));
  if (!shape.ids.empty()) program.call_ids = shape.ids.front().style;
  if (!shape.reasoning.empty()) {
    program.reasoning = lower_reasoning(shape);
    const ReasoningRegion& reasoning = *program.reasoning;
    // Reasoning without an opener is at the beginning of the answer.
    if (!reasoning.open.is_empty() && shape.reasoning.front().open.literal().empty())
      program.turn.insert(program.turn.begin(), reasoning.open.texts.front());
  }
  lower_sections(shape, program.section);
  for (const CallShape& call : shape.calls) {
    if (call.role == CallRole::around) program.markup.push_back(call.markup);
  }
  program.calls = lower_calls(shape);
  if (shape.header)
    program.markup.insert(program.markup.end(), shape.header->markup.begin(),
                          shape.header->markup.end());
  MarkupRegion authors = lower_authors(shape);
  if (!authors.open.is_empty()) end_messages(shape.ends, std::move(authors), program);
  lower_contents(shape, program.markup);
  program.markup = without_repeats(std::move(program.markup));
  return program;
}

}  // namespace unspool
