// Reasoning, content and ids.
#include "format/pattern_texts.h"
#include "format/shape_readers.h"

namespace unspool {

namespace {

/// <token>word and white space: the word is an optional label. Returns its length, or 0.
std::size_t label_size(std::string_view literal) {
  const Edge edge(literal);
  const std::string text = edge.text();
  const std::size_t end = text.find('>');
  if (!text.starts_with('<') || edge.after().empty() || end == npos) return 0;
  const std::string token = text.substr(1, end - 1), word = text.substr(end + 1);
  const bool is_one = token.find_first_of("< \t\n") == npos;
  const bool is_plain = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == npos;
  return is_one && is_plain && !word.empty() ? word.size() + edge.after().size() : 0;
}

// The name of a person, a model or a tool.
SkippedText author_name() {
  return {{{"0", "9"}, {"A", "Z"}, {"a", "z"}, {"_", "_"}, {"-", "-"}, {".", "."}}, 64};
}

// A note cites: the numbers of documents and of their parts, as in "0:[1, 2]".
SkippedText citation() {
  return {{{"0", "9"}, {":", ":"}, {" ", " "}, {",", ","}, {"[", "["}, {"]", "]"}}, 40};
}

// What reasoning and content have in common.
TextShape read_text(const Alternative& alternative) {
  TextShape shape;
  shape.author = alternative.author;
  if (shape.author) shape.author_name = author_name();
  shape.open = Edge(alternative.pattern.first());
  shape.close = Edge(alternative.pattern.last());
  shape.is_begun = alternative.is_begun;
  shape.own_open = shape.open;
  return shape;
}

}  // namespace

TextShape read_reasoning(const PatternFile& file, const Alternative& alternative) {
  TextShape shape = read_text(alternative);
  const bool may_end_at_call = !file.call.empty() && !file.has_messages();
  if (shape.close.is_blank() && (shape.open.is_blank() || !may_end_at_call))
    throw PatternError("reasoning", "nothing ends the ${reasoning}");
  const std::string_view open = shape.open.literal();
  if (file.has_messages()) {
    shape.own_open = Edge(file.without_turn(open));
  } else if (const std::size_t size = label_size(open); size > 0) {
    shape.label = open.substr(open.size() - size);
    shape.own_open = Edge(open.substr(0, open.size() - size));
  }
  // The text of the prompt's last turn, without white space, ends with the opener.
  const std::string_view turn = file.turn.empty() ? std::string_view() : file.turn.front();
  const std::string_view written = turn.substr(0, turn.find_last_not_of(kSpace) + 1);
  shape.is_opened_by_turn =
      written.ends_with(alternative.author ? alternative.author->text() : shape.open.text());
  return shape;
}

TextShape read_content(const PatternFile& file, const Alternative& alternative) {
  const Pattern& pattern = alternative.pattern;
  TextShape shape = read_text(alternative);
  // Where the prompt has written the turn, the reasoning ends at what follows it.
  shape.own_open = Edge(file.without_turn(shape.open.literal()));
  if (pattern.count(HoleKind::content) < 2) return shape;
  // Markup within a text that continues: ${content}<open>${content}<close>${content}.
  if (pattern.texts.size() < 4)
    throw PatternError("content", "content has markup with one side only");
  shape.is_inline = true;
  shape.open = Edge(pattern.texts[1]);
  shape.close = Edge(pattern.texts[2]);
  // A note after the markup, as in "</co: 0:[0]>": what it says is markup too.
  if (pattern.holes[2].kind == HoleKind::any) {
    shape.note_close.emplace(pattern.texts[3]);
    shape.note = citation();
  }
  return shape;
}

// The styles differ in what a template does with an id that it did not expect: Mistral's raises,
// Kimi's reads the tool's name out of it.
IdShape read_id(const Pattern& pattern) {
  IdShape shape{items_of(pattern)};
  if (pattern.has(HoleKind::random) && pattern.hole(HoleKind::random).has("9")) {
    shape.style = CallIdStyle::nine;
  } else if (pattern.has(HoleKind::name)) {
    shape.style = CallIdStyle::functions;
  }
  return shape;
}

}  // namespace unspool
