// The markup around all calls: from `calls`, or from the outer tags of each call.
#include "format/pattern_readers.h"
#include "format/pattern_texts.h"

namespace unspool {

namespace {

void set_section(const std::vector<std::string_view>& opens,
                 const std::vector<std::string_view>& closes, Program& program) {
  program.section.open = to_marker(opens);
  program.section.close = to_marker(closes, KeepSpace::none);
}

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
void take_outer_tags(PatternFile& file, Program& program) {
  std::vector<std::string_view> opens, closes;
  std::vector<Pattern> inner = file.call;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const std::string_view first = file.call[i].first(), last = file.call[i].last();
    const std::size_t size = outer_opener_size(first);
    if (size == 0) return;
    opens.push_back(first.substr(0, size));
    const std::size_t begin = outer_closer_begin(last, opens.back());
    if (begin == npos) return;
    closes.push_back(last.substr(begin));
    inner[i].texts.front() = first.substr(size);
    inner[i].texts.back() = last.substr(0, begin);
  }
  if (inner.empty()) return;
  set_section(opens, closes, program);
  file.call = std::move(inner);
}

}  // namespace

void read_section(PatternFile& file, Program& program) {
  if (file.calls.empty()) return take_outer_tags(file, program);
  std::vector<std::string_view> opens, closes;
  for (const Pattern& pattern : file.calls) {
    if (is_blank(pattern.last())) throw PatternError("calls", "nothing ends the ${calls}");
    opens.push_back(pattern.first());
    closes.push_back(pattern.last());
  }
  set_section(opens, closes, program);
}

}  // namespace unspool
