#include "format/for_request.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "format/markers.h"
#include "text/archive.h"

namespace unspool {

namespace {

/// A call as one JSON object, which the request's tools must know: nothing else shows that it is
/// one.
CallRegion json_call() {
  CallRegion call;
  call.start.letters = "[{";
  call.start.known_tools = KnownTools::required;
  call.separators = ",;";
  return call;
}

// For models that omit the markers that they were asked for: bare or fenced JSON, on a line of its
// own, and lists of Python calls if the family writes such calls.
void add_unmarked_calls(Program& program) {
  const bool has_python = std::any_of(program.calls.begin(), program.calls.end(),
                                      [](const auto& call) { return call.is(BodyKind::pythonic); });
  if (has_python) {
    CallRegion call;
    call.start.place = BarePlace::line;
    call.start.letters.assign(1, '[');
    call.start.known_tools = KnownTools::required;
    call.body = PythonSlot{};
    program.calls.push_back(std::move(call));
  }
  const bool has_json =
      std::any_of(program.calls.begin(), program.calls.end(), [](const auto& call) {
        return call.start.place == BarePlace::line && call.is(BodyKind::json_call);
      });
  if (has_json) return;
  // The family's own keys, and those that most families write.
  std::vector<ObjectSlot> slots;
  const auto add = [&](ObjectSlot slot) {
    slot.must_fit = true;
    if (std::find(slots.begin(), slots.end(), slot) == slots.end())
      slots.push_back(std::move(slot));
  };
  for (const CallRegion& call : program.calls) {
    if (const auto* slot = call.body_as<ObjectSlot>()) add(*slot);
  }
  add({});
  for (ObjectSlot& slot : slots) {
    CallRegion call = json_call();
    call.start.place = BarePlace::line;
    call.allow_fence();
    call.body = std::move(slot);
    program.calls.push_back(std::move(call));
  }
}

/// Whether its arguments stand between tags.
bool is_tagged(const CallRegion& call) {
  const auto* parameters = call.body_as<ParametersSlot>();
  return call.is(BodyKind::xml_elements) || (parameters != nullptr && !parameters->is_keyless);
}

// A model may write JSON where its family writes tags: after a call's opener, or among the calls
// of a section. An opener that the name continues, <function=, has no room for it.
void add_json_calls(Program& program) {
  const auto has_json = [&](auto&& test) {
    return std::any_of(program.calls.begin(), program.calls.end(), [&](const CallRegion& call) {
      return call.is(BodyKind::json_call) && test(call);
    });
  };
  std::vector<CallRegion> added;
  bool has_tags = false;
  for (const CallRegion& call : program.calls) {
    if (!is_tagged(call) || call.start.after_header) continue;
    has_tags = true;
    CallRegion json = json_call();
    json.open.before = call.open.before;
    json.close = call.close;
    for (const std::string& text : call.open.texts) {
      const bool is_taken = has_json([&](const CallRegion& other) { return other.open.has(text); });
      if (text.ends_with('>') && !is_taken) json.open.texts.push_back(text);
    }
    if (!json.open.is_empty()) added.push_back(std::move(json));
  }
  const bool has_bare = has_json([](const CallRegion& call) { return call.is_bare(); });
  if (has_tags && !program.section.open.is_empty() && !has_bare) {
    added.push_back(json_call());
    added.back().start.place = BarePlace::section;
  }
  for (CallRegion& call : added) program.calls.push_back(std::move(call));
}

}  // namespace

// A request changes what its format reads, and so the fingerprint: a snapshot of one is no snapshot
// of the other.
Program for_tools(Program program, const ToolUse& tools) {
  std::string use = tools.name;
  for (const bool is_so : {tools.is_on, tools.is_required, tools.unmarked})
    use += is_so ? '1' : '0';
  program.fingerprint = fingerprint_of(use, program.fingerprint);
  if (tools.is_on) add_json_calls(program);
  if (tools.is_on && tools.unmarked) add_unmarked_calls(program);
  // Without tools nothing opens a call. Behind a header an opener still ends the header: the text
  // after it is content, and would otherwise be taken for the header's words.
  if (!tools.is_on) {
    const bool has_headers = std::any_of(program.markup.begin(), program.markup.end(),
                                         [](const MarkupRegion& one) { return one.has_header(); });
    for (CallRegion& call : program.calls) {
      if (has_headers) program.call_texts.push_back(std::move(call.open));
    }
    program.calls.clear();
    program.section.open = program.section.close = {};
  } else if (tools.is_required || !tools.name.empty()) {
    // The output of guided decoding: only the arguments, or the list of calls.
    CallRegion guided;
    guided.start.place = BarePlace::start;
    guided.start.is_certain = true;
    const bool has_name = !tools.name.empty();
    guided.start.letters = has_name ? "{" : "[{";
    if (has_name) {
      guided.body = ArgumentsSlot{};
      guided.name.fixed = tools.name;
    } else {
      guided.separators = ",;";
    }
    std::erase_if(program.calls, [](const CallRegion& call) { return call.is_bare(); });
    program.calls.insert(program.calls.begin(), std::move(guided));
  }
  return program;
}

// A model may be run with the template of another one, which thinks in its own tags. Then those
// tags, the turn that opens them and their ends come with the reasoning.
Program with_reasoning(Program program, const ReasoningUse& reasoning) {
  std::string use = reasoning.is_on ? "1" : "0";
  if (reasoning.calls) use += static_cast<char>('a' + static_cast<int>(*reasoning.calls));
  if (reasoning.other) program.fingerprint ^= fingerprint_of("other", reasoning.other->fingerprint);
  program.fingerprint = fingerprint_of(use, program.fingerprint);
  if (!reasoning.is_on || reasoning.other) program.reasoning.reset();
  if (reasoning.other) {
    program.reasoning = reasoning.other->reasoning;
    program.turn.insert(program.turn.begin(), reasoning.other->turn.begin(),
                        reasoning.other->turn.end());
    add_new(program.ends, reasoning.other->ends);
    program.markup.insert(program.markup.end(), reasoning.other->markup.begin(),
                          reasoning.other->markup.end());
  }
  if (reasoning.calls && program.reasoning) program.reasoning->calls = *reasoning.calls;
  return program;
}

}  // namespace unspool
