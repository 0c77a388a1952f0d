#include "format/read_shape.h"

#include <utility>

#include "format/pattern_texts.h"
#include "format/shape_readers.h"

namespace unspool {

namespace {

using Patterns = std::vector<Pattern>;

constexpr std::string_view kObject = R"({"name": ${name}, "arguments": ${arguments}})";

// Messages with an author before their kind: <message>${_}<kind>${content}<end>.
// The author is any name, so the text before it and the text after it are two markers with a header
// between them. The rest of the pattern is read as if the author was not there. In a call, the hole
// is text before the name instead if no text for the user begins like it.
Alternatives take_authors(const PatternFile& file, const Patterns& patterns) {
  const auto is_authors = [](const Pattern& pattern) {
    return pattern.holes.size() > 1 && pattern.holes[0].kind == HoleKind::any &&
           !is_blank(pattern.first());
  };
  const auto is_skipped = [&](const Pattern& call) {
    return call.has(HoleKind::name) && !has_any(file.content, [&](const Pattern& content) {
             return is_authors(content) && content.first() == call.first();
           });
  };
  Alternatives alternatives;
  for (const Pattern& pattern : patterns) {
    Alternative& alternative = alternatives.emplace_back(Alternative{pattern, {}, {}, {}, false});
    if (!is_authors(pattern) || is_skipped(pattern)) continue;
    alternative.author.emplace(pattern.first());
    alternative.pattern.texts.erase(alternative.pattern.texts.begin());
    alternative.pattern.holes.erase(alternative.pattern.holes.begin());
  }
  return alternatives;
}

// The output lacks what the prompt has written of the first message: each pattern that begins with
// the turn is also accepted without it.
void add_begun(const PatternFile& file, Alternatives& alternatives) {
  if (!file.header.empty()) return;  // a header defines where the output begins
  Alternatives all;
  for (Alternative& alternative : alternatives) {
    const std::string first = alternative.pattern.first();
    const std::string_view rest = file.without_turn(first);
    all.push_back(std::move(alternative));
    if (rest.size() == first.size() || is_blank(rest)) continue;
    all.push_back(all.back());
    all.back().pattern.texts.front() = rest;
    all.back().is_begun = true;
  }
  alternatives = std::move(all);
}

// Authors first: behind an author a pattern no longer begins with the turn.
Alternatives read_alternatives(const PatternFile& file, const Patterns& patterns) {
  Alternatives alternatives = take_authors(file, patterns);
  add_begun(file, alternatives);
  return alternatives;
}

Patterns patterns_of(const Alternatives& alternatives) {
  Patterns patterns;
  for (const Alternative& each : alternatives) patterns.push_back(each.pattern);
  return patterns;
}

/// Adds the tags of a literal, <tag> or [TAG], which have no dollar sign or brace in them.
void add_tags(Texts& tags, std::string_view literal) {
  for (std::size_t i = 0; i < literal.size(); ++i) {
    const bool is_angle = literal[i] == '<';
    if (!is_angle && literal[i] != '[') continue;
    const std::size_t end = literal.find_first_of(is_angle ? "<>${}" : "[]${} \t\r\n", i + 1);
    if (end == npos || literal[end] != (is_angle ? '>' : ']') || (!is_angle && end == i + 1))
      continue;
    add_new(tags, literal.substr(i, end + 1 - i));
    i = end;
  }
}

Texts call_tags(const PatternFile& file) {
  Texts tags;
  for (const Patterns* patterns : {&file.parameter, &file.call, &file.calls}) {
    for (const Pattern& pattern : *patterns) {
      for (const std::string& literal : pattern.texts) add_tags(tags, literal);
    }
  }
  return tags;
}

// Such an answer is a sequence of messages. A grammar writes each with its own opener, and the
// first without what the prompt has written.
bool opens_messages(const PatternFile& file) {
  if (!file.header.empty()) return true;
  for (const Patterns* patterns : {&file.reasoning, &file.content, &file.calls, &file.call}) {
    for (const Pattern& pattern : *patterns) {
      if (file.without_turn(pattern.first()).size() < pattern.first().size()) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Item> items_of(const Pattern& pattern) {
  std::vector<Item> items;
  const auto add_text = [&](const std::string& text) {
    if (!text.empty()) items.emplace_back(Edge(text));
  };
  add_text(pattern.first());
  for (std::size_t i = 0; i < pattern.holes.size(); ++i) {
    items.emplace_back(pattern.holes[i]);
    add_text(pattern.texts[i + 1]);
  }
  return items;
}

Shape read_shape(const PatternFile& file) {
  Shape shape;
  shape.name = file.name;
  shape.fingerprint = file.fingerprint;
  shape.turn = file.turn;
  shape.ends = file.end;
  for (const std::string& text : file.leftovers) shape.leftovers.emplace_back(text);
  shape.has_messages = file.has_messages();
  shape.call_ends_reasoning = file.call_ends_reasoning;
  shape.opens_messages = opens_messages(file);
  shape.call_tags = call_tags(file);
  const Alternatives reasoning = read_alternatives(file, file.reasoning);
  const Alternatives contents = read_alternatives(file, file.content);
  const Alternatives sections = read_alternatives(file, file.calls);
  Alternatives calls = read_alternatives(file, file.call);
  for (const Pattern& id : file.id) shape.ids.push_back(read_id(id));
  for (const Alternative& each : reasoning) shape.reasoning.push_back(read_reasoning(file, each));
  shape.sections = read_sections(sections, calls);
  for (const Pattern& parameter : file.parameter) {
    const bool is_element = file.parameter.front().count(HoleKind::key) == 2;
    shape.parameters.push_back(read_parameter(parameter, is_element));
  }
  for (const Pattern& object : file.object) shape.objects.push_back(read_object(object));
  if (file.object.empty()) shape.objects.push_back(read_object(Pattern::parse(kObject)));
  if (!file.string.empty()) {
    shape.quote.emplace();
    shape.quote->open = Edge(file.string.front().first());
    shape.quote->close = Edge(file.string.front().last());
  }
  // Calls and headers are read from what is left of the patterns: without authors, with the forms
  // that follow the prompt's turn, and without the tags around all calls.
  PatternFile own = file;
  own.reasoning = patterns_of(reasoning);
  own.content = patterns_of(contents);
  own.call = patterns_of(calls);
  read_calls(own, calls, shape);
  if (!file.header.empty()) shape.header = read_header(own);
  for (const Alternative& each : contents) shape.contents.push_back(read_content(file, each));
  shape.forms = read_forms(file, shape);
  return shape;
}

}  // namespace unspool
