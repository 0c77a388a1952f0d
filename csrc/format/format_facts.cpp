#include "format/format_facts.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>

#include "format/pattern_texts.h"
#include "format/turn.h"

namespace unspool {

namespace {

using Set = std::set<std::string>;

void add(Set& found, const Texts& texts) { found.insert(texts.begin(), texts.end()); }

void add(Set& found, std::initializer_list<const MarkerTexts*> markers) {
  for (const MarkerTexts* marker : markers) add(found, marker->texts);
}

// A host must not strip these from a model's output, and a tokenizer should have them as tokens.
Set markers_of(const Program& program) {
  Set found;
  add(found, program.ends);
  add(found, {&program.section.open, &program.section.close});
  if (program.reasoning) {
    add(found, {&program.reasoning->open, &program.reasoning->close});
    found.insert(program.reasoning->label);
  }
  for (const MarkupRegion& markup : program.markup) {
    add(found, {&markup.open, &markup.close});
  }
  for (const CallRegion& call : program.calls) {
    for (const std::string_view text : call.texts()) found.emplace(text);
  }
  found.erase("");
  return found;
}

/// The length of the tag at the beginning of a text, <tag> or [TAG]; 0 if there is none.
std::size_t tag_size(std::string_view text) {
  if (text[0] == '<') {
    const std::size_t end = text.find_first_of("<> \t\r\n", 1);
    return end != std::string_view::npos && end > 1 && text[end] == '>' ? end + 1 : 0;
  }
  if (text[0] != '[') return 0;
  const std::size_t begin = text.substr(1).starts_with('/') ? 2 : 1;
  const std::size_t end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", begin);
  return end != std::string_view::npos && end > begin && text[end] == ']' ? end + 1 : 0;
}

/// Adds the tags in a marker; all of it, if it looks like a token with another spelling.
void add_tokens(Set& found, std::string_view marker) {
  bool has_tag = false;
  for (std::size_t i = 0; i < marker.size();) {
    const std::size_t size = tag_size(marker.substr(i));
    if (size > 0) found.emplace(marker.substr(i, size));
    has_tag = has_tag || size > 0;
    i += std::max<std::size_t>(size, 1);
  }
  const bool is_bracket =
      marker.starts_with('<') || marker.starts_with('[') || marker.starts_with("◁");
  const bool is_long = std::count_if(marker.begin(), marker.end(), [](char byte) {
                         return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
                       }) > 3;
  if (!has_tag && is_bracket && is_long && marker.find_first_of(kSpace) == std::string_view::npos)
    found.emplace(marker);
}

// What a host can know of a call's form without knowing the parser's tables.
CallFacts facts_of(const CallRegion& call) {
  return {.openers = call.open.texts,
          .closers = call.close.texts,
          .bare = call.start.place,
          .first_letters = call.start.letters,
          .after_header = call.start.after_header,
          .may_be_content = call.is_tentative(),
          .needs_known_tool = call.start.known_tools == KnownTools::required,
          .body = call.kind()};
}

}  // namespace

FormatFacts facts_of(const Program& program) {
  FormatFacts facts;
  const Set markers = markers_of(program);
  Set tokens;
  for (const std::string& marker : markers) add_tokens(tokens, marker);
  facts.markers.assign(markers.begin(), markers.end());
  facts.marker_tokens.assign(tokens.begin(), tokens.end());
  facts.ends = program.ends;
  if (const auto& reasoning = program.reasoning)
    facts.reasoning = {reasoning->open.texts, reasoning->close.texts, reasoning->label,
                       opens_reasoning(program), reasoning->calls};
  for (const MarkupRegion& markup : program.markup) {
    if (markup.has_header()) {
      facts.headers.push_back(
          {markup.open.texts, markup.close.texts, markup.names_tool, markup.is_inline});
    } else {
      add_new(facts.dropped, markup.open.texts);
    }
  }
  facts.section_openers = program.section.open.texts;
  facts.section_closers = program.section.close.texts;
  for (const CallRegion& call : program.calls) facts.calls.push_back(facts_of(call));
  facts.call_ids = program.call_ids;
  return facts;
}

}  // namespace unspool
