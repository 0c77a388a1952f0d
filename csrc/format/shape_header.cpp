// Message headers: their openers and closers, and their meaning for the text after them.
#include "format/pattern_texts.h"
#include "format/shape_readers.h"

namespace unspool {

namespace {

/// A header that is a tool's name: without white space, quotes and brackets.
constexpr const char* kToolName = "[^\\s<>(){}\"'`]+";

/// The end of a header: a tag, or a line break if there is no tag.
std::string_view header_end(const Pattern& header) {
  return is_blank(header.last()) ? std::string_view(header.last()) : trim(header.last());
}

/// A pattern that matches this text.
std::string escaped(std::string_view text) {
  std::string pattern;
  for (const char byte : text) {
    if (std::string_view("\\|()[]{}*+?.^$").find(byte) != std::string_view::npos) pattern += '\\';
    pattern += byte;
  }
  return pattern;
}

/// A pattern that matches another pattern or any of these texts.
std::string one_of(std::string_view other, const Texts& texts) {
  std::string pattern("(?:");
  pattern += other;
  for (const std::string& text : texts) {
    if (&text != &texts.front() || !other.empty()) pattern += '|';
    pattern += escaped(text);
  }
  return pattern + ")";
}

/// Appends the words of a header that are not part of an "=" assignment or a tag.
void add_words(Texts& words, std::string_view literal) {
  while (!literal.empty()) {
    const std::size_t begin = literal.find_first_not_of(" \n");
    if (begin == std::string_view::npos) return;
    const bool is_tag = literal[begin] == '<';
    const std::size_t end = is_tag ? std::min(literal.find('>', begin), literal.size() - 1) + 1
                                   : std::min(literal.find_first_of("< \n", begin), literal.size());
    const std::string_view word = literal.substr(begin, end - begin);
    if (!is_tag && word.find('=') == std::string_view::npos) add_new(words, word);
    literal.remove_prefix(end);
  }
}

class HeaderPatternReader {
 public:
  explicit HeaderPatternReader(const PatternFile& file) : file_(file) {
    for (const Pattern& pattern : file_.call) {
      if (file_.opens_message(pattern.first())) calls_.push_back(&pattern);
    }
  }

  std::vector<MarkupRegion> read() {
    for (const Pattern& pattern : file_.header) {
      add_new(header_.open.texts, trim(pattern.first()));
      add_new(header_.close.texts, header_end(pattern));
    }
    if (header_.close.is_empty()) throw PatternError("header", "nothing ends the header");
    for (const Pattern& pattern : file_.reasoning) read_reasoning(pattern);
    for (const Pattern* pattern : calls_) read_call(*pattern);
    for (const Pattern& pattern : file_.content) read_content(pattern);
    header_.header = pattern();
    MarkupRegion stray = stray_closers();
    std::vector<MarkupRegion> markup{std::move(header_)};
    if (!stray.open.is_empty()) markup.push_back(std::move(stray));
    return markup;
  }

 private:
  /// The text of a header: a literal without its opener and closer.
  std::string part(std::string_view literal) const {
    std::string said(literal);
    const auto erase = [&](std::string_view mark) {
      for (std::size_t at = said.find(mark); !mark.empty() && at != std::string::npos;
           at = said.find(mark)) {
        said.erase(at, mark.size());
      }
    };
    for (const Pattern& header : file_.header) erase(trim(header.first()));
    for (const Pattern& header : file_.header) erase(header_end(header));
    return said;
  }

  bool is_ended(std::string_view literal) const {
    return has_any(header_.close.texts, [&](const std::string& text) {
      return literal.ends_with(text) || trim(literal).ends_with(text);
    });
  }

  // White space after a header is markup.
  void read_space(std::string_view literal) {
    std::string& space = header_.close.after;
    for (const std::string& text : header_.close.texts) {
      const std::size_t at = literal.rfind(text);
      if (at == std::string_view::npos) continue;
      const std::string_view after = literal.substr(at + text.size());
      if (is_blank(after) && after.size() > space.size()) space = after;
    }
  }

  void read_reasoning(const Pattern& pattern) {
    const std::string word = part(file_.without_turn(pattern.first()));
    if (is_ended(pattern.first()) && !is_blank(word)) header_.reasoning.emplace_back(trim(word));
    add_new(closers_, trim(pattern.last()));
    read_space(pattern.first());
  }

