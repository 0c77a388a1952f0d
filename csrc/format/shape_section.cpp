// The markup around all calls: from `calls`, or from the outer tags of each call.
#include "format/pattern_texts.h"
#include "format/shape_readers.h"

namespace unspool {

namespace {

/// The length of <outer> and the line break after it, if at least one more tag begins after them;
/// otherwise 0.
std::size_t outer_opener_size(std::string_view first) {
  const std::size_t end = first.find('>');
  const std::size_t inner = end == npos ? npos : first.find('<', end);
  if (inner == npos || !trim(first).starts_with('<')) return 0;
  const std::string_view between = first.substr(end + 1, inner - end - 1);
  const std::size_t line = between.rfind('\n');
  const bool is_one = first.find_first_of("<>", inner + 1) == npos;
  return is_one && is_blank(between) && line != npos ? end + 1 + line + 1 : 0;
}

/// Where the outer closing tag begins, including the line break before it; npos if there is none or
/// if it is the only tag.
std::size_t outer_closer_begin(std::string_view last, std::string_view opener) {
  const std::string close = "</" + std::string(trim(opener).substr(1));
  if (!trim(last).ends_with(close)) return npos;
  std::size_t begin = last.rfind(close);
  if (begin > 0 && last[begin - 1] == '\n') --begin;
  return is_blank(last.substr(0, begin)) ? npos : begin;
}

// <calls><call>..</call></calls> written as one call: the outer tags belong to all of them.
// All alternatives must have such tags. Otherwise they belong to one of several ways to write a
// call, and a section would make the others stand inside it.
std::vector<TextShape> take_outer_tags(Alternatives& calls) {
  std::vector<TextShape> sections;
  std::vector<Pattern> inner;
  for (const Alternative& call : calls) {
    const std::string_view first = call.pattern.first(), last = call.pattern.last();
    const std::size_t size = outer_opener_size(first);
    if (size == 0) return {};
    const std::size_t begin = outer_closer_begin(last, first.substr(0, size));
    if (begin == npos) return {};
    TextShape& section = sections.emplace_back();
    section.own_open = section.open = Edge(first.substr(0, size));
    section.close = Edge(last.substr(begin));
    // A writer repeats the tags for each call: the file does not say that several calls may share
    // them. The parser accepts both.
    section.is_begun = true;  // a writer sees one call
    inner.push_back(call.pattern);
    inner.back().texts.front() = first.substr(size);
    inner.back().texts.back() = last.substr(0, begin);
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i].pattern = std::move(inner[i]);
    calls[i].outer_open = sections[i].open.literal();
    calls[i].outer_close = sections[i].close.literal();
  }
  return sections;
}

}  // namespace

std::vector<TextShape> read_sections(const Alternatives& sections, Alternatives& calls) {
  if (sections.empty()) return take_outer_tags(calls);
  std::vector<TextShape> shapes;
  for (const Alternative& section : sections) {
    TextShape& shape = shapes.emplace_back();
    shape.own_open = shape.open = Edge(section.pattern.first());
    shape.close = Edge(section.pattern.last());
    shape.is_begun = section.is_begun;
    if (shape.close.is_blank()) throw PatternError("calls", "nothing ends the ${calls}");
  }
  return shapes;
}

}  // namespace unspool
