#include "format/edge.h"

#include <algorithm>

#include "text/common_prefix.h"
#include "text/white_space.h"

namespace unspool {

namespace {

constexpr std::size_t npos = std::string_view::npos;

bool is_one_of(std::string_view letter, std::initializer_list<std::string_view> letters) {
  return std::find(letters.begin(), letters.end(), letter) != letters.end();
}

// A letter may have several bytes: ◁ and ｜ open the tags of some families.
std::string_view last_letter(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && (static_cast<unsigned char>(text[--begin]) & 0xC0) == 0x80) {
  }
  return text.substr(begin);
}

/// Splits a text between the end and the beginning of a tag, at white space that `splits`.
template <typename Splits>
std::vector<std::string> split(std::string_view text, std::string_view ends,
                               std::string_view begins, std::string_view space, Splits&& splits) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (ends.find(text[i]) == npos) continue;
    const std::size_t next = std::min(text.find_first_not_of(space, i + 1), text.size());
    if (next == text.size() || begins.find(text[next]) == npos) continue;
    if (!splits(text.substr(i + 1, next - i - 1))) continue;
    parts.emplace_back(text.substr(begin, i + 1 - begin));
    begin = next;
    i = next - 1;
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

}  // namespace

std::string_view first_letter(std::string_view text) {
  std::size_t size = text.empty() ? 0 : 1;
  while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) ++size;
  return text.substr(0, size);
}

Edge::Edge(std::string_view literal) : literal_(literal) {
  const std::string_view text = trim(literal);
  if (text.empty()) return;
  begin_ = static_cast<std::size_t>(text.data() - literal.data());
  end_ = begin_ + text.size();
}

// Between two tags a template's line breaks vary from one release to the next, and models write
// them or not. Beside a word such as "Action:" they tell it from the same word in a sentence.
bool Edge::begins_tag() const { return is_one_of(sign(), {"<", "[", "]", "◁", "|"}); }

bool Edge::ends_tag() const {
  return is_one_of(last_letter(std::string_view(literal_).substr(begin_, end_ - begin_)),
                   {">", "]", "|", ")", "▷", ":", "}"});
}

std::size_t Edge::line_breaks() const {
  return std::min(literal_.find_first_not_of('\n'), literal_.size());
}

// A model that has closed the JSON may end the call and leave the fence out.
std::string Edge::without_fence() const { return text().substr(3); }

// A word alone is too weak: the parser asks for the rest of a call before it takes it for one.
bool Edge::is_word() const {
  const std::string marker = text();
  return marker.find_first_of("<[]{|") == npos && marker.find("◁") == npos;
}

// Only such an opener may end reasoning that nothing closed. A shorter text may be quoted in it.
bool Edge::is_token() const {
  const std::string marker = text();
  return marker.size() > 4 && marker.starts_with("<|") && marker.ends_with("|>") &&
         marker.substr(2, marker.size() - 4).find_first_of("|<>") == npos;
}

std::string Edge::sign() const {
  return std::string(first_letter(std::string_view(literal_).substr(begin_, end_ - begin_)));
}

// "<tool_call>\n<function=" is two tags. A model may write another line break between them, or
// none, so a grammar puts free white space there.
std::vector<std::string> Edge::tags() const {
  return split(text(), ">]", "<[", " \n",
               [](std::string_view space) { return space.find('\n') != npos; });
}

// After a key: "</arg_key><arg_value>". Its model writes the two with a line break or without.
std::vector<std::string> Edge::closing_tags() const {
  if (!literal_.starts_with("</")) return {literal_};
  return split(literal_, ">", "<", kSpace, [](std::string_view) { return true; });
}

Edge Edge::without(std::string_view prefix) const {
  return literal_.starts_with(prefix) ? Edge(std::string_view(literal_).substr(prefix.size()))
                                      : *this;
}

// The longest part counts: a prompt that ends with "<turn>model\n" has written all of it, although
// it also ends with its last letter.
Edge Edge::after_any(const std::vector<std::string>& written) const {
  const std::string_view literal = literal_;
  for (std::size_t size = is_blank() ? 0 : literal.size(); size > begin_; --size) {
    for (const std::string& text : written) {
      if (std::string_view(text).ends_with(literal.substr(0, size)))
        return Edge(literal.substr(size));
    }
  }
  return *this;
}

// A call may open with the tags that would close the content, and then closes it. One tag is not
// enough: "<|start|>" opens any part.
bool Edge::is_begun_by(std::string_view written) const {
  const std::string closer = text();
  const std::string_view other =
      written.substr(std::min(written.find_first_not_of(kSpace), written.size()));
  const std::string_view shared = std::string_view(closer).substr(0, common_prefix(closer, other));
  int tags = 0;
  for (std::size_t open = shared.find('<'); open != npos; open = shared.find('<', open + 1)) {
    const std::size_t close = shared.find_first_of("<>", open + 1);
    if (close != npos && shared[close] == '>' && close > open + 1) ++tags;
  }
  return tags > 1;
}

// A grammar may forbid a marker in text. Forbidding a plain word would forbid the sentences that
// have it.
bool is_structural(std::string_view marker) {
  const std::string_view word = trim(marker);
  return word.find_first_of("<>[]{}|` ") != npos || word.find("◁") != npos || word.ends_with(':');
}

}  // namespace unspool
