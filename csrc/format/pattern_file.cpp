#include "format/pattern_file.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "text/error.h"

namespace unspool {

namespace {

using Kind = HoleKind;

/// A key whose value is patterns: where they go, and the holes that they must and may have.
struct PatternKey {
  std::string_view name;
  std::vector<Pattern> PatternFile::* into;
  std::initializer_list<Kind> one_of;  // at least one of these
  std::initializer_list<Kind> others;
  bool may_be_text = false;  // an alternative without a hole is markup
};

const PatternKey kPatternKeys[] = {
    {"reasoning", &PatternFile::reasoning, {Kind::reasoning}, {Kind::any}, true},
    {"content", &PatternFile::content, {Kind::content}, {Kind::any}, true},
    {"calls", &PatternFile::calls, {Kind::calls}, {Kind::any}, true},
    {"call",
     &PatternFile::call,
     {Kind::object, Kind::name, Kind::id},
     {Kind::arguments, Kind::parameters, Kind::key, Kind::value, Kind::index, Kind::repeats,
      Kind::any},
     true},
    {"parameter", &PatternFile::parameter, {Kind::key}, {Kind::value, Kind::type}},
    {"object", &PatternFile::object, {Kind::name}, {Kind::arguments, Kind::id}},
    {"string", &PatternFile::string, {Kind::value}, {}},
    {"header", &PatternFile::header, {Kind::any}, {}},
    {"id", &PatternFile::id, {Kind::name, Kind::random}, {Kind::index}},
};

constexpr std::size_t kMaxAlternatives = 100;

std::vector<std::string> texts_of(const JsonValue& value) {
  std::vector<std::string> texts;
  const auto add = [&](const JsonValue& item) {
    if (!item.is(JsonValue::Kind::string) || item.text.empty())
      throw FormatError("write a text that is not empty, or a list of these");
    texts.push_back(item.text);
  };
  if (value.is(JsonValue::Kind::array)) {
    if (value.items.empty() || value.items.size() > kMaxAlternatives)
      throw FormatError("write one to 100 alternatives");
    for (const JsonValue& item : value.items) add(item);
  } else {
    add(value);
  }
  return texts;
}

bool has_kind(std::initializer_list<Kind> kinds, Kind kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

void check_holes(const PatternKey& key, const Pattern& pattern, const std::string& text) {
  const bool has_own = std::any_of(pattern.holes.begin(), pattern.holes.end(),
                                   [&](const Hole& h) { return has_kind(key.one_of, h.kind); });
  const bool fits = std::all_of(pattern.holes.begin(), pattern.holes.end(), [&](const Hole& h) {
    return has_kind(key.one_of, h.kind) || has_kind(key.others, h.kind);
  });
  if (has_own && fits) return;
  throw FormatError((has_own ? "a hole is another key's in '" : "the hole is missing in '") + text +
                    "'");
}

}  // namespace

PatternFile PatternFile::read(const JsonValue& file) {
  if (!file.is(JsonValue::Kind::object)) throw FormatError("a format must be a table");
  PatternFile made;
  for (const auto& [key, value] : file.members) {
    try {
      made.read_key(key, texts_of(value));
    } catch (const FormatError& error) {
      throw FormatError(key + ": " + error.what());
    }
  }
  return made;
}

void PatternFile::read_key(std::string_view key, const std::vector<std::string>& values) {
  if (key == "name") {
    name = values.front();
    return;
  }
  if (key == "turn" || key == "end") {
    for (const std::string& text : values) {
      const Pattern pattern = Pattern::parse(text);
      if (!pattern.holes.empty()) throw FormatError("it is text alone; take the hole out");
      (key == "turn" ? turn : end).push_back(pattern.first());
    }
    return;
  }
  const auto known = std::find_if(std::begin(kPatternKeys), std::end(kPatternKeys),
                                  [&](const PatternKey& each) { return each.name == key; });
  if (known == std::end(kPatternKeys)) throw FormatError("there is no such key");
  for (const std::string& text : values) {
    Pattern pattern = Pattern::parse(text);
    if (pattern.holes.empty() && known->may_be_text) {
      leftovers.push_back(pattern.first());
    } else {
      check_holes(*known, pattern, text);
      (this->*known->into).push_back(std::move(pattern));
    }
  }
}

}  // namespace unspool
