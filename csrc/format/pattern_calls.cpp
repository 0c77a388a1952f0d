// Calls: what opens one, how its name ends, how its arguments are written.
#include "format/pattern_compiler.h"
#include "text/error.h"

namespace unspool {

namespace {

using Kind = HoleKind;

constexpr std::string_view kSeparators = ",;";
constexpr std::string_view kNameStarts = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

/// A literal without a bracket at its end, behind white space or before it.
bool drop_last(std::string_view& literal, char bracket) {
  const std::size_t last = literal.find_last_not_of(kSpace);
  if (last == std::string_view::npos || literal[last] != bracket) return false;
  literal = literal.substr(0, last);
  return true;
}

bool drop_first(std::string_view& literal, char bracket) {
  const std::size_t first = literal.find_first_not_of(kSpace);
  if (first == std::string_view::npos || literal[first] != bracket) return false;
  literal = literal.substr(first + 1);
  return true;
}

}  // namespace

void PatternCompiler::read_calls() {
  const auto is_fence = [](const Pattern& p) { return trim(p.first()).starts_with("```"); };
  const auto is_bare = [](const Pattern& p) {
    return p.has(Kind::object) && p.first().find_first_not_of(" \n[") == std::string::npos;
  };
  const bool has_fence = std::any_of(file_.call.begin(), file_.call.end(), is_fence);
  const bool has_bare = std::any_of(file_.call.begin(), file_.call.end(), is_bare);
  if (has_bare) std::erase_if(file_.call, is_fence);  // the bare call says how they are read
  const std::vector<Pattern> prefixes = take_prefixes();
  const std::vector<Pattern> json_forms = take_json_forms();
  unwrap();
  std::vector<CallSpec> calls;
  for (const Pattern& pattern : file_.call) calls.push_back(read_call(pattern));
  // A form without an opener behind one that has it: its opener is lost, and the name must tell.
  for (CallSpec& call : calls) {
    if (call.bare == BarePlace::start && &call != &calls.front())
      call.known_tools = KnownTools::required;
  }
  if (has_fence) take_fences(calls);
  merge(calls);
  for (const Pattern& form : json_forms) add_json_form(form, calls);
  for (CallSpec& call : calls) split_prefix(call);
  if (calls.empty() && !prefixes.empty())
    throw PatternError("call", "two alternatives are the same");
  for (const Pattern& prefix : prefixes) {
    const std::string word(trim(prefix.first()));
    calls.front().next.texts = {word, "," + word, ", " + word};
    calls.front().name_stops = "{(";
  }
  tell_apart(calls);
  spec_.calls = std::move(calls);
}

void PatternCompiler::take_fences(std::vector<CallSpec>& calls) {
  for (CallSpec& call : calls) {
    if (call.bare != BarePlace::start && call.bare != BarePlace::line) continue;
    call.allow_fence();
  }
}

// A word before the name that is the end of another opener: that opener's token may be missing
// behind a call, and the word may have lost its beginning behind the token.
std::vector<Pattern> PatternCompiler::take_prefixes() {
  std::vector<Pattern> words;
  for (const Pattern& pattern : file_.call) {
    const std::string_view word = trim(pattern.first());
    const bool is_named = !pattern.holes.empty() && pattern.holes[0].kind == Kind::name;
    const bool is_end =
        std::any_of(file_.call.begin(), file_.call.end(), [&](const Pattern& other) {
          return &other != &pattern && trim(other.first()).ends_with(word);
        });
    if (!word.empty() && is_word(word) && is_named && is_end) words.push_back(pattern);
  }
  std::erase_if(file_.call, [&](const Pattern& pattern) {
    return std::any_of(words.begin(), words.end(),
                       [&](const Pattern& word) { return word.first() == pattern.first(); });
  });
  return words;
}

// A tagged call whose arguments may also be one JSON object after the same opener: it is one call,
// since only what follows the name tells the two apart.
std::vector<Pattern> PatternCompiler::take_json_forms() {
  std::vector<Pattern> forms;
  const auto is_tagged = [](const Pattern& p) {
    return p.has(Kind::name) && p.has(Kind::parameters);
  };
  std::erase_if(file_.call, [&](const Pattern& pattern) {
    const bool is_json = pattern.has(Kind::name) && pattern.has(Kind::arguments) &&
                         std::any_of(file_.call.begin(), file_.call.end(), [&](const Pattern& p) {
                           return is_tagged(p) && trim(p.first()) == trim(pattern.first());
                         });
    if (is_json && file_.string.empty()) forms.push_back(pattern);
    return is_json && file_.string.empty();
  });
  return forms;
}

// What stands between the name and the object ends the name, or opens the object after what does.
void PatternCompiler::add_json_form(const Pattern& pattern, std::vector<CallSpec>& calls) const {
  const std::string_view open = without_quote_at_end(trim(pattern.first()));
  const auto call = std::find_if(calls.begin(), calls.end(), [&](const CallSpec& other) {
    return other.body == BodyKind::xml_parameters && contains(other.open.texts, open);
  });
  if (call == calls.end())
    throw PatternError("call", "the tagged form of a call with JSON is missing");
  std::string_view between = trim(without_quote(pattern.before(Kind::arguments)));
  std::string_view last = trim(pattern.last());
  for (const std::string& name_close : call->name_close.texts) {
    if (between.starts_with(name_close)) between.remove_prefix(name_close.size());
  }
  for (const std::string& close : call->close.texts) {
    if (last.ends_with(close)) last.remove_suffix(close.size());
  }
  if (between.find('<') == std::string_view::npos) {
    add_new(call->name_close.texts, between);
  } else {
    add_new(call->xml_parameters.json_open.texts, trim(between));
  }
  add_new(call->xml_parameters.json_close.texts, trim(last));
}

// An alternative that is another one with more text around it: the text is markup.
void PatternCompiler::unwrap() {
  std::vector<Pattern> kept;
  for (const Pattern& pattern : file_.call) {
    const std::string_view first = trim(pattern.first()), last = trim(pattern.last());
    const auto inner =
        std::find_if(file_.call.begin(), file_.call.end(), [&](const Pattern& other) {
          const std::string_view text = trim(other.first());
          return &other != &pattern && text.find_first_not_of('[') != std::string_view::npos &&
                 other.has_shape_of(pattern) && text.size() < first.size() &&
                 first.ends_with(text) &&
                 std::equal(other.texts.begin() + 1, other.texts.end() - 1,
                            pattern.texts.begin() + 1);
        });
    if (inner == file_.call.end()) {
      kept.push_back(pattern);
      continue;
    }
    MarkupSpec around;
    Texts words;
    const auto add_tags = [&](std::string_view text) {
      for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t open = text.find('<', begin);
        const std::size_t end = text.find('>', open);
        if (end == std::string_view::npos) return;
        add_new(around.open.texts, text.substr(begin, end + 1 - begin));
        if (open > begin) add_new(words, text.substr(open, end + 1 - open));
        begin = end + 1;
      }
    };
    add_tags(first.substr(0, first.size() - trim(inner->first()).size()));
    add_new(around.open.texts, words);
    add_tags(last.substr(std::min(trim(inner->last()).size(), last.size())));
    spec_.markup.push_back(std::move(around));
  }
  file_.call = std::move(kept);
}

