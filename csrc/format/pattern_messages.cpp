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

/// What ends a header: a tag, or a line break where nothing else does.
std::string_view header_end(const Pattern& header) {
  return is_blank(header.last()) ? std::string_view(header.last()) : trim(header.last());
}

bool ends_header(const MarkupSpec& header, std::string_view literal) {
  return std::any_of(header.close.texts.begin(), header.close.texts.end(), [&](const auto& text) {
    return literal.ends_with(text) || trim(literal).ends_with(text);
  });
}

/// A literal without the bracket of a list at its edge.
std::string_view without_bracket(std::string_view literal) {
  std::string_view text = trim(literal);
  if (text.starts_with(']')) return text.substr(1);
  if (text.ends_with('[')) return literal.substr(0, literal.rfind('['));
  return literal;
}

/// A header that is a tool's name: no white space, no quote, no bracket.
constexpr const char* kToolName = "[^\\s<>(){}\"'`]+";

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
    if (opens_message(pattern.first()))
      add_new(reasoning.close.texts, trim(without_bracket(pattern.last())));
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
  const std::string_view content = trim(without_turn(file_.content.front().first()));
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

// What a header says: a literal without what opens and ends it.
std::string PatternCompiler::header_part(std::string_view literal) const {
  std::string part(literal);
  const auto erase = [&](std::string_view mark) {
    for (std::size_t at = part.find(mark); !mark.empty() && at != std::string::npos;
         at = part.find(mark)) {
      part.erase(at, mark.size());
    }
  };
  for (const Pattern& pattern : file_.header) erase(trim(pattern.first()));
  for (const Pattern& pattern : file_.header) erase(header_end(pattern));
  return part;
}

// A turn that ends with what opens a header: the output goes on in it. Where headers are told apart
// by what they say alone, this is how one may begin.
void PatternCompiler::read_first_header(MarkupSpec& header) const {
  const bool is_open = std::any_of(file_.turn.begin(), file_.turn.end(), [&](const auto& turn) {
    return std::any_of(header.open.texts.begin(), header.open.texts.end(),
                       [&](const auto& open) { return turn.ends_with(open); });
  });
  if (!is_open) return;
  header.starts_open = header.names_tool;
  if (header.names_tool || !is_blank(header.close.texts[0])) return;
  for (const std::string& word : header.reasoning) header.begins.push_back(word);
  for (const Pattern& pattern : file_.call) {
    if (!pattern.has(HoleKind::object) || !opens_message(pattern.first())) continue;
    header.begins.push_back(header_part(without_bracket(pattern.first())));
  }
  for (const Pattern& pattern : file_.content) {
    if (is_blank(header_part(pattern.first()))) header.begins.push_back(header.close.texts[0]);
  }
}

// What the headers of calls say: whom they call, or that calls follow.
void PatternCompiler::read_call_headers(MarkupSpec& header, Texts& closers) const {
  for (const Pattern& pattern : file_.call) {
    if (!opens_message(pattern.first())) continue;
    if (pattern.has(HoleKind::object)) {  // a header that names no tool says that calls follow
      header.calls.emplace_back(trim(header_part(without_bracket(pattern.first()))));
      add_new(closers, trim(without_bracket(pattern.last())));
      continue;
    }
    if (!pattern.has(HoleKind::name) || !ends_header(header, pattern.behind(HoleKind::name)))
      continue;
    const std::string_view recipient = split_recipient(pattern.first()).word;
    if (recipient.empty() && !contains(header.open.texts, trim(pattern.first()))) continue;
    header.recipient = recipient;
    header.names_tool = recipient.empty();
    header.not_tools = {"user", "assistant", "all"};
    add_new(closers, trim(pattern.last()));
  }
}

void PatternCompiler::read_header() {
  MarkupSpec header;
  Texts closers;
  for (const Pattern& pattern : file_.header) {
    add_new(header.open.texts, trim(pattern.first()));
    add_new(header.close.texts, header_end(pattern));
  }
  const auto take_space = [&](std::string_view literal) {  // white space after a header is markup
    for (const std::string& text : header.close.texts) {
      const std::size_t at = literal.rfind(text);
      if (is_blank(text) || at == std::string_view::npos) continue;
      const std::string_view after = literal.substr(at + text.size());
      if (is_blank(after) && after.size() > header.close.after.size()) header.close.after = after;
    }
  };
  for (const Pattern& pattern : file_.reasoning) {
    const std::string word = header_part(without_turn(pattern.first()));
    if (ends_header(header, pattern.first()) && !is_blank(word))
      header.reasoning.emplace_back(trim(word));
    add_new(closers, trim(pattern.last()));
    take_space(pattern.first());
  }
  read_call_headers(header, closers);
  read_first_header(header);
  std::string recipient = header.recipient;
  if (recipient.empty() && !header.reasoning.empty()) {
    recipient = header.reasoning[0].substr(0, header.reasoning[0].find('=') + 1);
  }
  if (!recipient.empty()) header.begins = {" " + recipient, recipient};
  for (const Pattern& pattern : file_.content) {
    add_new(closers, trim(pattern.last()));
    take_space(pattern.first());
    if (header.names_tool) add_new(header.not_tools, trim(header_part(pattern.first())));
  }
  for (const std::string& text : header.close.texts) add_new(closers, trim(text));
  const bool tells = header.tells();
  MarkupSpec stray;
  for (const std::string& closer : closers) {
    if (!contains(file_.end, closer) || !tells) add_new(stray.open.texts, closer);
  }
  header.header = header_pattern(header);
  spec_.markup.push_back(std::move(header));
  if (!stray.open.is_empty()) spec_.markup.push_back(std::move(stray));
}

// The tags that stand in the headers of calls, but for those that open or end a header.
Texts PatternCompiler::tags_of_calls(const MarkupSpec& markup) const {
  Texts tags;
  for (const Pattern& pattern : file_.call) {
    if (!opens_message(pattern.first())) continue;
    for (const std::string& text : pattern.texts) {
      for (std::size_t begin = text.find('<'); begin != std::string::npos;
           begin = text.find('<', begin + 1)) {
        const std::size_t end = text.find('>', begin);
        if (end == std::string::npos || &text == &pattern.texts.back()) break;
        const std::string tag = text.substr(begin, end + 1 - begin);
        if (!contains(markup.open.texts, tag) && !contains(markup.close.texts, tag))
          add_new(tags, tag);
      }
    }
  }
  return tags;
}

// The words that the patterns' headers have, in any order; after a recipient or a call's own tag
// anything but a call's body.
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
    for (const Pattern& pattern : *patterns) {
      add_words(pattern.first());
      if (is_blank(markup.close.texts[0])) add_words(header_part(pattern.first()));
    }
  }
  for (const Pattern& pattern : file_.call) {
    if (opens_message(pattern.first()) && !markup.names_tool)
      add_words(split_recipient(without_bracket(pattern.first())).before);
  }
  if (markup.names_tool) return "(?:" + escaped(markup.open.texts[0]) + ")?" + kToolName;
  std::string known = "\\s";
  for (const std::string& word : words) known += "|" + escaped(word);
  for (const std::string& open : markup.open.texts) known += "|" + escaped(open);
  const bool has_recipient = !markup.begins.empty() && markup.begins.back().ends_with('=');
  std::string others = has_recipient ? escaped(markup.begins.back()) : "";
  for (const std::string& tag : tags_of_calls(markup))
    others += (others.empty() ? "" : "|") + escaped(tag);
  return "(?:" + known + ")*" + (others.empty() ? "" : "(?:(?:" + others + ")[^{\"]*)?");
}

}  // namespace unspool
