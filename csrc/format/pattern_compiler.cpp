#include "format/pattern_compiler.h"

#include <utility>

#include "format/pattern_readers.h"
#include "format/pattern_texts.h"

namespace unspool {

namespace {

using Patterns = std::vector<Pattern>;

/// Messages with an author before their kind, <message>${_}<kind>${content}<end>: the markup around
/// the author.
MarkupRegion take_authors(PatternFile& file) {
  MarkupRegion authors;
  authors.header = "[^\\s<]*";
  const auto take = [&](Patterns& patterns, bool is_content) {
    for (Pattern& pattern : patterns) {
      const bool has_author = pattern.holes.size() > 1 && pattern.holes[0].kind == HoleKind::any &&
                              !is_blank(pattern.first());
      if (!has_author) continue;
      add_new(authors.open.texts, trim(pattern.first()));
      if (is_content) authors.close.texts.emplace_back(trim(pattern.texts[1]));
      pattern.texts.erase(pattern.texts.begin());
      pattern.holes.erase(pattern.holes.begin());
    }
  };
  take(file.content, true);
  take(file.reasoning, false);
  take(file.call, false);
  add_new(authors.close.texts, file.end);
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

// The output lacks what the prompt has written of the first message: each pattern that begins with
// the turn is also accepted without it.
void add_first_messages(PatternFile& file) {
  if (!file.header.empty()) return;  // a header defines where the output begins
  for (const auto patterns :
       {&PatternFile::reasoning, &PatternFile::content, &PatternFile::calls, &PatternFile::call}) {
    Patterns all;
    for (const Pattern& pattern : file.*patterns) {
      all.push_back(pattern);
      const std::string_view rest = file.without_turn(pattern.first());
      if (rest.size() == pattern.first().size() || is_blank(rest)) continue;
      all.push_back(pattern);
      all.back().texts.front() = rest;
    }
    file.*patterns = std::move(all);
  }
}

CallIdStyle id_style(const Patterns& ids) {
  if (ids.empty()) return CallIdStyle::random;
  const Pattern& id = ids.front();
  if (id.has(HoleKind::random) && id.hole(HoleKind::random).has("9")) return CallIdStyle::nine;
  return id.has(HoleKind::name) ? CallIdStyle::functions : CallIdStyle::random;
}

void append(std::vector<MarkupRegion>& markup, std::vector<MarkupRegion> more) {
  for (MarkupRegion& each : more) markup.push_back(std::move(each));
}

}  // namespace

Program compile_patterns(PatternFile file) {
  Program program;
  program.name = file.name;
  program.fingerprint = file.fingerprint;
  program.turn = file.turn;
  add_new(program.ends, file.end);
  for (const std::string& text : file.leftovers) program.markup.push_back(to_markup(text));
  MarkupRegion authors = take_authors(file);
  add_first_messages(file);
  program.call_ids = id_style(file.id);
  if (!file.reasoning.empty()) program.reasoning = read_reasoning(file);
  // Reasoning without an opener is at the beginning of the answer.
  if (program.reasoning && !program.reasoning->open.is_empty() && file.reasoning[0].first().empty())
    program.turn.insert(program.turn.begin(), program.reasoning->open.texts[0]);
  read_section(file, program);
  read_calls(file, program);
  if (!file.header.empty()) append(program.markup, read_header(file));
  if (!authors.open.is_empty()) end_messages(file.end, std::move(authors), program);
  append(program.markup, read_content(file));
  std::vector<MarkupRegion> once;
  for (MarkupRegion& markup : program.markup) {
    if (std::find(once.begin(), once.end(), markup) == once.end())
      once.push_back(std::move(markup));
  }
  program.markup = std::move(once);
  return program;
}

}  // namespace unspool