CallSpec PatternCompiler::read_call(const Pattern& pattern) const {
  CallSpec call;
  std::string_view first = pattern.first(), last = pattern.last();
  if (pattern.has(Kind::object)) {
    const bool is_list = drop_last(first, '[');
    if (is_list) drop_first(last, ']');
    read_object_call(pattern, first, last, is_list, call);
    call.json_call.python = pattern.hole(Kind::object).has("python");
    if (opens_message(first)) {
      call.by_recipient = true;
      call.close.texts = message_closers(last);
      return call;
    }
  } else if (pattern.has(Kind::key)) {
    const bool is_list = drop_last(first, '[');
    drop_first(last, ')');
    drop_first(last, ']');
    read_python_call(first, last, is_list, call);
  } else {
    if (!pattern.has(Kind::name) && !pattern.has(Kind::id))
      throw PatternError("call", "a call has no ${name}, ${id} or ${object}");
    if (!read_named_call(pattern, call)) return call;  // a header opens it
    first = without_quote_at_end(first);
  }
  close_call(call, first, last);
  return call;
}

void PatternCompiler::close_call(CallSpec& call, std::string_view open,
                                 std::string_view close) const {
  call.open = to_marker({open}, KeepSpace::before);
  const bool has_section = !spec_.section_open.is_empty();
  call.close = to_marker({close}, has_section ? KeepSpace::none : KeepSpace::after);
  if (call.body == BodyKind::json_arguments && !call.close.is_empty() &&
      call.close.texts[0].starts_with("```")) {
    add_new(call.close.texts, trim(std::string_view(call.close.texts[0]).substr(3)));
    call.close.before = "\n";
  }
}

