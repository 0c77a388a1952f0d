#include "format/check_spec.h"

#include <string>

#include "text/error.h"

namespace unspool {

namespace {

// Far above what a family needs, so that a hostile file costs little.
constexpr std::size_t kMaxCalls = 200;
constexpr std::size_t kMaxMarkups = 200;

template <typename Spec>
struct Rule {
  bool (*is_broken)(const Spec& spec);
  const char* what;
};

bool is_bare(const CallSpec& call) { return call.bare != BarePlace::nowhere; }

bool has_name_in_body(const CallSpec& call) {
  return call.body == BodyKind::json_call || call.body == BodyKind::pythonic || call.by_recipient ||
         !call.fixed_name.empty();
}

bool lacks_a_tag(const CallSpec& call) {
  const XmlParametersSpec& body = call.xml_parameters;
  return body.open.is_empty() || body.name_close.is_empty() || body.close.is_empty() ||
         call.close.is_empty();
}

bool has_keys(const CallSpec& call) {
  return call.body == BodyKind::xml_parameters && !call.xml_parameters.is_keyless;
}

bool has_no_key(const CallSpec& call) {
  return call.body == BodyKind::xml_parameters && call.xml_parameters.is_keyless;
}

constexpr Rule<CallSpec> kCallRules[] = {
    {[](const CallSpec& call) {
       return call.open.is_empty() && !is_bare(call) && !call.by_recipient;
     },
     "call: write text before its first hole; only a JSON object and a Python call such as "
     "\"${name}(${key}=${value}, ${...})\" may begin without an opener"},
    {[](const CallSpec& call) { return is_bare(call) && call.starts.empty(); },
     "call: nothing shows where it begins; write text before its first hole"},
    {[](const CallSpec& call) { return !has_name_in_body(call) && !call.has_name_outside(); },
     "call: nothing ends ${name}; write text after it"},
    {[](const CallSpec& call) { return has_no_key(call) && call.close.is_empty(); },
     "call: nothing ends ${value}; write text after it"},
    {[](const CallSpec& call) { return has_keys(call) && lacks_a_tag(call); },
     "a call with ${parameters} needs text after them, and parameter needs text before ${key}, "
     "between ${key} and ${value}, and after ${value}"},
    {[](const CallSpec& call) {
       return call.body == BodyKind::xml_elements &&
              (call.xml_elements.open.is_empty() || call.close.is_empty());
     },
     "a call whose ${parameters} are elements needs text after them, and parameter text before "
     "${key}"},
};

constexpr Rule<MarkupSpec> kMarkupRules[] = {
    {[](const MarkupSpec& markup) { return markup.open.is_empty(); },
     "a header or markup needs text before its hole"},
    {[](const MarkupSpec& markup) { return markup.tells() && !markup.has_header(); },
     "a header needs text after its hole"},
};

constexpr Rule<FormatSpec> kFormatRules[] = {
    {[](const FormatSpec& spec) {
       return spec.reasoning &&
              (spec.reasoning->open.is_empty() || spec.reasoning->close.is_empty());
     },
     "reasoning needs text before and after its hole"},
    {[](const FormatSpec& spec) {
       return spec.section_open.is_empty() != spec.section_close.is_empty();
     },
     "calls needs text before and after ${calls}"},
};

constexpr Rule<FormatSpec> kSizeRules[] = {
    {[](const FormatSpec& spec) { return spec.calls.size() > kMaxCalls; },
     "more than 200 kinds of call; split the file"},
    {[](const FormatSpec& spec) { return spec.markup.size() > kMaxMarkups; },
     "more than 200 kinds of markup; split the file"},
};

}  // namespace

void check_spec(const FormatSpec& spec) {
  const auto check = [&](const auto& part, const auto& rules) {
    for (const auto& rule : rules) {
      if (rule.is_broken(part)) throw FormatError("format '" + spec.name + "': " + rule.what);
    }
  };
  check(spec, kSizeRules);
  for (const CallSpec& call : spec.calls) check(call, kCallRules);
  for (const MarkupSpec& markup : spec.markup) check(markup, kMarkupRules);
  check(spec, kFormatRules);
}

}  // namespace unspool
