#include "format/pattern_file.h"

#include <algorithm>
#include <string_view>

#include "format/file_words.h"
#include "text/archive.h"
#include "text/marker_set.h"
#include "text/white_space.h"

namespace unspool {

namespace {

struct Member {
  std::string_view key;
  std::vector<Pattern> PatternFile::* patterns;
};

constexpr Member kMembers[] = {
    {"reasoning", &PatternFile::reasoning},
    {"content", &PatternFile::content},
    {"calls", &PatternFile::calls},
    {"call", &PatternFile::call},
    {"parameter", &PatternFile::parameter},
    {"object", &PatternFile::object},
    {"string", &PatternFile::string},
    {"header", &PatternFile::header},
    {"id", &PatternFile::id},
};

// Each alternative costs tables: a bound for files that someone else wrote.
constexpr std::size_t kMaxAlternatives = 1000;

/// The options that a hole of a key has; a number is an option too.
std::vector<std::string_view> options_of(HoleKind kind) {
  switch (kind) {
    case HoleKind::object: return {"python"};
    case HoleKind::value: return {"verbatim", "json", "python", "xml"};
    case HoleKind::key: return {"xml"};
    case HoleKind::reasoning: return {"verbatim"};  // the default
    case HoleKind::index:
    case HoleKind::random: return {"a number"};
    default: return {};
  }
}

void check_options(const Hole& hole) {
  const std::vector<std::string_view> known = options_of(hole.kind);
  for (const std::string& option : hole.options) {
    const bool is_number = option.find_first_not_of("0123456789") == std::string::npos;
    const std::string_view wanted = is_number ? std::string_view("a number") : option;
    if (std::find(known.begin(), known.end(), wanted) != known.end()) continue;
    std::string list;
    for (const std::string_view each : known) list.append(list.empty() ? "" : ", ").append(each);
    throw FormatError(
        "${" + std::string(name_of(hole.kind)) + "} does not have the option '" + option + "'; " +
        (known.empty() ? "remove it: this hole has none" : "of this hole there is " + list));
  }
}

/// A call's name and arguments stand in one kind of hole: a second kind would be skipped, and so
/// would a repetition of them.
void check_body(const Pattern& call) {
  if (call.has(HoleKind::object)) {
    for (const HoleKind kind : {HoleKind::name, HoleKind::arguments, HoleKind::parameters,
                                HoleKind::key, HoleKind::value, HoleKind::id}) {
      if (call.has(kind))
        throw FormatError("${object} holds a call's name and arguments; remove ${" +
                          std::string(name_of(kind)) + "}, or write it in place of ${object}");
    }
  }
  const bool has_value = call.has(HoleKind::value);
  if (call.has(HoleKind::arguments) + call.has(HoleKind::parameters) + has_value > 1)
    throw FormatError(
        "a call's arguments stand in one hole: ${arguments}, ${parameters} or ${value}");
  if (call.has(HoleKind::repeats) && !call.has(HoleKind::object) && !call.has(HoleKind::key))
    throw FormatError(
        "${...} repeats ${object} or a Python call; remove it: other calls follow one another");
}

std::string holes_in(const HoleSet& holes) {
  std::string list;
  for (const HoleWord& word : hole_words()) {
    if (holes.has(word.kind))
      list.append(list.empty() ? "${" : " or ${").append(word.name).append("}");
  }
  return list;
}

void check_holes(const FileKey& key, const Pattern& pattern, const std::string& text) {
  bool has_one = false;
  for (const Hole& hole : pattern.holes) {
    const bool is_main = key.must_have_one.has(hole.kind);
    has_one = has_one || is_main;
    check_options(hole);
    if (!is_main && !key.may_have.has(hole.kind))
      throw FormatError("'" + text + "' contains a hole that '" + std::string(key.name) +
                        "' cannot have");
  }
  if (!has_one)
    throw FormatError("the hole is missing in '" + text + "'; write " +
                      holes_in(key.must_have_one));
}

/// Of the name and the patterns, whatever the order of the keys.
// A stream's snapshot names its format by this number. Two files that say the same have the same.
std::uint64_t fingerprint_of_keys(const JsonValue& file) {
  std::uint64_t made = 0;
  for (const FileKey& key : file_keys()) {
    const JsonValue* value = file.find(key.name);
    if (value == nullptr || !(is_patterns(key) || key.name == "name")) continue;
    made = fingerprint_of(key.name, made);
    if (value->items.empty()) made = fingerprint_of(value->text, made);  // as a list of one
    for (const JsonValue& item : value->items) made = fingerprint_of(item.text, made);
  }
  return made;
}

}  // namespace

PatternFile PatternFile::read(const JsonValue& file) {
  if (!file.is(JsonValue::Kind::object)) throw FormatError("a format must be a table");
  PatternFile made;
  for (const auto& [key, value] : file.members) made.read_key(key, value);
  made.check_use();
  made.fingerprint = fingerprint_of_keys(file);
  return made;
}

// A key that no call refers to would be skipped in silence.
void PatternFile::check_use() const {
  const auto check = [this](const char* key, const std::vector<Pattern>& patterns, HoleKind kind) {
    if (patterns.empty()) return;
    if (std::any_of(call.begin(), call.end(), [&](const Pattern& one) { return one.has(kind); }))
      return;
    throw PatternError(key, "no call has ${" + std::string(name_of(kind)) +
                                "}, so nothing reads this key; write the hole in a call, or "
                                "remove the key");
  };
  check("parameter", parameter, HoleKind::parameters);
  check("object", object, HoleKind::object);
  check("string", string, HoleKind::arguments);
}

// A header without an opener, "${_}\n", is the rest of a header that the turn has begun.
bool PatternFile::has_messages() const {
  return std::any_of(header.begin(), header.end(),
                     [](const Pattern& pattern) { return !is_blank(pattern.first()); });
}

bool PatternFile::opens_message(std::string_view literal) const {
  return std::any_of(header.begin(), header.end(), [&](const Pattern& pattern) {
    const std::string_view opener = trim(pattern.first());
    return !opener.empty() && literal.find(opener) != std::string_view::npos;
  });
}

bool PatternFile::ends_in_header(std::string_view literal) const {
  return std::any_of(header.begin(), header.end(), [&](const Pattern& pattern) {
    const std::string_view opener = trim(pattern.first());
    const std::size_t at = opener.empty() ? std::string_view::npos : literal.rfind(opener);
    if (at == std::string_view::npos) return false;
    return literal.find(pattern.last(), at + opener.size()) == std::string_view::npos;
  });
}

std::string_view PatternFile::without_turn(std::string_view literal) const {
  for (const std::string& text : turn) {
    if (literal.starts_with(text)) return literal.substr(text.size());
  }
  return literal;
}

void PatternFile::read_key(std::string_view key, const JsonValue& value) {
  const std::string path(key);
  const FileKey* word = find_key(file_keys(), key);
  if (word == nullptr) throw PatternError(path, "unknown key; use one of " + listed(file_keys()));
  if (key == "name" && value.is(JsonValue::Kind::string)) {
    if (value.text.empty()) throw PatternError(path, "the name is empty; write the family's");
    name = value.text;
  }
  if (!is_patterns(*word)) return;
  read_alternatives(path, value);
  // Text is content even without a pattern, so the markup around it may be the only information.
  if (word->may_be_text && key != "content" && patterns_of(key).empty())
    throw PatternError(path, "the hole is missing; one alternative must have it");
}

// One text is a list of one. An error names the alternative by its place, as in call[1].
void PatternFile::read_alternatives(const std::string& key, const JsonValue& value) {
  const bool is_list = value.is(JsonValue::Kind::array);
  const std::size_t count = is_list ? value.items.size() : 1;
  if (count == 0 || count > kMaxAlternatives)
    throw PatternError(key, "write one to 1,000 alternatives");
  for (std::size_t i = 0; i < count; ++i) {
    const JsonValue& item = is_list ? value.items[i] : value;
    try {
      if (!item.is(JsonValue::Kind::string) || item.text.empty())
        throw FormatError("write a text that is not empty, or a list of these");
      read_pattern(key, item.text);
    } catch (const FormatError& error) {
      throw PatternError(is_list ? key + "[" + std::to_string(i) + "]" : key, error.what());
    }
  }
}

void PatternFile::read_pattern(std::string_view key, const std::string& text) {
  Pattern pattern = Pattern::parse(text);
  for (const std::string& literal : pattern.texts) {
    if (key != "turn" && trim(literal).size() > MarkerSet::kMaxMarkerBytes)
      throw FormatError("a marker has " + std::to_string(trim(literal).size()) +
                        " bytes; at most 1024 are read");
  }
  if (key == "turn" || key == "end") {
    if (!pattern.holes.empty()) throw FormatError("'" + text + "' must not contain a hole");
    (key == "turn" ? turn : end).push_back(pattern.first());
    return;
  }
  const FileKey& word = *find_key(file_keys(), key);
  if (pattern.holes.empty() && word.may_be_text) {
    leftovers.push_back(pattern.first());
    return;
  }
  check_holes(word, pattern, text);
  if (key == "call") check_body(pattern);
  // "<think>${reasoning}": what comes without its closer is ended by a call. After a form that has
  // one, it is no form of its own.
  if (key == "reasoning" && is_blank(pattern.last())) {
    call_ends_reasoning = true;
    if (!reasoning.empty() && !is_blank(reasoning.front().last())) return;
  }
  patterns_of(key).push_back(std::move(pattern));
}

std::vector<Pattern>& PatternFile::patterns_of(std::string_view key) {
  const auto member = std::find_if(std::begin(kMembers), std::end(kMembers),
                                   [&](const Member& each) { return each.key == key; });
  return this->*member->patterns;
}

}  // namespace unspool