// `first`, `last`: the pattern's edges without the brackets of a list.
void PatternCompiler::read_object_call(const Pattern& pattern, std::string_view first,
                                       std::string_view last, bool is_list, CallSpec& call) const {
  call.body = BodyKind::json_call;
  if (pattern.has(Kind::repeats) && !is_list) call.separators = trim(pattern.behind(Kind::object));
  if (!is_blank(last) || is_blank(first)) {
    for (const char byte : kSeparators) {
      if (call.separators.find(byte) == std::string::npos) call.separators += byte;
    }
  }
  if (!file_.object.empty()) read_objects(call.json_call);
  if (is_blank(first)) {
    const bool has_section = !spec_.section_open.is_empty();
    call.bare = has_section               ? BarePlace::section
                : first.starts_with('\n') ? BarePlace::line
                                          : BarePlace::start;
    call.starts = "[{";
    if (call.bare == BarePlace::line) call.known_tools = KnownTools::required;
    if (call.bare == BarePlace::start) call.known_tools = KnownTools::if_given;
  } else if (is_word(trim(first))) {
    call.may_be_text = true;
    call.starts = is_list ? "[" : "{";
    if (is_list) call.second = "{";
  }
}

// {"tool_name": ${name}, "parameters": ${arguments}}; or {${name}: ${arguments}}
void PatternCompiler::read_objects(JsonCallSpec& keys) const {
  Texts names, arguments, ids;
  for (const Pattern& object : file_.object) {
    if (object.holes[0].kind == Kind::name && trim(object.first()) == "{") {
      keys.name_is_key = true;
      return;
    }
    for (std::size_t i = 0; i < object.holes.size(); ++i) {
      std::string_view before = object.texts[i];
      const std::size_t end = before.rfind('"');
      if (end == std::string_view::npos || end == 0) continue;
      const std::size_t begin = before.rfind('"', end - 1);
      if (begin == std::string_view::npos) continue;
      const std::string_view key = before.substr(begin + 1, end - begin - 1);
      const Kind kind = object.holes[i].kind;
      add_new(kind == Kind::name ? names : kind == Kind::id ? ids : arguments, key);
    }
  }
  add_new(names, "name");
  add_new(arguments, Texts{"arguments", "parameters"});
  keys.name_keys = names;
  keys.arguments_keys = arguments;
  if (!ids.empty()) keys.id_keys = ids;
}

void PatternCompiler::read_python_call(std::string_view first, std::string_view last, bool is_list,
                                       CallSpec& call) const {
  call.body = BodyKind::pythonic;
  if (!is_blank(last)) call.separators = kSeparators;
  if (!is_blank(first)) return;
  call.bare = is_list ? BarePlace::start : BarePlace::line;
  call.starts = is_list ? "[" : kNameStarts;
  call.known_tools = is_list ? KnownTools::if_given : KnownTools::required;
}

Texts PatternCompiler::message_closers(std::string_view own) const {
  Texts closers;
  add_new(closers, trim(own));
  for (const Pattern& pattern : file_.reasoning) add_new(closers, trim(pattern.last()));
  return closers;
}

// A name outside of the arguments; false where a message's header names the tool.
bool PatternCompiler::read_named_call(const Pattern& pattern, CallSpec& call) const {
  const bool is_id = pattern.has(Kind::id) && !pattern.has(Kind::name);
  std::string_view behind = pattern.behind(is_id ? Kind::id : Kind::name);
  if (is_id) {
    call.name_is_id = true;
    if (!file_.id.empty()) call.name_prefix = file_.id.front().first();
  } else if (pattern.has(Kind::id) && pattern.index(Kind::id) < pattern.index(Kind::name)) {
    call.id_close = trim(pattern.behind(Kind::id));
    if (call.id_close.empty())
      throw PatternError("call", "nothing stands between a call's ${id} and ${name}");
  } else if (pattern.has(Kind::id)) {
    call.id_open = trim(behind);
    behind = pattern.behind(Kind::id);
  }
  if (pattern.count(Kind::name) == 2) {
    call.name_twice = true;
    behind = pattern.texts[pattern.index(Kind::name) + 2];
  }
  if (pattern.has(Kind::index)) behind = pattern.behind(Kind::index);
  behind = without_quote(behind);
  const std::string_view first = pattern.first();
  const bool is_tagged = without_quote_at_end(first).ends_with("name=");
  const bool is_message = opens_message(first) && !is_tagged;
  if (pattern.has(Kind::arguments)) {
    call.body = file_.string.empty() ? BodyKind::json_arguments : BodyKind::literal_arguments;
    if (!file_.string.empty()) call.quotes.texts = {file_.string.front().first()};
    call.name_prefix =
        is_message ? split_recipient(first).prefix : std::string_view(call.name_prefix);
    if (!is_message) {
      if (!is_blank(behind)) {
        const bool is_fence = behind.find("```") != std::string_view::npos;
        add_new(call.name_close.texts, is_fence ? behind : trim(behind));
        if (is_fence) add_new(call.name_close.texts, behind.substr(behind.find_first_not_of('\n')));
      }
      call.name_stops = "{";
    }
  } else {
    if (!pattern.has(Kind::parameters) && !pattern.has(Kind::value))
      throw PatternError("call",
                         "a call has no ${arguments}, ${parameters}, ${value} or ${object}");
    pattern.has(Kind::value) ? read_keyless(pattern, call) : read_parameters(call);
    if (!is_message) {
      if (!is_blank(behind)) {
        call.name_close.texts.emplace_back(trim(behind));
      } else {
        call.name_close.texts = {"\n"};
        add_new(call.name_close.texts, call.xml_parameters.open.texts);
      }
    }
  }
  if (!is_message) return true;
  call.by_recipient = true;
  call.close.texts = message_closers(pattern.last());
  return false;
}

