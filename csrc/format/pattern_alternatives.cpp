// All calls: which alternatives are the same call, and how to distinguish the others.
#include "format/pattern_readers.h"
#include "format/pattern_texts.h"

namespace unspool {

namespace {

using Kind = HoleKind;
using Patterns = std::vector<Pattern>;
using Calls = std::vector<CallRegion>;

template <typename Test>
Patterns take_if(Patterns& all, Test&& test) {
  Patterns taken, kept;
  for (const Pattern& pattern : all) (test(pattern) ? taken : kept).push_back(pattern);
  all = std::move(kept);
  return taken;
}

// Fences around calls. A bare call defines how they are read.
Patterns take_fences(Patterns& all) {
  const bool has_bare = has_any(all, [](const Pattern& p) {
    return p.has(Kind::object) && p.first().find_first_not_of(" \n[") == std::string::npos;
  });
  const auto is_fence = [](const Pattern& p) { return trim(p.first()).starts_with("```"); };
  Patterns rest = all;
  Patterns fences = take_if(rest, is_fence);
  if (has_bare) all = std::move(rest);
  return fences;
}

// A word before the name that is the end of another opener: <token>call: and call:.
Patterns take_prefixes(Patterns& all) {
  return take_if(all, [&](const Pattern& pattern) {
    const std::string_view word = trim(pattern.first());
    return !word.empty() && is_word(word) && !pattern.holes.empty() &&
           pattern.holes[0].kind == Kind::name && has_any(all, [&](const Pattern& other) {
             return &other != &pattern && trim(other.first()).ends_with(word);
           });
  });
}

// A tagged call whose arguments may also be one JSON object after the same opener is one call,
// because only the text after the name distinguishes the two.
Patterns take_json_forms(Patterns& all) {
  return take_if(all, [&](const Pattern& pattern) {
    return pattern.has(Kind::name) && pattern.has(Kind::arguments) &&
           has_any(all, [&](const Pattern& other) {
             return other.has(Kind::name) && other.has(Kind::parameters) &&
                    trim(other.first()) == trim(pattern.first());
           });
  });
}

// The text between name and object ends the name, or opens the object after the name's end.
void add_json_form(const Pattern& pattern, Calls& calls) {
  const std::string_view open = without_quote_at_end(trim(pattern.first()));
  const auto call = std::find_if(calls.begin(), calls.end(), [&](const CallRegion& other) {
    return other.is(BodyKind::xml_parameters) && contains(other.open.texts, open);
  });
  if (call == calls.end())
    throw PatternError("call", "the tagged form of a call with JSON is missing");
  std::string_view between = trim(without_quote(pattern.before(Kind::arguments)));
  std::string_view last = trim(pattern.last());
  for (const std::string& name_close : call->name.close.texts) {
    if (between.starts_with(name_close)) between.remove_prefix(name_close.size());
  }
  for (const std::string& close : call->close.texts) {
    if (last.ends_with(close)) last.remove_suffix(close.size());
  }
  const bool is_tag = between.find('<') != std::string_view::npos;
  ParametersSlot& parameters = std::get<ParametersSlot>(call->body);
  add_new(is_tag ? parameters.json_open.texts : call->name.close.texts, trim(between));
  add_new(parameters.json_close.texts, trim(last));
}

/// Whether the alternative is the other one with more text around it.
bool is_around(const Pattern& pattern, const Pattern& other) {
  const std::string_view first = trim(pattern.first()), inner = trim(other.first());
  return inner.find_first_not_of('[') != std::string_view::npos && inner.size() < first.size() &&
         first.ends_with(inner) && other.has_shape_of(pattern) &&
         std::equal(other.texts.begin() + 1, other.texts.end() - 1, pattern.texts.begin() + 1);
}

/// The text that one alternative has around another: each tag, with the words before it and without
/// them.
MarkupRegion markup_around(const Pattern& pattern, const Pattern& inner) {
  const std::string_view first = trim(pattern.first()), last = trim(pattern.last());
  MarkupRegion markup;
  Texts& texts = markup.open.texts;
  const std::string_view before = first.substr(0, first.size() - trim(inner.first()).size());
  add_new(texts, tags_in(before, true));
  add_new(texts, tags_in(before));
  add_new(texts, tags_in(last.substr(std::min(trim(inner.last()).size(), last.size())), true));
  return markup;
}

void unwrap(Patterns& all, std::vector<MarkupRegion>& markup) {
  take_if(all, [&](const Pattern& pattern) {
    const auto inner = std::find_if(
        all.begin(), all.end(), [&](const Pattern& other) { return is_around(pattern, other); });
    if (inner != all.end()) markup.push_back(markup_around(pattern, *inner));
    return inner != all.end();
  });
}

/// Whether two calls differ only in their markers, and both have a closer or both have none.
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
Calls merge(Calls calls) {
  Calls merged;
  for (CallRegion& call : calls) {
    const auto same = std::find_if(merged.begin(), merged.end(),
                                   [&](const CallRegion& other) { return are_alike(other, call); });
    if (same == merged.end()) {
      merged.push_back(std::move(call));
    } else {
      add_markers(*same, call);
    }
  }
  return merged;
}

// The word precedes the name. Its beginning may be missing after the opener's token, and the token
// may be missing after a call.
void add_prefix(const std::string& word, CallRegion& call) {
  Texts tokens;
  for (const std::string& open : call.open.texts) {
    std::size_t size = std::min(word.size(), open.size() - 1);  // something must open it
    while (!open.ends_with(std::string_view(word).substr(word.size() - size))) --size;
    add_new(tokens, open.substr(0, open.size() - size));
  }
  call.open.texts = std::move(tokens);
  call.name.prefix = word;
  call.next.texts = {word, "," + word, ", " + word};
  call.name.stops = "{(";
}

// Distinguishes calls with the same opener by their first letters.
void tell_apart(Calls& calls) {
  for (std::size_t i = 0, count = calls.size(); i < count; ++i) {
    if (!calls[i].is(BodyKind::json_call) || !calls[i].start.letters.empty()) continue;
    const auto shares_opener = [&](const CallRegion& other) {
      return &other != &calls[i] && has_any(other.open.texts, [&](const std::string& text) {
        return contains(calls[i].open.texts, text);
      });
    };
    if (!has_any(calls, shares_opener)) continue;
    calls[i].start.letters = "[{";
    const bool has_python = has_any(calls, [&](const CallRegion& other) {
      return other.is(BodyKind::pythonic) && shares_opener(other);
    });
    if (!has_python) continue;
    CallRegion object = calls[i];  // a list of Python calls also opens with a bracket
    object.start.letters.assign(1, '{');
    calls[i].start.letters.assign(1, '[');
    calls[i].start.second.assign(1, '{');
    calls.push_back(std::move(object));
  }
}

}  // namespace

void read_calls(PatternFile file, Program& program) {
  const bool has_fence = !take_fences(file.call).empty();
  const Patterns prefixes = take_prefixes(file.call);
  const Patterns json_forms = file.string.empty() ? take_json_forms(file.call) : Patterns{};
  unwrap(file.call, program.markup);
  Calls calls;
  for (const Pattern& pattern : file.call) {
    CallRegion call = read_call(file, pattern, !program.section.open.is_empty());
    // A form without an opener, after one with it, has lost its opener: the name must identify it.
    if (call.start.place == BarePlace::start && !calls.empty())
      call.start.known_tools = KnownTools::required;
    if (has_fence && (call.start.place == BarePlace::start || call.start.place == BarePlace::line))
      call.allow_fence();
    calls.push_back(std::move(call));
  }
  calls = merge(std::move(calls));
  for (const Pattern& form : json_forms) add_json_form(form, calls);
  if (calls.empty() && !prefixes.empty())
    throw PatternError("call", "two alternatives are the same");
  for (const Pattern& prefix : prefixes)
    add_prefix(std::string(trim(prefix.first())), calls.front());
  tell_apart(calls);
  program.calls = std::move(calls);
}

}  // namespace unspool
