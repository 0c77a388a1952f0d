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
     "a call has neither an opener nor a place for bare calls; write call.open or call.bare"},
    {[](const CallSpec& call) { return is_bare(call) && call.starts.empty(); },
     "a bare call needs call.starts, the first letters of its body"},
    {[](const CallSpec& call) { return !has_name_in_body(call) && !call.has_name_outside(); },
     "the body has no name in it; write call.name_close or call.name_stops"},
    {[](const CallSpec& call) { return has_no_key(call) && call.close.is_empty(); },
     "a value without a key needs call.close"},
    {[](const CallSpec& call) { return has_keys(call) && lacks_a_tag(call); },
     "xml_parameters needs call.close and the body's open, name_close and close"},
    {[](const CallSpec& call) {
       return call.body == BodyKind::xml_elements &&
              (call.xml_elements.open.is_empty() || call.close.is_empty());
     },
     "xml_elements needs call.close and the body's open"},
};

constexpr Rule<MarkupSpec> kMarkupRules[] = {
    {[](const MarkupSpec& markup) { return markup.open.is_empty(); }, "markup needs open"},
    {[](const MarkupSpec& markup) { return markup.tells() && !markup.has_header(); },
     "a header needs close"},
};

constexpr Rule<FormatSpec> kFormatRules[] = {
    {[](const FormatSpec& spec) {
       return spec.reasoning &&
              (spec.reasoning->open.is_empty() || spec.reasoning->close.is_empty());
     },
     "reasoning needs open and close"},
    {[](const FormatSpec& spec) {
       return spec.section_open.is_empty() != spec.section_close.is_empty();
     },
     "a section needs open and close"},
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
