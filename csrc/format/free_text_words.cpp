#include "format/free_text_words.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "text/white_space.h"

namespace unspool {

namespace {

constexpr std::size_t kLong = 7, kLongest = 16;  // in letters

using Letters = std::vector<std::string_view>;

Letters letters_of(std::string_view text) {
  Letters letters;
  while (!text.empty()) {
    letters.push_back(first_letter(text));
    text.remove_prefix(letters.back().size());
  }
  return letters;
}

// A marker such as Action:\n``` begins with a word: only its sign is rare.
bool begins_word(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text.front());
  return (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
}

std::string_view first_letters(std::string_view text, const Letters& letters, std::size_t count) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < count; ++i) size += letters[i].size();
  return text.substr(0, size);
}

/// The last tag in a marker; of a long one the beginning.
std::string_view rare_part(std::string_view marker) {
  const std::size_t tag = marker.find('<');
  if (begins_word(marker) && tag != std::string_view::npos) marker.remove_prefix(tag);
  if (begins_word(marker)) return marker;
  Letters letters = letters_of(marker);
  std::size_t last = letters.size() < kLong ? 0 : letters.size() - kLong;
  while (letters[last] != letters.front()) --last;
  marker.remove_prefix(first_letters(marker, letters, last).size());
  letters.erase(letters.begin(), letters.begin() + static_cast<std::ptrdiff_t>(last));
  return letters.size() > kLongest ? first_letters(marker, letters, kLongest - 4) : marker;
}

// Many markers of a family share a long prefix, as in <|tool_call and <|tool_response.
/// The common prefix of two markers if it is long, otherwise the first marker.
std::string_view shared_part(std::string_view one, std::string_view other) {
  const Letters a = letters_of(one), b = letters_of(other);
  const std::size_t size = std::min(a.size(), b.size());
  const auto end =
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(size), b.begin()).first;
  const auto count = static_cast<std::size_t>(end - a.begin());
  return count < kLong ? one : first_letters(one, a, count);
}

// Text without a part of a marker is text without the marker, so the shorter words are safe. They
// forbid a little more: text that holds <|tool_ without being a marker.
std::vector<std::string> rare_parts(const std::vector<std::string>& markers) {
  std::set<std::string> parts, rare;
  for (const std::string& marker : markers) parts.emplace(rare_part(marker));
  for (const std::string& part : parts) {
    std::string_view shortest = part;
    for (const std::string& other : parts) {
      if (begins_word(part) || other == part) continue;
      const std::string_view shared = shared_part(part, other);
      if (shared.size() < shortest.size()) shortest = shared;
    }
    rare.emplace(shortest);
  }
  return {rare.begin(), rare.end()};
}

class Markers {
 public:
  explicit Markers(std::vector<std::string> list = {}) : list_(std::move(list)) {}

  void add(std::string_view marker) {
    if (is_structural(marker)) list_.emplace_back(trim(marker));
  }
  void add(const std::vector<std::string>& markers) {
    for (const std::string& marker : markers) add(marker);
  }
  std::vector<std::string> parts() const { return rare_parts(list_); }

 private:
  std::vector<std::string> list_;
};

void add_parameter(const ParameterShape& parameter, Markers& markers) {
  std::string open = parameter.open.text();
  open.erase(open.find_last_not_of("\"'") + 1);
  markers.add(open);
  markers.add(parameter.last.text());
  markers.add(parameter.after_key.text());
  markers.add(parameter.close.text());
}

}  // namespace

FreeTextWords free_text_words(const Shape& shape, const FormatFacts& facts) {
  Markers content;
  for (const auto* markers :
       {&facts.ends, &facts.section_openers, &facts.section_closers, &facts.dropped})
    content.add(*markers);
  for (const CallFacts& call : facts.calls) {
    content.add(call.openers);
    content.add(call.closers);
  }
  for (const HeaderFacts& header : facts.headers) {
    content.add(header.openers);
    content.add(header.closers);
  }
  if (facts.reasoning) {
    content.add(facts.reasoning->openers);
    content.add(facts.reasoning->closers);
  }
  // The opener of a call with JSON, followed by the JSON. Without the letter the word "Action:"
  // could not stand in any sentence.
  for (const CallShape& call : shape.calls) {
    // A word opens a call only if the rest of the call follows.
    const Edge opener = (call.author ? *call.author : call.open).rest();
    const std::string text = opener.text();
    if (call.is_begun || call.kind() != BodyKind::json_call || text.empty()) continue;
    if (text.back() == '>' || text.back() == ']') continue;
    for (const char* letter : {"[", "{"}) content.add(opener.literal() + letter);
  }
  FreeTextWords words{content.parts(), {}};
  Markers value(words.content);
  for (const ParameterShape& parameter : shape.parameters) add_parameter(parameter, value);
  words.value = value.parts();
  return words;
}

}  // namespace unspool
