#include "format/pattern.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "format/file_words.h"
#include "text/error.h"

namespace unspool {

namespace {

bool is_number(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Options are words of one table (file_words.cpp), so that an error can list them all.
bool is_option(std::string_view name) {
  const auto words = option_words();
  return std::any_of(words.begin(), words.end(),
                     [&](const OptionWord& word) { return word.name == name; });
}

// The text between the braces: a kind, and after a colon its options, as in value:xml,python.
// An unknown word is refused here. Left alone, it would be read as a hole that nothing fills.
Hole read_hole(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view name = text.substr(0, colon);
  const auto words = hole_words();
  const auto known = std::find_if(words.begin(), words.end(),
                                  [&](const HoleWord& word) { return word.name == name; });
  if (known == words.end())
    throw FormatError("there is no hole ${" + std::string(name) + "}; use one of " + listed(words));
  Hole hole{known->kind, {}};
  std::string_view rest = text.substr(std::min(colon + 1, text.size()));
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view option = rest.substr(0, comma);
    if (!is_number(option) && !is_option(option))
      throw FormatError("${" + std::string(text) + "} has an option '" + std::string(option) +
                        "'; use " + listed(option_words()) + " or a number");
    hole.options.emplace_back(option);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return hole;
}

}  // namespace

bool Hole::has(std::string_view option) const {
  return std::find(options.begin(), options.end(), option) != options.end();
}

std::optional<int> Hole::number() const {
  for (const std::string& option : options) {
    int value = 0;
    const auto result = std::from_chars(option.data(), option.data() + option.size(), value);
    if (is_number(option) && result.ec == std::errc()) return value;
  }
  return std::nullopt;
}

// One pass from left to right. A pattern begins and ends with a text, which may be empty: then the
// reader of each text knows which holes are beside it without asking where the pattern ends.
Pattern Pattern::parse(std::string_view text) {
  Pattern pattern;
  while (!text.empty()) {
    if (text.starts_with("\\n")) {  // TOML keeps it unchanged in single quotes
      pattern.texts.back() += '\n';
      text.remove_prefix(2);
    } else if (text.starts_with("$${")) {
      pattern.texts.back() += "${";
      text.remove_prefix(3);
    } else if (text.starts_with("${")) {
      const std::size_t end = text.find('}');
      if (end == std::string_view::npos)
        throw FormatError("a hole has no end: '" + std::string(text.substr(0, 40)) +
                          "'; write $${ for the letters ${");
      pattern.holes.push_back(read_hole(text.substr(2, end - 2)));
      pattern.texts.emplace_back();
      text.remove_prefix(end + 1);
    } else {
      pattern.texts.back() += text[0];
      text.remove_prefix(1);
    }
  }
  return pattern;
}

std::size_t Pattern::count(HoleKind kind) const {
  return static_cast<std::size_t>(
      std::count_if(holes.begin(), holes.end(), [&](const Hole& h) { return h.kind == kind; }));
}

std::size_t Pattern::index(HoleKind kind) const {
  const auto found =
      std::find_if(holes.begin(), holes.end(), [&](const Hole& h) { return h.kind == kind; });
  return static_cast<std::size_t>(found - holes.begin());
}

Pattern Pattern::with_last(std::string text) const {
  Pattern made = *this;
  made.texts.back() = std::move(text);
  return made;
}

bool Pattern::has_shape_of(const Pattern& other) const {
  return std::equal(holes.begin(), holes.end(), other.holes.begin(), other.holes.end(),
                    [](const Hole& a, const Hole& b) { return a.kind == b.kind; });
}

}  // namespace unspool