  // The header of a call: its recipient, or that calls follow.
  void read_call(const Pattern& pattern) {
    if (pattern.has(HoleKind::object)) {  // a header without a tool's name announces calls
      header_.calls.emplace_back(trim(part(without_bracket(pattern.first()))));
      add_new(closers_, trim(without_bracket(pattern.last())));
      return;
    }
    if (!pattern.has(HoleKind::name) || !is_ended(pattern.after(HoleKind::name))) return;
    const std::string_view recipient = split_recipient(pattern.first()).word;
    if (recipient.empty() && !contains(header_.open.texts, trim(pattern.first()))) return;
    header_.recipient = recipient;
    header_.names_tool = recipient.empty();
    header_.not_tools = {"user", "assistant", "all"};
    add_new(closers_, trim(pattern.last()));
  }

  // to=user: the header says to whom the text goes.
  void read_addressee(std::string_view header) {
    const Recipient recipient = split_recipient(header);
    const std::string_view name =
        recipient.prefix.substr(0, recipient.prefix.find_first_of(" \t\r\n<"));
    if (!recipient.word.empty() && !name.empty())
      add_new(header_.texts, std::string(recipient.word).append(name));
  }

  void read_content(const Pattern& pattern) {
    read_addressee(part(file_.without_turn(pattern.first())));
    add_new(closers_, trim(pattern.last()));
    read_space(pattern.first());
    if (header_.names_tool) add_new(header_.not_tools, trim(part(pattern.first())));
  }

  MarkupRegion stray_closers() {
    for (const std::string& text : header_.close.texts) add_new(closers_, trim(text));
    MarkupRegion stray;
    for (const std::string& closer : closers_) {
      if (!contains(file_.end, closer)) add_new(stray.open.texts, closer);
    }
    return stray;
  }

  // The text before a header's recipient; "to=" in "to=self", if no call defines it.
  std::string recipient() const {
    if (!header_.recipient.empty() || header_.reasoning.empty()) return header_.recipient;
    return header_.reasoning[0].substr(0, header_.reasoning[0].find('=') + 1);
  }

  // The words of the patterns' headers, in any order. After a recipient or a call's own tag:
  // anything except a call's body. Where no header is a call's, a recipient is one word: what
  // follows it is the text of a message whose header nothing closes.
  std::string pattern() const {
    if (header_.names_tool)
      return std::string("(?:").append(escaped(header_.open.texts[0])).append(")?") + kToolName;
    Texts known = words(), others = tags_of_calls();
    add_new(known, header_.open.texts);
    const std::string word = recipient();
    if (!word.empty()) others.insert(others.begin(), word);
    std::string made = one_of("\\s", known) + "*";
    const char* rest = calls_.empty() ? "[^\\s{\"]*\\s*)?" : "[^{\"]*)?";
    if (!others.empty()) made.append("(?:").append(one_of("", others)).append(rest);
    return made;
  }

  Texts words() const {
    Texts words;
    for (const auto* patterns : {&file_.reasoning, &file_.content}) {
      for (const Pattern& pattern : *patterns) {
        add_words(words, pattern.first());
        if (is_blank(header_.close.texts[0])) add_words(words, part(pattern.first()));
      }
    }
    for (const Pattern* pattern : calls_)
      add_words(words, split_recipient(without_bracket(pattern->first())).before);
    return words;
  }

  // The tags within the headers of calls, except those that open or end a header.
  Texts tags_of_calls() const {
    Texts tags;
    for (const Pattern* pattern : calls_) {
      for (std::size_t i = 0; i + 1 < pattern->texts.size(); ++i) {
        for (const std::string& tag : tags_in(pattern->texts[i])) {
          const bool opens = has_any(header_.open.texts, [&](const std::string& text) {
            return text.find(tag) != std::string::npos;
          });
          if (!opens && !contains(header_.close.texts, tag)) add_new(tags, tag);
        }
      }
    }
    return tags;
  }

  const PatternFile& file_;
  std::vector<const Pattern*> calls_;  // that begin with a header
  MarkupRegion header_;
  Texts closers_;  // of messages
};

}  // namespace

// The text before a recipient is found in the reasoning's header, which names one too: to=self.
HeaderShape read_header(const PatternFile& file) {
  const Pattern& first = file.header.front();
  HeaderShape shape{Edge(first.first()), Edge(first.last()), {}, HeaderPatternReader(file).read()};
  if (file.reasoning.empty()) return shape;
  const std::string said = Edge(file.reasoning.front().first()).without(first.first()).literal();
  shape.recipient = said.substr(0, said.find('=') + 1);
  return shape;
}

}  // namespace unspool
