// All calls: which alternatives are the same call, and what a model uses of them.
#include "format/pattern_texts.h"
#include "format/shape_readers.h"

namespace unspool {

namespace {

using Kind = HoleKind;

bool is_bare(const Pattern& pattern) {
  return pattern.first().find_first_not_of(" \n[") == std::string::npos;
}

bool is_fence(const Pattern& pattern) { return trim(pattern.first()).starts_with("```"); }

/// Gives roles to the alternatives, each step among those that have none yet.
// The order matters: a fenced alternative is no candidate for the steps after it.
class Roles {
 public:
  explicit Roles(const Alternatives& calls) {
    for (const Alternative& call : calls) patterns_.push_back(&call.pattern);
    roles_.assign(patterns_.size(), CallRole::own);
  }

  const Pattern& pattern(std::size_t i) const { return *patterns_[i]; }
  bool is_own(std::size_t i) const { return roles_[i] == CallRole::own; }
  CallRole role(std::size_t i) const { return roles_[i]; }

  template <typename Test>
  bool has_own(Test&& test) const {
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      if (is_own(i) && test(pattern(i))) return true;
    }
    return false;
  }

  /// Gives the role to all for which the test holds while the others are as before.
  template <typename Test>
  void give(CallRole role, Test&& test) {
    std::vector<std::size_t> taken;
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      if (is_own(i) && test(pattern(i))) taken.push_back(i);
    }
    for (const std::size_t i : taken) roles_[i] = role;
  }

 private:
  std::vector<const Pattern*> patterns_;
  std::vector<CallRole> roles_;
};

/// A word before the name that is the end of another opener: <token>call: and call:.
bool is_cut(const Pattern& pattern, const Roles& roles) {
  const Edge word(pattern.first());
  return !word.is_blank() && word.is_word() && !pattern.holes.empty() &&
         pattern.holes[0].kind == Kind::name && roles.has_own([&](const Pattern& other) {
           return &other != &pattern && trim(other.first()).ends_with(word.text());
         });
}

/// A tagged call whose arguments may also be one JSON object after the same opener is one call,
/// because only the text after the name distinguishes the two.
bool is_json_form(const Pattern& pattern, const Roles& roles) {
  return pattern.has(Kind::name) && pattern.has(Kind::arguments) &&
         roles.has_own([&](const Pattern& other) {
           return other.has(Kind::name) && other.has(Kind::parameters) &&
                  trim(other.first()) == trim(pattern.first());
         });
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
  markup.is_around_call = true;
  Texts& texts = markup.open.texts;
  const std::string_view before = first.substr(0, first.size() - trim(inner.first()).size());
  add_new(texts, tags_in(before, true));
  add_new(texts, tags_in(before));
  add_new(texts, tags_in(last.substr(std::min(trim(inner.last()).size(), last.size())), true));
  return markup;
}

Roles read_roles(const Alternatives& calls, bool has_quote) {
  Roles roles(calls);
  // A bare call defines how fenced ones are read.
  if (roles.has_own([](const Pattern& p) { return p.has(Kind::object) && is_bare(p); }))
    roles.give(CallRole::fenced, is_fence);
  roles.give(CallRole::cut, [&](const Pattern& p) { return is_cut(p, roles); });
  if (!has_quote)
    roles.give(CallRole::json_form, [&](const Pattern& p) { return is_json_form(p, roles); });
  roles.give(CallRole::around, [&](const Pattern& p) {
    return roles.has_own([&](const Pattern& other) { return is_around(p, other); });
  });
  return roles;
}

// The text between name and object ends the name, or opens the object after the name's end.
// The name's closer of the tagged form may begin the text, and its call's closer may end it: what
// remains is the markup of the object alone.
void read_json_form(const Pattern& pattern, const std::vector<CallShape>& calls, CallShape& form) {
  const std::string open = form.own_open.text();
  std::string_view between = trim(without_quote(pattern.before(Kind::arguments)));
  std::string_view last = trim(pattern.last());
  for (const CallShape& call : calls) {
    const bool is_same = call.role == CallRole::own && call.kind() == BodyKind::xml_parameters &&
                         call.own_open.text() == open;
    if (!is_same) continue;
    for (const std::string& name_close : call.name.close.texts) {
      if (between.starts_with(name_close)) between.remove_prefix(name_close.size());
    }
    if (last.ends_with(call.own_close.text())) last.remove_suffix(call.own_close.text().size());
  }
  const bool is_tag = between.find('<') != std::string_view::npos;
  form.name.close = {};
  add_new(is_tag ? form.json_open.texts : form.name.close.texts, trim(between));
  add_new(form.json_close.texts, trim(last));
}

// The opener without the word: its beginning may be missing after the opener's token.
// <|tool_call>call: is the token <|tool_call> and the word call:, and models drop either.
std::string without_word(const std::string& open, const std::string& word) {
  std::size_t size = std::min(word.size(), open.size() - 1);  // something must open it
  while (!open.ends_with(std::string_view(word).substr(word.size() - size))) --size;
  return open.substr(0, open.size() - size);
}

