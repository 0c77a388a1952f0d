// Reasoning and content.
#include "format/pattern_readers.h"
#include "format/pattern_texts.h"

namespace unspool {

namespace {

bool is_token(std::string_view text) {
  return text.size() > 4 && text.starts_with("<|") && text.ends_with("|>") &&
         text.substr(2, text.size() - 4).find_first_of("|<>") == std::string_view::npos;
}

/// <token>word and white space: the word is an optional label. Returns its length, or 0.
std::size_t label_size(std::string_view literal) {
  const Edges edges = split_edges(literal);
  const std::size_t end = edges.text.find('>');
  if (!edges.text.starts_with('<') || edges.after.empty() || end == std::string_view::npos)
    return 0;
  const std::string_view token = edges.text.substr(1, end - 1), word = edges.text.substr(end + 1);
  const bool is_one = token.find_first_of("< \t\n") == std::string_view::npos;
  const bool is_plain =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
  return is_one && is_plain && !word.empty() ? word.size() + edges.after.size() : 0;
}

void read_headed(const PatternFile& file, ReasoningRegion& reasoning) {
  for (const Pattern& pattern : file.reasoning) {
    add_new(reasoning.open.texts, file.without_turn(pattern.first()));
    add_new(reasoning.close.texts, trim(pattern.last()));
  }
  add_new(reasoning.close.texts, file.end);
  for (const Pattern& pattern : file.call) {
    if (file.opens_message(pattern.first()))
      add_new(reasoning.close.texts, trim(without_bracket(pattern.last())));
  }
}

void read_tagged(const PatternFile& file, ReasoningRegion& reasoning) {
  std::vector<std::string_view> opens, closes;
  for (const Pattern& pattern : file.reasoning) {
    std::string_view open = pattern.first();
    if (const std::size_t size = label_size(open); size > 0) {
      if (reasoning.label.empty()) reasoning.label = open.substr(open.size() - size);
      open.remove_suffix(size);
    }
    opens.push_back(open);
    closes.push_back(pattern.last());
  }
  reasoning.open = to_marker(opens);
  reasoning.close = to_marker(closes);
  if (file.content.empty()) return;  // the content's opener ends reasoning that nothing closed
  const std::string_view content = trim(file.without_turn(file.content.front().first()));
  if (is_token(content)) add_new(reasoning.close.texts, content);
}

// Markup within a text that continues: ${content}<open>${content}<close>${content}.
void read_inline(const Pattern& pattern, std::vector<MarkupRegion>& markup) {
  if (pattern.texts.size() < 4)
    throw PatternError("content", "content has markup with one side only");
  MarkupRegion open, close;
  open.is_inline = close.is_inline = true;
  open.open.texts.emplace_back(trim(pattern.texts[1]));
  close.open.texts.emplace_back(trim(pattern.texts[2]));
  if (pattern.holes[2].kind == HoleKind::any) {
    close.close.texts.emplace_back(trim(pattern.texts[3]));
    close.header = "[^<>A-Za-z]*";
  }
  markup.push_back(std::move(open));
  markup.push_back(std::move(close));
}

}  // namespace

ReasoningRegion read_reasoning(const PatternFile& file) {
  ReasoningRegion reasoning;
  reasoning.calls = CallsInReasoning::end;
  for (const Pattern& pattern : file.reasoning) {
    if (is_blank(pattern.last())) throw PatternError("reasoning", "nothing ends the ${reasoning}");
    if (pattern.hole(HoleKind::reasoning).has("verbatim"))
      reasoning.calls = CallsInReasoning::wait_and_see;
  }
  file.has_messages() ? read_headed(file, reasoning) : read_tagged(file, reasoning);
  return reasoning;
}

std::vector<MarkupRegion> read_content(const PatternFile& file) {
  std::vector<MarkupRegion> markup;
  if (file.has_messages()) return markup;
  for (const Pattern& pattern : file.content) {
    if (pattern.count(HoleKind::content) > 1) {
      read_inline(pattern, markup);
      continue;
    }
    for (const std::string& literal : {pattern.first(), pattern.last()}) {
      if (!is_blank(literal)) markup.push_back(to_markup(literal));
    }
  }
  return markup;
}

}  // namespace unspool
