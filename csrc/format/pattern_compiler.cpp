#include "format/pattern_compiler.h"

#include <utility>

#include "text/error.h"

namespace unspool {

FormatSpec compile_patterns(PatternFile file) { return PatternCompiler(std::move(file)).compile(); }

FormatSpec PatternCompiler::compile() {
  spec_.name = file_.name;
  add_new(spec_.ignore, file_.end);
  for (const std::string& text : file_.leftovers) spec_.markup.push_back(to_markup(text));
  take_authors();
  take_turn();
  if (!file_.id.empty()) {
    const Pattern& id = file_.id.front();
    if (id.has(HoleKind::random) && id.hole(HoleKind::random).has("9")) {
      spec_.call_ids = CallIdStyle::nine;
    } else if (id.has(HoleKind::name)) {
      spec_.call_ids = CallIdStyle::functions;
    }
  }
  if (!file_.reasoning.empty()) read_reasoning();
  take_sections();
  read_calls();
  if (!file_.header.empty()) read_header();
  if (!authors_.open.is_empty()) read_authors();
  read_content();
  std::vector<MarkupSpec> once;
  for (MarkupSpec& markup : spec_.markup) {
    if (std::find(once.begin(), once.end(), markup) == once.end())
      once.push_back(std::move(markup));
  }
  spec_.markup = std::move(once);
  return spec_;
}

// What the prompt has written of the first message is missing in the output: each pattern that
// begins with the turn also stands without it.
void PatternCompiler::take_turn() {
  if (!file_.header.empty()) return;  // a header says where the output begins
  for (const auto patterns :
       {&PatternFile::reasoning, &PatternFile::content, &PatternFile::calls, &PatternFile::call}) {
    std::vector<Pattern> all;
    for (const Pattern& pattern : file_.*patterns) {
      all.push_back(pattern);
      const std::string_view rest = without_turn(pattern.first());
      if (rest.size() == pattern.first().size() || is_blank(rest)) continue;
      all.push_back(pattern);
      all.back().texts.front() = rest;
    }
    file_.*patterns = std::move(all);
  }
}

// <calls><call>..</call></calls> written as one call: the outer tags stand around all of them.
void PatternCompiler::take_sections() {
  if (!file_.calls.empty()) {
    std::vector<std::string_view> opens, closes;
    for (const Pattern& pattern : file_.calls) {
      if (is_blank(pattern.last())) throw PatternError("calls", "nothing ends the ${calls}");
      opens.push_back(pattern.first());
      closes.push_back(pattern.last());
    }
    spec_.section_open = to_marker(opens);
    spec_.section_close = to_marker(closes, KeepSpace::none);
    return;
  }
  std::vector<Pattern> inner;
  Texts opens, closes;
  for (const Pattern& pattern : file_.call) {
    const std::string_view first = pattern.first(), last = pattern.last();
    const std::size_t outer = first.find_first_not_of(kSpace);
    const std::size_t end = first.find('>');
    const std::size_t second = end == std::string_view::npos ? end : first.find('<', end);
    const std::size_t close = last.rfind("</");
    if (outer == std::string_view::npos || first[outer] != '<' ||
        second == std::string_view::npos || close == std::string_view::npos) {
      return;
    }
    const std::string_view between = first.substr(end + 1, second - end - 1);
    const std::size_t line = between.rfind('\n');
    const std::size_t close_end = last.find('>', close);
    if (!is_blank(between) || line == std::string_view::npos ||
        first.find_first_of("<>", second + 1) != std::string_view::npos ||
        close_end == std::string_view::npos || !is_blank(last.substr(close_end + 1)) ||
        first.substr(outer + 1, end - outer - 1) != last.substr(close + 2, close_end - close - 2)) {
      return;
    }
    const std::size_t begin = close - (close > 0 && last[close - 1] == '\n' ? 1 : 0);
    if (trim(last.substr(0, begin)).empty()) return;
    opens.emplace_back(first.substr(0, end + 1 + line + 1));
    closes.emplace_back(last.substr(begin));
    Pattern one = pattern;
    one.texts.front() = first.substr(end + 1 + line + 1);
    one.texts.back() = last.substr(0, begin);
    inner.push_back(std::move(one));
  }
  if (inner.empty()) return;
  file_.call = std::move(inner);
  spec_.section_open = to_marker({opens.begin(), opens.end()});
  spec_.section_close = to_marker({closes.begin(), closes.end()}, KeepSpace::none);
}

}  // namespace unspool
