// Where the output starts: in what the prompt has opened.
#include <algorithm>

#include "format/format.h"
#include "text/white_space.h"

namespace unspool {

namespace {

constexpr std::size_t npos = std::string_view::npos;

using Texts = std::vector<std::string>;

std::string_view trim_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// A word may end any prompt.
bool is_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

// The end of the last of these texts; npos: there is none.
std::size_t last_end(std::string_view text, const Texts& markers) {
  std::size_t end = npos;
  for (const std::string& marker : markers) {
    const std::size_t at = text.rfind(marker);
    if (at != npos && (end == npos || at + marker.size() > end)) end = at + marker.size();
  }
  return end;
}

bool is_later(std::size_t end, std::size_t other) {
  return end != npos && (other == npos || end > other);
}

}  // namespace

Format::Start Format::start_without_prompt() const {
  Start start{spec_.reasoning && spec_.reasoning->starts_open, {}, -1};
  for (std::size_t i = 0; i < spec_.markup.size(); ++i) {
    if (spec_.markup[i].starts_open) start.markup = static_cast<int>(i);
  }
  return start;
}

Format::Start Format::start_after(std::string_view prompt) const {
  if (Start start; opens_header(prompt, start) || opens_call(prompt, start)) return start;
  return spec_.reasoning ? start_by_tags(prompt) : Start{};
}

bool Format::opens_header(std::string_view prompt, Start& start) const {
  for (std::size_t i = 0; i < spec_.markup.size(); ++i) {
    const MarkupSpec& markup = spec_.markup[i];
    if (!markup.has_header() || !markup.begins.empty()) continue;
    const auto& opens = markup.open.texts;
    if (std::none_of(opens.begin(), opens.end(),
                     [&](const std::string& text) { return prompt.ends_with(text); }))
      continue;
    start.markup = static_cast<int>(i);
    return true;
  }
  return false;
}

// Whether the prompt ends with what opens a call or a section of calls.
bool Format::opens_call(std::string_view prompt, Start& start) const {
  const std::string_view written = trim_end(prompt);
  std::size_t longest = 0;
  for (std::size_t i = 0; i < openers_.texts.size(); ++i) {
    const std::string_view opener = trim_end(openers_.texts[i]);
    if (opener.size() <= longest || is_word(opener) || !written.ends_with(opener)) continue;
    longest = opener.size();
    start.opener = static_cast<int>(i);
  }
  const std::size_t section = last_end(written, spec_.section_open.texts);
  start.in_section = is_later(section, last_end(written, spec_.section_close.texts)) &&
                     (start.opener >= 0 || section == written.size());
  return start.opener >= 0 || start.in_section;
}

// Only what the template wrote for this answer counts: a user may have written the tags too.
Format::Start Format::start_by_tags(std::string_view prompt) const {
  const ReasoningSpec& reasoning = *spec_.reasoning;
  const std::size_t turn = last_end(prompt, reasoning.turn);
  const std::string_view tail = turn == npos ? prompt : prompt.substr(turn);
  const auto latest = [&](const MarkerSpec& marker) {
    const std::size_t end = last_end(tail, marker.texts);
    // Without a turn marker to trust, a tag counts only at the very end of the prompt.
    const bool counts = turn != npos || (end != npos && is_blank(tail.substr(end)));
    return counts ? end : npos;
  };
  const std::size_t opened = latest(reasoning.open);
  const std::size_t closed = latest(reasoning.close);
  if (opened == npos && closed == npos) return start_without_prompt();
  const bool is_closed = is_later(closed, opened);
  std::string_view written = tail.substr(is_closed ? closed : opened);
  std::string_view skip = is_closed ? reasoning.close.after : reasoning.open.after;
  while (!skip.empty() && !written.empty() && skip[0] == written[0]) {
    skip.remove_prefix(1);
    written.remove_prefix(1);
  }
  return {!is_closed, written.empty() ? skip : std::string_view{}, -1};
}

std::size_t Format::reasoning_end(std::string_view text) const {
  if (!spec_.reasoning) return npos;
  const ReasoningSpec& reasoning = *spec_.reasoning;
  const std::size_t turn = last_end(text, reasoning.turn);
  const std::size_t from = turn == npos ? 0 : turn;
  const std::string_view tail = text.substr(from);
  Texts ends = reasoning.close.texts;
  // A prompt may show calls as examples: only where a turn can be told from these.
  if (reasoning.calls == CallsInReasoning::end && !reasoning.turn.empty()) {
    const auto add = [&](const MarkerSpec& marker) {
      ends.insert(ends.end(), marker.texts.begin(), marker.texts.end());
    };
    add(spec_.section_open);
    for (const CallSpec& call : spec_.calls) add(call.open);
  }
  const std::size_t end = last_end(tail, ends);
  return is_later(end, last_end(tail, reasoning.open.texts)) ? from + end : npos;
}

}  // namespace unspool
