#include "format/unmarked_ways.h"

#include <algorithm>
#include <utility>

#include "text/white_space.h"

namespace unspool {

namespace {

void add_first(std::string& to, std::string_view text) {
  text = trim(text);
  if (!text.empty() && to.find(text[0]) == std::string::npos) to += text[0];
}

// The bytes that may follow a call's name.
std::string after_name(const CallRegion& call) {
  std::string letters = call.name.stops;
  for (const std::string& text : call.name.close.texts) add_first(letters, text);
  add_first(letters, call.name.id_open);
  if (call.name.is_id) add_first(letters, ":");
  const auto* parameters = call.body_as<ParametersSlot>();
  if (parameters != nullptr) {
    for (const std::string& text : parameters->open.texts) add_first(letters, text);
    if (parameters->json_body) add_first(letters, "{");
  }
  if (call.is(BodyKind::json_arguments) || call.is(BodyKind::literal_arguments))
    add_first(letters, "{");
  if (call.is(BodyKind::pythonic)) add_first(letters, "(");
  return letters;
}

// Without its header, the name ends where the arguments begin.
CallRegion without_header(CallRegion call, const Program& program) {
  for (const MarkupRegion& markup : program.markup) {
    if (markup.has_header()) call.open.texts = markup.open.texts;
  }
  call.start.after_header = false;
  if (const auto* parameters = call.body_as<ParametersSlot>()) {
    call.name.close.texts = parameters->open.texts;
  } else {
    call.name.stops = "{";
  }
  return call;
}

}  // namespace

std::vector<UnmarkedWay> unmarked_ways(const Program& program) {
  std::vector<UnmarkedWay> ways;
  for (CallRegion call : program.calls) {
    if (call.start.after_header && !call.is(BodyKind::json_call))
      call = without_header(std::move(call), program);
    if (!call.name.has_end() && !call.is(BodyKind::pythonic)) continue;
    if (call.open.is_empty()) continue;
    UnmarkedWay way{program, call.open.texts.front(), call.name.prefix, after_name(call)};
    way.program.calls.assign(1, std::move(call));
    way.program.reasoning.reset();
    way.program.markup.clear();
    ways.push_back(std::move(way));
  }
  return ways;
}

}  // namespace unspool