/// The alternatives of another key that belong to this one of `count` calls.
// Three ways to open all calls and three ways to write one belong together pair by pair: nobody
// lists nine.
template <typename Item>
std::vector<Item> together(const std::vector<Item>& alternatives, std::size_t place,
                           std::size_t count) {
  if (count > 1 && alternatives.size() == count) return {alternatives[place]};
  return alternatives;
}

/// The text before the tool's name in a header, if the opener has no header of its own.
// harmony's header names the tool before the call. Where the call's own pattern has no header, one
// must be written for it.
std::optional<std::string> recipient_of(const PatternFile& file, const Shape& shape,
                                        std::string_view opener) {
  const auto opens = [&](std::string_view text) { return opener.starts_with(text); };
  if (!shape.header || has_any(file.turn, opens) ||
      has_any(file.header, [&](const Pattern& header) { return opens(header.first()); }))
    return std::nullopt;
  return shape.header->recipient;
}

/// The end of alternatives that differ in it alone, and what the longest one has after it.
// "...</call>" and "...</call>\n" are one way to write a call, and the line break stands between
// two.
void read_joiner(const PatternFile& file, const Pattern& pattern, CallShape& call) {
  std::string shortest = pattern.last(), longest = pattern.last();
  for (const Pattern& other : file.call) {
    const std::string& last = other.last();
    const bool is_alike = other.with_last({}) == pattern.with_last({}) &&
                          (last.starts_with(pattern.last()) || pattern.last().starts_with(last));
    if (!is_alike) continue;
    if (last.size() < shortest.size()) shortest = last;
    if (last.size() > longest.size()) longest = last;
  }
  const std::size_t more = pattern.last().size() - shortest.size();
  const std::string& close = call.close.literal();
  call.shortest_close = Edge(close.substr(0, close.size() - std::min(more, close.size())));
  call.joiner = longest.substr(shortest.size());
}

}  // namespace

void read_calls(const PatternFile& file, const Alternatives& calls, Shape& shape) {
  shape.has_fence = has_any(calls, [](const Alternative& call) { return is_fence(call.pattern); });
  const Roles roles = read_roles(calls, shape.quote.has_value());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CallShape call = read_call(file, calls[i], shape);
    call.role = roles.role(i);
    shape.calls.push_back(std::move(call));
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Pattern& pattern = calls[i].pattern;
    CallShape& call = shape.calls[i];
    if (call.role == CallRole::json_form) read_json_form(pattern, shape.calls, call);
    if (call.role == CallRole::cut) call.word = trim(pattern.first());
    if (call.role != CallRole::around) continue;
    for (std::size_t inner = 0; inner < calls.size(); ++inner) {
      if (roles.role(inner) != CallRole::own && roles.role(inner) != CallRole::around) continue;
      if (!is_around(pattern, calls[inner].pattern)) continue;
      call.markup = markup_around(pattern, calls[inner].pattern);
      break;
    }
  }
  for (CallShape& call : shape.calls) {
    if (call.own_open.is_blank()) continue;
    std::string token = call.own_open.text();
    for (const CallShape& cut : shape.calls) {
      if (cut.role == CallRole::cut) token = without_word(token, cut.word);
    }
    call.token = token;
  }
}

// A file's first alternative is the template's. The others are what models write too; of these a
// writer takes no bare call unless the template's own is bare, since text could be taken for it.
std::vector<FormShape> read_forms(const PatternFile& file, const Shape& shape) {
  std::vector<FormShape> forms;
  std::vector<const CallShape*> written;
  for (const CallShape& call : shape.calls) {
    if (!call.is_begun) written.push_back(&call);
  }
  const auto is_used = [&](std::size_t i) { return written[i]->role != CallRole::cut; };
  std::size_t first = 0;
  while (first < written.size() && !is_used(first)) ++first;
  if (first == written.size()) return forms;
  const bool has_bare = is_bare(file.call[first]) || is_fence(file.call[first]);
  for (std::size_t i = first; i < written.size(); ++i) {
    if (!is_used(i) || (!has_bare && is_bare(file.call[i]))) continue;
    FormShape form{*written[i], {}, together(shape.parameters, i, written.size()), {}, false};
    read_joiner(file, file.call[i], form.call);
    std::vector<TextShape> sections;
    for (const TextShape& section : shape.sections) {
      if (!section.is_begun) sections.push_back(section);
    }
    if (sections.empty()) {
      form.is_bare = is_bare(file.call[i]);
      form.recipient = recipient_of(file, shape, file.call[i].first());
      forms.push_back(form);
    }
    for (const TextShape& section : together(sections, i, written.size())) {
      form.section = section;
      form.recipient = recipient_of(file, shape, section.open.literal());
      forms.push_back(form);
    }
  }
  return forms;
}

}  // namespace unspool
