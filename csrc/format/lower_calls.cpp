// Calls and their parameters.
#include <algorithm>
#include <utility>

#include "format/lower_shape.h"
#include "format/markers.h"
#include "format/pattern_file.h"
#include "text/error.h"

namespace unspool {

namespace {

/// A region, and the openers of its alternatives without the word of one that is cut.
struct LoweredCall {
  CallRegion region;
  std::vector<std::string> tokens;
};
using LoweredCalls = std::vector<LoweredCall>;

// A header opens it; it ends with its message.
void lower_message_end(const Shape& shape, const CallShape& call, CallRegion& region) {
  add_new(region.close.texts, call.own_close.text());
  for (const TextShape& reasoning : shape.reasoning)
    add_new(region.close.texts, reasoning.close.text());
}

// White space after a call inside a section is the section's. Outside it belongs to the call, so
// that a following text does not begin with the template's line break.
void lower_edges(const Shape& shape, const CallShape& call, CallRegion& region) {
  add_marker(region.open, call.own_open, KeepSpace::before);
  add_marker(region.close, call.own_close,
             shape.has_section() ? KeepSpace::none : KeepSpace::after);
  if (!region.is(BodyKind::json_arguments) || !call.own_close.is_fence()) return;
  add_new(region.close.texts, call.own_close.without_fence());  // the fence may be missing
  region.close.before.assign(1, '\n');
}

CallRegion lower_call(const Shape& shape, const CallShape& call) {
  CallRegion region;
  region.start = call.start;
  region.separators = call.separators;
  region.name = call.name;
  region.body = call.body;
  if (call.start.after_header) {
    lower_message_end(shape, call, region);
  } else {
    lower_edges(shape, call, region);
  }
  return region;
}

/// Whether two calls differ only in their markers, and both have a closer or both have none.
// Two alternatives with and without a closer stay apart: without one, the next opener ends the
// call.
bool are_alike(const CallRegion& a, const CallRegion& b) {
  const auto without_markers = [](CallRegion call) {
    call.open = call.close = call.name.close = {};
    call.name.id_open.clear();
    call.name.id_close.clear();
    call.name.is_twice = false;
    return call;
  };
  return a.close.is_empty() == b.close.is_empty() && without_markers(a) == without_markers(b);
}

void add_marker(MarkerTexts& to, const MarkerTexts& more) {
  add_new(to.texts, more.texts);
  if (to.before.empty()) to.before = more.before;
  if (to.after.empty()) to.after = more.after;
}

void add_markers(CallRegion& call, const CallRegion& more) {
  add_marker(call.open, more.open);
  add_marker(call.close, more.close);
  add_marker(call.name.close, more.name.close);
  if (!more.name.id_open.empty()) call.name.id_open = more.name.id_open;
  if (!more.name.id_close.empty()) call.name.id_close = more.name.id_close;
  call.name.is_twice = call.name.is_twice || more.name.is_twice;
}

// Alternatives that differ only in their markers are one call.
void merge(LoweredCall call, LoweredCalls& merged) {
  const auto same = std::find_if(merged.begin(), merged.end(), [&](const LoweredCall& other) {
    return are_alike(other.region, call.region);
  });
  if (same == merged.end()) {
    merged.push_back(std::move(call));
  } else {
    add_markers(same->region, call.region);
    add_new(same->tokens, call.tokens);
  }
}

void add_json_form(const CallShape& form, LoweredCalls& calls) {
  const auto call = std::find_if(calls.begin(), calls.end(), [&](const LoweredCall& other) {
    return other.region.is(BodyKind::xml_parameters) && other.region.open.has(form.own_open.text());
  });
  if (call == calls.end())
    throw PatternError("call", "the tagged form of a call with JSON is missing");
  ParametersSlot& parameters = std::get<ParametersSlot>(call->region.body);
  add_new(parameters.json_open.texts, form.json_open.texts);
  add_new(call->region.name.close.texts, form.name.close.texts);
  add_new(parameters.json_close.texts, form.json_close.texts);
}

// The word precedes the name. Its beginning may be missing after the opener's token, and the token
// may be missing after a call.
// Then the word alone opens another call after a call, and an opening bracket may end the name.
void add_word(const std::string& word, LoweredCall& call) {
  call.region.open.texts = call.tokens;
  call.region.name.prefix = word;
  call.region.next.texts = {word, "," + word, ", " + word};
  call.region.name.stops = "{(";
}

// What opens both cannot decide between them.
bool share_opener(const CallRegion& a, const CallRegion& b) {
  return std::any_of(a.open.texts.begin(), a.open.texts.end(),
                     [&](const std::string& text) { return b.open.has(text); });
}

// Distinguishes calls with the same opener by their first letters.
void tell_apart(std::vector<CallRegion>& calls) {
  for (std::size_t i = 0, count = calls.size(); i < count; ++i) {
    if (!calls[i].is(BodyKind::json_call) || !calls[i].start.letters.empty()) continue;
    const auto has_other = [&](auto&& test) {
      return std::any_of(calls.begin(), calls.end(), [&](const CallRegion& other) {
        return &other != &calls[i] && share_opener(other, calls[i]) && test(other);
      });
    };
    if (!has_other([](const CallRegion&) { return true; })) continue;
    calls[i].start.letters = "[{";
    const bool has_python =
        has_other([](const CallRegion& other) { return other.is(BodyKind::pythonic); });
    if (!has_python) continue;
    CallRegion object = calls[i];  // a list of Python calls also opens with a bracket
    object.start.letters.assign(1, '{');
    calls[i].start.letters.assign(1, '[');
    calls[i].start.second.assign(1, '{');
    calls.push_back(std::move(object));
  }
}

// Of two alternatives, one may have line breaks around the value and the other none.
ValueTrim merge(ValueTrim one, ValueTrim other) {
  if (one == other) return one;
  if (one == ValueTrim::space || other == ValueTrim::space) return ValueTrim::space;
  return ValueTrim::newline_pair;
}

}  // namespace

// A model may mix the alternatives within one call, so they are one slot with all their markers.
BodySlot lower_parameters(const std::vector<ParameterShape>& parameters) {
  if (parameters.front().is_element)
    return ElementsSlot{{{parameters.front().open.text()}, {}, {}}};
  ParametersSlot slot;
  slot.json_body = true;
  slot.trim = parameters.front().trim;
  for (const ParameterShape& each : parameters) {
    add_new(slot.open.texts, each.marker);
    add_new(slot.key_end, each.key_ends);
    add_new(slot.key_close.texts, each.value_begin);
    add_new(slot.close.texts, each.value_end);
    if (each.space_after.size() > slot.close.before.size()) slot.close.before = each.space_after;
    if (each.space_before.size() > slot.space_before.size()) slot.space_before = each.space_before;
    slot.types.insert(slot.types.end(), each.types.begin(), each.types.end());
    if (!each.value_open.empty()) slot.value_open = each.value_open;
    slot.trim = merge(slot.trim, each.trim);
    slot.guess_types = slot.guess_types || each.guesses_types;
    slot.entities = slot.entities || each.has_entities;
    slot.python_values = slot.python_values || each.is_python;
    slot.key_entities = slot.key_entities || each.key_has_entities;
  }
  return slot;
}

std::vector<CallRegion> lower_calls(const Shape& shape) {
  LoweredCalls calls;
  bool is_first = true;
  // The order of the file decides which form counts where two could.
  for (const CallShape& call : shape.calls) {
    if (call.role != CallRole::own) continue;
    CallRegion region = lower_call(shape, call);
    const BarePlace place = region.start.place;
    // A form without an opener, after one with it, has lost its opener: the name must identify it.
    if (place == BarePlace::start && !is_first) region.start.known_tools = KnownTools::required;
    if (shape.has_fence && (place == BarePlace::start || place == BarePlace::line))
      region.allow_fence();
    is_first = false;
    merge({std::move(region), {call.token}}, calls);
  }
  for (const CallShape& call : shape.calls) {
    if (call.role == CallRole::json_form) add_json_form(call, calls);
  }
  for (const CallShape& call : shape.calls) {
    if (call.role != CallRole::cut) continue;
    if (calls.empty()) throw PatternError("call", "two alternatives are the same");
    add_word(call.word, calls.front());
  }
  std::vector<CallRegion> regions;
  for (LoweredCall& call : calls) regions.push_back(std::move(call.region));
  tell_apart(regions);
  return regions;
}

}  // namespace unspool