// Alternatives that differ in their markers alone are one call.
void PatternCompiler::merge(std::vector<CallSpec>& calls) const {
  std::vector<CallSpec> merged;
  const auto without_markers = [](CallSpec call) {
    call.open = call.close = call.next = call.name_close = {};
    call.id_open.clear();
    call.id_close.clear();
    call.name_twice = false;
    return call;
  };
  for (CallSpec& call : calls) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const CallSpec& other) {
      return call.bare == BarePlace::nowhere && other.open.is_empty() == call.open.is_empty() &&
             other.close.is_empty() == call.close.is_empty() &&
             other.name_close.is_empty() == call.name_close.is_empty() &&
             without_markers(other) == without_markers(call);
    });
    if (same == merged.end()) {
      merged.push_back(std::move(call));
      continue;
    }
    for (const auto marker : {&CallSpec::open, &CallSpec::close, &CallSpec::name_close}) {
      add_new((*same.*marker).texts, (call.*marker).texts);
      if ((*same.*marker).before.empty()) (*same.*marker).before = (call.*marker).before;
      if ((*same.*marker).after.empty()) (*same.*marker).after = (call.*marker).after;
    }
    if (!call.id_open.empty()) same->id_open = call.id_open;
    if (!call.id_close.empty()) same->id_close = call.id_close;
    same->name_twice = same->name_twice || call.name_twice;
  }
  calls = std::move(merged);
}

// Openers of one token, each with the end of one word behind it: the word stands before the name,
// and may have lost its beginning.
void PatternCompiler::split_prefix(CallSpec& call) const {
  Texts& opens = call.open.texts;
  if (opens.size() < 2 || !call.has_name_outside()) return;
  const std::string longest = *std::max_element(
      opens.begin(), opens.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  const std::string token = longest.substr(0, longest.rfind('>') + 1);
  const std::string_view word = std::string_view(longest).substr(token.size());
  const bool fits = !token.empty() && !word.empty() &&
                    std::all_of(opens.begin(), opens.end(), [&](const std::string& open) {
                      return open.starts_with(token) &&
                             word.ends_with(std::string_view(open).substr(token.size()));
                    });
  if (!fits) return;
  call.name_prefix = word;
  opens = {token};
}

// Calls behind one opener: what their first letters are.
void PatternCompiler::tell_apart(std::vector<CallSpec>& calls) const {
  for (std::size_t i = 0, count = calls.size(); i < count; ++i) {
    if (calls[i].body != BodyKind::json_call || !calls[i].starts.empty()) continue;
    bool has_same = false, has_python = false;
    for (std::size_t k = 0; k < count; ++k) {
      const bool shares = k != i && std::any_of(calls[k].open.texts.begin(),
                                                calls[k].open.texts.end(), [&](const auto& text) {
                                                  return contains(calls[i].open.texts, text);
                                                });
      has_same = has_same || shares;
      has_python = has_python || (shares && calls[k].body == BodyKind::pythonic);
    }
    if (!has_same) continue;
    calls[i].starts = has_python ? "[" : "[{";
    if (!has_python) continue;
    CallSpec object = calls[i];
    object.starts = "{";
    calls[i].second = "{";
    calls.push_back(std::move(object));
  }
}

}  // namespace unspool
