// Reasoning, content, and the headers of messages.
#include "format/pattern_compiler.h"
#include "text/error.h"

namespace unspool {

namespace {

bool is_token(std::string_view text) {
  return text.size() > 4 && text.starts_with("<|") && text.ends_with("|>") &&
         text.substr(2, text.size() - 4).find_first_of("|<>") == std::string_view::npos;
}

/// <token>word and white space: the word is a label, which may be missing. Its length, or 0.
std::size_t label_size(std::string_view literal) {
  const Edges edges = split_edges(literal);
  const std::size_t end = edges.text.find('>');
  if (edges.text.empty() || edges.text[0] != '<' || edges.after.empty() ||
      end == std::string_view::npos || end + 1 == edges.text.size()) {
    return 0;
  }
  const std::string_view word = edges.text.substr(end + 1);
  const bool is_plain =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
  const bool is_one =
      edges.text.substr(1, end - 1).find_first_of("< \t\n") == std::string_view::npos;
  return is_plain && is_one ? word.size() + edges.after.size() : 0;
}

/// A text as a pattern that matches it.
std::string escaped(std::string_view text) {
  std::string pattern;
  for (const char byte : text) {
    if (std::string_view("\\|()[]{}*+?.^$").find(byte) != std::string_view::npos) pattern += '\\';
    pattern += byte;
  }
  return pattern;
}

}  // namespace

bool PatternCompiler::has_messages() const {
  return std::any_of(file_.header.begin(), file_.header.end(),
                     [](const Pattern& header) { return !is_blank(header.first()); });
}

bool PatternCompiler::opens_message(std::string_view literal) const {
  return std::any_of(file_.header.begin(), file_.header.end(), [&](const Pattern& header) {
    return !is_blank(header.first()) &&
           literal.find(trim(header.first())) != std::string_view::npos;
  });
}

std::string_view PatternCompiler::without_turn(std::string_view text) const {
  for (const std::string& turn : file_.turn) {
    if (text.starts_with(turn)) return text.substr(turn.size());
  }
  return text;
}

// Messages with an author before their kind: <message>${_}<kind>${content}<end>.
void PatternCompiler::take_authors() {
  for (Pattern& pattern : file_.content) take_author(pattern, true);
  for (Pattern& pattern : file_.reasoning) take_author(pattern, false);
  for (Pattern& pattern : file_.call) take_author(pattern, false);
}

void PatternCompiler::take_author(Pattern& pattern, bool is_content) {
  if (pattern.holes.size() < 2 || pattern.holes[0].kind != HoleKind::any ||
      is_blank(pattern.first())) {
    return;
  }
  add_new(authors_.open.texts, trim(pattern.first()));
  if (is_content) authors_.close.texts.emplace_back(trim(pattern.texts[1]));
  pattern.texts.erase(pattern.texts.begin());
  pattern.holes.erase(pattern.holes.begin());
}

// The token that ends an answer ends its last message too.
void PatternCompiler::read_authors() {
  add_new(authors_.close.texts, file_.end);
  authors_.header = "[^\\s<]*";
  spec_.markup.push_back(authors_);
  MarkupSpec ends;
  add_new(ends.open.texts, file_.end);
  spec_.markup.push_back(std::move(ends));
  for (CallSpec& call : spec_.calls) add_new(call.close.texts, file_.end);
  if (spec_.reasoning) add_new(spec_.reasoning->close.texts, file_.end);
}

void PatternCompiler::read_reasoning() {
  spec_.reasoning.emplace();
  for (const Pattern& pattern : file_.reasoning) {
    if (is_blank(pattern.last())) throw PatternError("reasoning", "nothing ends the ${reasoning}");
  }
  has_messages() ? read_headed_reasoning() : read_tagged_reasoning();
  read_turn();
  if (file_.reasoning.front().first().empty()) spec_.reasoning->starts_open = true;
  const bool is_verbatim = std::any_of(
      file_.reasoning.begin(), file_.reasoning.end(),
      [](const Pattern& pattern) { return pattern.hole(HoleKind::reasoning).has("verbatim"); });
  spec_.reasoning->calls = is_verbatim ? CallsInReasoning::wait_and_see : CallsInReasoning::end;
}

void PatternCompiler::read_headed_reasoning() {
  ReasoningSpec& reasoning = *spec_.reasoning;
  for (const Pattern& pattern : file_.reasoning) {
    add_new(reasoning.open.texts, without_turn(pattern.first()));
    add_new(reasoning.close.texts, trim(pattern.last()));
  }
  add_new(reasoning.close.texts, file_.end);
  for (const Pattern& pattern : file_.call) {
    if (opens_message(pattern.first())) add_new(reasoning.close.texts, trim(pattern.last()));
  }
}

void PatternCompiler::read_tagged_reasoning() {
  ReasoningSpec& reasoning = *spec_.reasoning;
  std::vector<std::string_view> opens, closes;
  for (const Pattern& pattern : file_.reasoning) {
    opens.push_back(pattern.first());
    closes.push_back(pattern.last());
  }
  for (std::string_view& open : opens) {
    const std::size_t size = label_size(open);
    if (size == 0) continue;
    if (reasoning.label.empty()) reasoning.label = open.substr(open.size() - size);
    open.remove_suffix(size);
  }
  reasoning.open = to_marker(opens);
  reasoning.close = to_marker(closes);
  if (file_.content.empty()) return;  // a content's opener ends a reasoning that nothing closed
  const std::string_view content = trim(file_.content.front().first());
  if (is_token(content)) add_new(reasoning.close.texts, content);
}

// What the prompt writes last; where that opens the reasoning, the output starts in it.
void PatternCompiler::read_turn() {
  ReasoningSpec& reasoning = *spec_.reasoning;
  for (std::string_view turn : file_.turn) {
    const std::string_view end = turn.substr(0, turn.find_last_not_of(kSpace) + 1);
    std::size_t longest = 0;
    for (const std::string& open : reasoning.open.texts) {
      if (!has_messages() && end.ends_with(open)) longest = std::max(longest, open.size());
    }
    if (longest > 0) {
      reasoning.starts_open = true;
      turn = end.substr(0, end.size() - longest);
    }
    add_new(reasoning.turn, turn);
  }
}

void PatternCompiler::read_content() {
  if (has_messages()) return;
  for (const Pattern& pattern : file_.content) {
    if (pattern.count(HoleKind::content) > 1) {  // markup within a text that goes on
      if (pattern.texts.size() < 4)
        throw PatternError("content", "content has markup with one side only");
      MarkupSpec open, close;
      open.is_inline = close.is_inline = true;
      open.open.texts.emplace_back(trim(pattern.texts[1]));
      close.open.texts.emplace_back(trim(pattern.texts[2]));
      if (pattern.holes[2].kind == HoleKind::any) {
        close.close.texts.emplace_back(trim(pattern.texts[3]));
        close.header = "[^<>A-Za-z]*";
      }
      spec_.markup.push_back(std::move(open));
      spec_.markup.push_back(std::move(close));
      continue;
    }
    for (const std::string& literal : {pattern.first(), pattern.last()}) {
      if (!is_blank(literal)) spec_.markup.push_back(to_markup(literal));
    }
  }
}

void PatternCompiler::read_header() {
  MarkupSpec header;
  Texts closers;
  for (const Pattern& pattern : file_.header) {
    add_new(header.open.texts, trim(pattern.first()));
    add_new(header.close.texts, trim(pattern.last()));
  }
  const auto ends_header = [&](std::string_view literal) {
    return std::any_of(header.close.texts.begin(), header.close.texts.end(),
                       [&](const auto& text) { return trim(literal).ends_with(text); });
  };
  for (const Pattern& pattern : file_.reasoning) {
    std::string word(without_turn(pattern.first()));
    const bool is_header = ends_header(word);
    for (const Texts& marks : {header.open.texts, header.close.texts}) {
      for (const std::string& mark : marks) {
        for (std::size_t at = word.find(mark); at != std::string::npos; at = word.find(mark)) {
          word.erase(at, mark.size());
        }
      }
    }
    if (is_header && !is_blank(word)) header.reasoning.emplace_back(trim(word));
    add_new(closers, trim(pattern.last()));
  }
  for (const Pattern& pattern : file_.call) {
    if (!pattern.has(HoleKind::name) || !ends_header(pattern.behind(HoleKind::name)) ||
        !opens_message(pattern.first())) {
      continue;
    }
    const std::string_view recipient = split_recipient(pattern.first()).word;
    if (recipient.empty()) continue;
    header.recipient = recipient;
    header.not_tools = {"user", "assistant", "all"};
    add_new(closers, trim(pattern.last()));
  }
  std::string recipient = header.recipient;
  if (recipient.empty() && !header.reasoning.empty()) {
    recipient = header.reasoning[0].substr(0, header.reasoning[0].find('=') + 1);
  }
  if (!recipient.empty()) header.begins = {" " + recipient, recipient};
  for (const Pattern& pattern : file_.content) add_new(closers, trim(pattern.last()));
  add_new(closers, header.close.texts);
  const bool tells = !header.recipient.empty() || !header.reasoning.empty();
  MarkupSpec stray;
  for (const std::string& closer : closers) {
    if (!contains(file_.end, closer) || !tells) add_new(stray.open.texts, closer);
  }
  header.header = header_pattern(header);
  spec_.markup.push_back(std::move(header));
  if (!stray.open.is_empty()) spec_.markup.push_back(std::move(stray));
}

// The words that the patterns' headers have, in any order; after a recipient or a tag of a call's
// own header anything but a call's body.
std::string PatternCompiler::header_pattern(const MarkupSpec& markup) const {
  Texts words, tags;
  const auto add_words = [&](std::string_view literal) {
    while (!literal.empty()) {
      const std::size_t begin = literal.find_first_not_of(" \n");
      if (begin == std::string_view::npos) return;
      const bool is_tag = literal[begin] == '<';
      const std::size_t end = is_tag
                                  ? std::min(literal.find('>', begin), literal.size() - 1) + 1
                                  : std::min(literal.find_first_of("< \n", begin), literal.size());
      const std::string_view word = literal.substr(begin, end - begin);
      const auto begins_with_it = [&](const std::string& text) { return text.starts_with(word); };
      const bool is_marker =
          std::any_of(markup.open.texts.begin(), markup.open.texts.end(), begins_with_it) ||
          contains(markup.close.texts, word);
      if (is_tag && !is_marker) add_new(tags, word);
      if (!is_tag && word.find('=') == std::string_view::npos) add_new(words, word);
      literal.remove_prefix(end);
    }
  };
  for (const auto* patterns : {&file_.reasoning, &file_.content}) {
    for (const Pattern& pattern : *patterns) add_words(pattern.first());
  }
  for (const Pattern& pattern : file_.call) {
    if (!opens_message(pattern.first()) || !pattern.has(HoleKind::name)) continue;
    add_words(split_recipient(pattern.first()).before);
    Texts before_tags = std::move(words);
    add_words(pattern.behind(HoleKind::name));
    words = std::move(before_tags);  // a word after the name is the tag's
  }
  std::string known = "\\s";
  for (const std::string& word : words) known += "|" + escaped(word);
  for (const std::string& open : markup.open.texts) known += "|" + escaped(open);
  if (!markup.begins.empty()) add_new(tags, markup.begins.back());
  std::string rest;
  for (const std::string& tag : tags) rest += (rest.empty() ? "" : "|") + escaped(tag);
  const std::string anything = rest.empty() ? "" : "(?:(?:" + rest + ")[^{\"]*)?";
  return "(?:" + known + ")*" + anything;
}

}  // namespace unspool
