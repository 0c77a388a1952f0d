#include "format/turn.h"

#include <algorithm>

#include "text/white_space.h"

namespace unspool {

namespace {

constexpr std::size_t kLeastTag = 3;

using Texts = std::vector<std::string>;

std::string_view trim_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// Any prompt may end with a word.
bool is_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

// The position of the first of these texts; std::string_view::npos if there is none.
std::size_t first(std::string_view text, const Texts& markers) {
  std::size_t at = std::string_view::npos;
  for (const std::string& marker : markers) at = std::min(at, text.find(marker));
  return at;
}

bool is_later(std::size_t end, std::size_t other) {
  return end != std::string_view::npos && (other == std::string_view::npos || end > other);
}

// The end of the last of these texts; std::string_view::npos if there is none.
std::size_t last_end(std::string_view text, const Texts& markers) {
  std::size_t end = std::string_view::npos;
  for (const std::string& marker : markers) {
    const std::size_t at = text.rfind(marker);
    if (at != std::string_view::npos && is_later(at + marker.size(), end)) end = at + marker.size();
  }
  return end;
}

// The length of the longest of these texts that the text ends with.
std::size_t size_at_end(std::string_view text, const Texts& markers) {
  std::size_t longest = 0;
  for (const std::string& marker : markers) {
    const std::string_view written = trim_end(marker);
    if (!is_word(written) && text.ends_with(written)) longest = std::max(longest, written.size());
  }
  return longest;
}

// The length of the reasoning's opener at the end of a turn.
std::size_t opener_size(const Program& program, std::string_view turn) {
  return program.reasoning ? size_at_end(trim_end(turn), program.reasoning->open.texts) : 0;
}

std::string_view marker_of(const Program& program, std::string_view turn) {
  const std::size_t size = opener_size(program, turn);
  return size == 0 ? turn : turn.substr(0, trim_end(turn).size() - size);
}

struct Span {
  std::size_t begin, end;
};

// The marker of the last turn in a text; if two end at one position, the longer one.
// A conversation has many turns, and a user may have written the marker too: the last one counts.
Span last_turn(const Program& program, std::string_view text) {
  Span last{std::string_view::npos, std::string_view::npos};
  for (const std::string& turn : program.turn) {
    const std::string_view marker = marker_of(program, turn);
    const std::size_t begin = marker.empty() ? std::string_view::npos : text.rfind(marker);
    if (begin == std::string_view::npos) continue;
    const std::size_t end = begin + marker.size();
    const bool is_longer = end == last.end && begin < last.begin;
    if (is_longer || is_later(end, last.end)) last = {begin, end};
  }
  return last;
}

// What follows the marker of the last turn, which may open a header itself.
PromptTurn after_turn(const Program& program, std::string_view prompt, Span turn) {
  const std::string_view marker = prompt.substr(turn.begin, turn.end - turn.begin);
  std::size_t header = marker.size();
  for (const MarkupRegion& markup : program.markup) {
    if (!markup.has_header() || markup.is_inline) continue;
    for (const std::string& open : markup.open.texts) header = std::min(header, marker.find(open));
  }
  return {marker.substr(header), prompt.substr(turn.end)};
}

// The length of the longest beginning of a tag, but not of the whole, that the text ends with.
std::size_t begun_at_end(std::string_view text, const Texts& tags) {
  std::size_t longest = 0;
  for (const std::string& tag : tags) {
    const std::string_view written = trim(tag);
    for (std::size_t size = written.size(); size-- > longest + 1;) {
      if (text.ends_with(written.substr(0, size)) && !is_word(written.substr(0, size)))
        longest = size;
    }
  }
  return longest;
}

// The text from the last line on that may begin a call without an opener, with its fence.
std::string_view from_last_bare(std::string_view prompt, const Program& program) {
  std::string letters;
  for (const CallRegion& call : program.calls) {
    if (call.is_bare()) letters += call.start.letters;
  }
  std::size_t begin = prompt.size();
  while (begin > 0) {
    begin = prompt.find_last_of(letters, begin - 1);
    if (begin == std::string_view::npos) return {};
    if (begin == 0 || prompt[begin - 1] == '\n') break;
  }
  // A fence that says what is in it opens a block, and so does one directly before the call.
  const std::string_view before = prompt.substr(0, begin);
  const std::size_t last = before.rfind("\n```");
  const std::size_t at = last == std::string_view::npos ? 0 : last + 1;
  const std::string_view fence = before.substr(at);
  if (!fence.starts_with("```")) return prompt.substr(begin);
  const std::size_t line_end = fence.find('\n');
  const bool opens = !is_blank(fence.substr(3, line_end - 3)) || at + line_end + 1 == begin;
  return prompt.substr(opens ? at : begin);
}

// The text from the last of these tags on.
std::string_view from_last(std::string_view prompt, const Texts& tags) {
  std::size_t begin = std::string_view::npos;
  for (const std::string& tag : tags) {
    const std::string_view written = trim(tag);
    // A bracket or a word is no tag.
    if (written.size() < kLeastTag || is_word(written)) continue;
    if (const std::size_t at = prompt.rfind(written); is_later(at, begin)) begin = at;
  }
  return begin == std::string_view::npos ? std::string_view{} : prompt.substr(begin);
}

// The tags at the very end of a prompt.
// Several may stand there, as after a prompt that opens the calls for the model.
std::string_view tags_at_end(const Program& program, std::string_view prompt) {
  std::size_t from = prompt.size();
  for (std::size_t size = 1; size > 0;) {
    const bool may_be_begun = from == prompt.size();
    const std::string_view written = trim_end(prompt.substr(0, from));
    size = 0;
    const auto add = [&](const Texts& texts) {
      size = std::max(size, size_at_end(written, texts));
      if (may_be_begun) size = std::max(size, begun_at_end(prompt, texts));
    };
    const auto add_begun = [&](const Texts& texts) {
      if (may_be_begun) size = std::max(size, begun_at_end(prompt, texts));
    };
    // What ends a call or the answer may be half written too.
    add_begun(program.ends);
    add_begun(program.section.close.texts);
    for (const CallRegion& call : program.calls) add_begun(call.close.texts);
    for (const MarkupRegion& markup : program.markup) add_begun(markup.open.texts);
    add(program.section.open.texts);
    for (const CallRegion& call : program.calls) add(call.open.texts);
    for (const MarkupRegion& markup : program.markup) {
      if (markup.has_header() && !markup.is_inline) add(markup.open.texts);
    }
    if (program.reasoning) add(program.reasoning->open.texts);
    if (program.reasoning) add(program.reasoning->close.texts);
    if (size > 0) from = written.size() - size;
  }
  return prompt.substr(from);
}

}  // namespace

std::vector<PromptTurn> turns_of(const Program& program, std::string_view prompt) {
  std::vector<PromptTurn> turns;
  if (const Span turn = last_turn(program, prompt); turn.end != std::string_view::npos) {
    turns.push_back(after_turn(program, prompt, turn));
  } else {
    Texts calls;
    for (const CallRegion& call : program.calls)
      calls.insert(calls.end(), call.open.texts.begin(), call.open.texts.end());
    turns.push_back({{}, from_last(prompt, program.section.open.texts)});
    turns.push_back({{}, from_last(prompt, calls)});
    turns.push_back({{}, from_last_bare(prompt, program)});
    turns.push_back({{}, tags_at_end(program, prompt)});
  }
  const PromptTurn& last = turns.back();
  if (last.header.empty() && is_blank(last.written)) turns.back() = turn_without_prompt(program);
  return turns;
}

std::string_view end_of_prompt(const Program& program, std::string_view prompt) {
  const Span turn = last_turn(program, prompt);
  return turn.end == std::string_view::npos ? tags_at_end(program, prompt)
                                            : prompt.substr(turn.begin);
}

PromptTurn turn_without_prompt(const Program& program) {
  if (program.turn.empty()) return {};
  const std::string_view turn = program.turn.front();
  const PromptTurn found = after_turn(program, turn, {0, marker_of(program, turn).size()});
  return found.header.empty() && is_blank(found.written) ? PromptTurn{} : found;
}

bool begins_in_reasoning(const Program& program, std::string_view turn) {
  if (!program.reasoning || program.has_reasoning_headers()) return false;
  const Texts& opens = program.reasoning->open.texts;
  return opens.empty() || first(turn, program.reasoning->close.texts) < first(turn, opens);
}

bool opens_reasoning(const Program& program) {
  if (!program.reasoning) return false;
  return program.reasoning->open.is_empty() ||
         (!program.turn.empty() && opener_size(program, program.turn.front()) > 0);
}

// A prompt may hold earlier reasoning, so only what comes after the last turn is looked at.
std::size_t reasoning_end(const Program& program, std::string_view text) {
  if (!program.reasoning) return std::string_view::npos;
  const ReasoningRegion& reasoning = *program.reasoning;
  const std::size_t turn = last_turn(program, text).end;
  const std::size_t from = turn == std::string_view::npos ? 0 : turn;
  const std::string_view tail = text.substr(from);
  Texts ends = reasoning.close.texts;
  // A prompt may show calls as examples: they count only if a turn of the format can begin there.
  if (reasoning.calls == CallsInReasoning::end && !program.turn.empty()) {
    const auto add = [&](const MarkerTexts& marker) {
      ends.insert(ends.end(), marker.texts.begin(), marker.texts.end());
    };
    add(program.section.open);
    for (const CallRegion& call : program.calls) add(call.open);
  }
  const std::size_t end = last_end(tail, ends);
  return is_later(end, last_end(tail, reasoning.open.texts)) ? from + end : std::string_view::npos;
}

}  // namespace unspool
