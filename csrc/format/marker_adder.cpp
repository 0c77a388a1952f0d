#include "format/marker_adder.h"

#include <utility>

#include "text/error.h"

namespace unspool {

namespace {

// Each prefix of the white space is a pattern of its own, so this bounds their number.
constexpr std::size_t kMaxBefore = 64;  // bytes

struct LookAlike {
  std::string_view letter;
  char ascii;
};
// DeepSeek's markers have letters that look like ASCII, and models that imitate them write ASCII.
constexpr LookAlike kLookAlikes[] = {{"\uFF5C", '|'}, {"\u2581", '_'}};

bool is_letter(char byte) { return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'); }

// Whether a bar after a word ends here: that of `<｜DSML｜`, and not that of `<｜`.
bool ends_in_bar(std::string_view text) {
  const std::string_view bar = kLookAlikes[0].letter;
  return text.ends_with(bar) && text.size() > bar.size() &&
         is_letter(text[text.size() - bar.size() - 1]);
}

// The text with a space after each bar between two words, or without any. Families that are close
// differ in it, and their models write each other's way: `<｜DSML｜invoke` and `<｜DSML｜ invoke`.
std::string spaced(std::string_view text, bool has_space) {
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t word = text[i] == ' ' ? i + 1 : i;
    const bool is_gap = word < text.size() && is_letter(text[word]) && ends_in_bar(made);
    if (is_gap && has_space) made += ' ';
    if (is_gap) i = word;
    made += text[i];
  }
  return made;
}

MarkerPattern spelled(std::string_view before, std::string_view text) {
  MarkerPattern pattern;
  pattern.append_text(before);
  pattern.append_text(text);
  return pattern;
}

}  // namespace

std::string in_ascii(std::string_view text) {
  std::string ascii(text);
  for (const LookAlike& pair : kLookAlikes) {
    for (std::size_t at = ascii.find(pair.letter); at != std::string::npos;
         at = ascii.find(pair.letter, at + 1)) {
      ascii.replace(at, pair.letter.size(), 1, pair.ascii);
    }
  }
  return ascii;
}

// Models that imitate a family double its bars: <｜｜DSML｜｜invoke …>.
std::string with_double_bars(std::string_view text) {
  const std::string_view bar = kLookAlikes[0].letter;
  std::string doubled(text);
  for (std::size_t at = doubled.find(bar); at != std::string::npos;
       at = doubled.find(bar, at + 2 * bar.size())) {
    doubled.insert(at, bar);
  }
  return doubled;
}

// The text's letters: the longest token at each position, otherwise a byte.
MarkerPattern MarkerAdder::with_tokens(std::string_view before, std::string_view text) const {
  MarkerPattern pattern;
  pattern.append_text(before);
  if (tokens_.empty()) {
    pattern.append_text(text);
    return pattern;
  }
  while (!text.empty()) {
    const MarkerToken* longest = nullptr;
    for (const MarkerToken& token : tokens_) {
      const bool is_longer = longest == nullptr || token.text.size() > longest->text.size();
      if (is_longer && text.starts_with(token.text)) longest = &token;
    }
    if (longest == nullptr) {
      pattern.append_text(text.substr(0, 1));
      text.remove_prefix(1);
    } else {
      const auto index = static_cast<std::size_t>(longest - tokens_.data());
      pattern.append_token(static_cast<Symbol>(kFirstTokenSymbol + index), longest->text);
      text.remove_prefix(longest->text.size());
    }
  }
  return pattern;
}

// White space before a marker is markup as far as it is present: each shorter rest of it counts.
void MarkerAdder::add(MarkerSet& set, std::string_view text, std::string_view before, Role role,
                      std::size_t value) const {
  if (before.size() > kMaxBefore)
    throw FormatError("the white space before a marker has more than 64 bytes");
  const Marker marker{static_cast<std::uint8_t>(role), static_cast<std::uint16_t>(value)};
  Marker slip = marker;
  slip.is_slip = true;
  std::vector<std::pair<std::string, Marker>> others;
  for (const bool has_space : {false, true}) {
    const std::string way = spaced(text, has_space);
    if (way != text) others.emplace_back(way, marker);
    if (!adds_slips_) continue;
    const std::string doubled = with_double_bars(way);
    for (const std::string& each : {in_ascii(way), doubled, in_ascii(doubled)}) {
      if (each != way) others.emplace_back(each, slip);
    }
  }
  for (;; before.remove_prefix(1)) {
    const MarkerPattern pattern = with_tokens(before, text);
    if (needs_tokens_ && !pattern.has_token()) return;
    set.add(pattern, marker);
    if (adds_spelled_) set.add(spelled(before, text), marker);
    const bool counts_by_text = adds_spelled_ || !pattern.has_token();
    for (const auto& [other, its_marker] : others) {
      if (counts_by_text) set.add(spelled(before, other), its_marker);
      const MarkerPattern tokens = with_tokens(before, other);
      if (tokens.has_token()) set.add(tokens, its_marker);
    }
    if (before.empty()) return;
  }
}

}  // namespace unspool
