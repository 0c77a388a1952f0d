#include "format/check_program.h"

#include <algorithm>
#include <initializer_list>

#include "format/pattern_file.h"

namespace unspool {

namespace {

// Far above what a family needs; bounds the cost of a hostile file.
constexpr std::size_t kMaxCalls = 200;
constexpr std::size_t kMaxMarkups = 200;

// A program that fails a check could open a region that nothing ends, or take any text for a call.
// The message says which key of the file to mend, since the program has no lines.
class Check {
 public:
  explicit Check(const Program& program) : program_(program) {}

  void format() const {
    need(program_.calls.size() <= kMaxCalls, "call", "more than 200 kinds of call; split the file");
    need(program_.markup.size() <= kMaxMarkups, "content",
         "more than 200 kinds of markup; split the file");
    for (const CallRegion& each : program_.calls) call(each);
    for (const MarkupRegion& each : program_.markup) {
      need(!each.open.is_empty(), "header", "a header or markup needs text before its hole");
      need(each.has_header() || !each.says_what_follows(), "header",
           "a header needs text after its hole");
    }
    if (const auto& reasoning = program_.reasoning)
      need(!reasoning->open.is_empty(), "reasoning", "reasoning needs text before its hole");
    need(program_.section.open.is_empty() == program_.section.close.is_empty(), "calls",
         "calls needs text before and after ${calls}");
  }

 private:
  void call(const CallRegion& call) const {
    const bool is_bare = call.is_bare();
    need(is_bare || call.start.after_header || !call.open.is_empty(), "call",
         "write text before its first hole; only a JSON object and a Python call such as "
         "\"${name}(${key}=${value}, ${...})\" may begin without an opener");
    need(!is_bare || !call.start.letters.empty(), "call",
         "nothing shows where it begins; write text before its first hole");
    need(has_name_in_body(call) || call.name.has_end(), "call",
         "nothing ends ${name}; write text after it");
    const auto* tags = call.body_as<ParametersSlot>();
    const auto* elements = call.body_as<ElementsSlot>();
    if (tags != nullptr && tags->is_keyless) {
      need(!call.close.is_empty(), "call", "nothing ends ${value}; write text after it");
    } else if (tags != nullptr) {
      need(!has_empty({&tags->key_close, &tags->close, &call.close}), "call",
           "a call with ${parameters} needs text after them, and parameter needs text between "
           "${key} and ${value}, and after ${value}");
      need(!tags->open.is_empty() || tags->ends_lines(), "parameter",
           "write text before ${key}; only a parameter whose value ends with its line may begin "
           "with its key");
      tell_apart("parameter", "which opens a parameter", tags->open.texts, "which ends its value",
                 tags->close.texts);
      tell_apart("parameter", "which opens a parameter", tags->open.texts, "which ends the call",
                 call.close.texts);
      tell_apart("parameter", "which ends a value", tags->close.texts, "which ends the call",
                 call.close.texts);
    } else if (elements != nullptr) {
      need(!has_empty({&elements->open, &call.close}), "call",
           "a call whose ${parameters} are elements needs text after them, and parameter text "
           "before "
           "${key}");
    }
  }

  // The parser takes the shorter of two markers that begin alike as soon as it is read.
  void tell_apart(const char* key, const char* what, const std::vector<std::string>& texts,
                  const char* other_what, const std::vector<std::string>& others) const {
    for (const std::string& text : texts) {
      for (const std::string& other : others) {
        if (!other.starts_with(text) && !text.starts_with(other)) continue;
        throw PatternError(key, "'" + text + "', " + what + ", and '" + other + "', " + other_what +
                                    ", begin alike, and the parser takes the shorter one as soon "
                                    "as it comes; begin one of them with another letter");
      }
    }
  }

  static bool has_name_in_body(const CallRegion& call) {
    return call.is(BodyKind::json_call) || call.is(BodyKind::pythonic) || call.start.after_header ||
           !call.name.fixed.empty();
  }

  static bool has_empty(std::initializer_list<const MarkerTexts*> markers) {
    return std::any_of(markers.begin(), markers.end(),
                       [](const MarkerTexts* marker) { return marker->is_empty(); });
  }

  // `key`: that of the file in which to mend it.
  void need(bool holds, const char* key, const char* what) const {
    if (!holds) throw PatternError(key, what);
  }

  const Program& program_;
};

}  // namespace

void check_program(const Program& program) { Check(program).format(); }

}  // namespace unspool
