#include "format/check_spec.h"

#include <algorithm>
#include <initializer_list>

#include "text/error.h"

namespace unspool {

namespace {

// Far above what a family needs, so that a hostile file costs little.
constexpr std::size_t kMaxCalls = 200;
constexpr std::size_t kMaxMarkups = 200;

class Check {
 public:
  explicit Check(const FormatSpec& spec) : spec_(spec) {}

  void format() const {
    need(spec_.calls.size() <= kMaxCalls, "more than 200 kinds of call; split the file");
    need(spec_.markup.size() <= kMaxMarkups, "more than 200 kinds of markup; split the file");
    for (const CallSpec& each : spec_.calls) call(each);
    for (const MarkupSpec& each : spec_.markup) {
      need(!each.open.is_empty(), "a header or markup needs text before its hole");
      need(each.has_header() || !each.tells(), "a header needs text after its hole");
    }
    if (const auto& reasoning = spec_.reasoning)
      need(!has_empty({&reasoning->open, &reasoning->close}),
           "reasoning needs text before and after its hole");
    need(spec_.section_open.is_empty() == spec_.section_close.is_empty(),
         "calls needs text before and after ${calls}");
  }

 private:
  void call(const CallSpec& call) const {
    const bool is_bare = call.bare != BarePlace::nowhere;
    need(is_bare || call.by_recipient || !call.open.is_empty(),
         "call: write text before its first hole; only a JSON object and a Python call such as "
         "\"${name}(${key}=${value}, ${...})\" may begin without an opener");
    need(!is_bare || !call.starts.empty(),
         "call: nothing shows where it begins; write text before its first hole");
    need(has_name_in_body(call) || call.has_name_outside(),
         "call: nothing ends ${name}; write text after it");
    const XmlParametersSpec& tags = call.xml_parameters;
    if (call.body == BodyKind::xml_parameters && tags.is_keyless) {
      need(!call.close.is_empty(), "call: nothing ends ${value}; write text after it");
    } else if (call.body == BodyKind::xml_parameters) {
      need(!has_empty({&tags.open, &tags.name_close, &tags.close, &call.close}),
           "a call with ${parameters} needs text after them, and parameter needs text before "
           "${key}, "
           "between ${key} and ${value}, and after ${value}");
    } else if (call.body == BodyKind::xml_elements) {
      need(!has_empty({&call.xml_elements.open, &call.close}),
           "a call whose ${parameters} are elements needs text after them, and parameter text "
           "before "
           "${key}");
    }
  }

  static bool has_name_in_body(const CallSpec& call) {
    return call.body == BodyKind::json_call || call.body == BodyKind::pythonic ||
           call.by_recipient || !call.fixed_name.empty();
  }

  static bool has_empty(std::initializer_list<const MarkerSpec*> markers) {
    return std::any_of(markers.begin(), markers.end(),
                       [](const MarkerSpec* marker) { return marker->is_empty(); });
  }

  void need(bool holds, const char* what) const {
    if (!holds) throw FormatError("format '" + spec_.name + "': " + what);
  }

  const FormatSpec& spec_;
};

}  // namespace

void check_spec(const FormatSpec& spec) { Check(spec).format(); }

}  // namespace unspool
