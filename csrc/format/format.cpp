#include "format/format.h"

#include <algorithm>
#include <functional>

#include "text/error.h"
#include "text/white_space.h"

namespace unspool {

namespace {

constexpr std::size_t npos = std::string_view::npos;

// Far above what a family needs, so that a hostile file costs little.
constexpr std::size_t kMaxCalls = 200;
constexpr std::size_t kMaxMarkups = 200;
constexpr std::size_t kMaxOpeners = 1'000;
constexpr std::size_t kMaxBefore = 64;           // bytes
constexpr std::size_t kMaxTableBytes = 1 << 26;  // of all automata

std::string_view trim_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// A word may end any prompt.
bool is_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

// Behind the last of these texts; npos: there is none.
std::size_t last_end(std::string_view text, const std::vector<std::string>& markers) {
  std::size_t end = npos;
  for (const std::string& marker : markers) {
    const std::size_t at = text.rfind(marker);
    if (at != npos && (end == npos || at + marker.size() > end)) end = at + marker.size();
  }
  return end;
}

// Calls `use` for every marker text of the format.
void for_each_marker(const FormatSpec& spec, const std::function<void(const std::string&)>& use) {
  const auto each = [&](const MarkerSpec& marker) {
    for (const std::string& text : marker.texts) use(text);
  };
  for (const std::string& text : spec.ignore) use(text);
  if (spec.reasoning) {
    if (!spec.headers_tell_reasoning()) each(spec.reasoning->open);
    each(spec.reasoning->close);
  }
  each(spec.section_open);
  each(spec.section_close);
  for (const MarkerSpec& text : spec.call_texts) each(text);
  for (const MarkupSpec& markup : spec.markup) {
    each(markup.open);
    each(markup.close);
  }
  for (const CallSpec& call : spec.calls) {
    for (const MarkerSpec* marker :
         {&call.open, &call.close, &call.next, &call.name_close, &call.xml_parameters.open,
          &call.xml_parameters.name_close, &call.xml_parameters.close,
          &call.xml_parameters.json_open, &call.xml_parameters.json_close, &call.xml_elements.open,
          &call.quotes}) {
      each(*marker);
    }
    for (const std::string& text : call.xml_parameters.name_end) use(text);
    use(call.xml_parameters.value_open);
    use(call.id_open);
    use(call.id_close);
    for (const auto& [text, types] : call.xml_parameters.types) use(text);
  }
}

// Cuts marker texts into letters: a token of the vocabulary where one is spelled, else bytes.
class Speller {
 public:
  Speller(const std::vector<MarkerToken>& symbols, bool by_id) : symbols_(symbols), by_id_(by_id) {}

  MarkerPattern spell(std::string_view before, std::string_view text) const {
    MarkerPattern pattern;
    pattern.append_text(before);
    while (!text.empty()) {
      std::size_t best = symbols_.size();
      for (std::size_t i = 0; by_id_ && i < symbols_.size(); ++i) {
        const bool longer =
            best == symbols_.size() || symbols_[i].text.size() > symbols_[best].text.size();
        if (longer && text.starts_with(symbols_[i].text)) best = i;
      }
      if (best == symbols_.size()) {
        pattern.append_text(text.substr(0, 1));
        text.remove_prefix(1);
      } else {
        pattern.append_token(static_cast<Symbol>(kFirstTokenSymbol + best), symbols_[best].text);
        text.remove_prefix(symbols_[best].text.size());
      }
    }
    return pattern;
  }

 private:
  const std::vector<MarkerToken>& symbols_;
  bool by_id_;
};

// Adds markers to sets, with every suffix of the white space that may stand before them.
class Adder {
 public:
  Adder(const std::vector<MarkerToken>& symbols, bool by_id, MarkerTrust trust)
      : by_id_(symbols, by_id),
        by_text_(symbols, false),
        both_(by_id && trust == MarkerTrust::either) {}

  void add(MarkerSet& set, std::string_view text, std::string_view before, Role role,
           std::size_t value = 0) const {
    if (before.size() > kMaxBefore)
      throw FormatError("the white space before a marker has more than 64 bytes");
    const Marker marker{static_cast<std::uint8_t>(role), static_cast<std::uint16_t>(value)};
    for (std::size_t i = 0; i <= before.size(); ++i) {
      set.add(by_id_.spell(before.substr(i), text), marker);
      if (both_) set.add(by_text_.spell(before.substr(i), text), marker);
    }
  }

  void add(MarkerSet& set, const MarkerSpec& spec, Role role, std::size_t value = 0) const {
    for (const std::string& text : spec.texts) add(set, text, spec.before, role, value);
  }

 private:
  Speller by_id_;
  Speller by_text_;
  bool both_;
};

// A model that is to write bare Python calls may write one as JSON.
void add_slips(FormatSpec& spec) {
  const auto is_bare = [](const CallSpec& call, BodyKind body) {
    return call.bare != BarePlace::nowhere && call.body == body;
  };
  const auto python = std::find_if(spec.calls.begin(), spec.calls.end(), [&](const auto& call) {
    return is_bare(call, BodyKind::pythonic);
  });
  const bool has_json = std::any_of(spec.calls.begin(), spec.calls.end(), [&](const auto& call) {
    return is_bare(call, BodyKind::json_call);
  });
  if (python == spec.calls.end() || has_json) return;
  CallSpec slip;
  slip.bare = python->bare;
  slip.starts = std::string(1, '{');
  slip.known_tools = KnownTools::required;
  slip.is_slip = true;
  spec.calls.push_back(std::move(slip));
}

}  // namespace

std::shared_ptr<const Format> Format::compile(FormatSpec spec,
                                              const std::vector<MarkerToken>& tokens,
                                              MarkerTrust trust) {
  std::shared_ptr<Format> format(new Format());
  add_slips(spec);
  format->spec_ = std::move(spec);
  format->check();
  for (const MarkupSpec& markup : format->spec_.markup) {
    format->headers_.push_back(
        markup.header.empty() ? nullptr : Regex::compile("\\A(?:" + markup.header + ")\\Z"));
  }
  for (std::size_t i = 0; i < format->spec_.calls.size(); ++i) {
    const CallSpec& call = format->spec_.calls[i];
    format->has_bare_calls_ |= call.bare != BarePlace::nowhere;
    std::vector<std::string> openers = call.open.texts;
    openers.insert(openers.end(), call.next.texts.begin(), call.next.texts.end());
    for (const std::string& text : openers) {
      auto& texts = format->opener_texts_;
      const auto at =
          static_cast<std::size_t>(std::find(texts.begin(), texts.end(), text) - texts.begin());
      if (at == texts.size()) {
        if (at == kMaxOpeners)
          throw FormatError("format '" + format->spec_.name +
                            "': more than 1,000 openers of calls");
        texts.push_back(text);
        format->openers_.emplace_back();
      }
      format->openers_[at].push_back(static_cast<std::uint8_t>(i));
    }
  }
  for (const MarkerToken& token : tokens) {
    if (token.text.size() < 2 || is_blank(token.text)) continue;
    bool is_used = false;
    for_each_marker(format->spec_, [&](const std::string& text) {
      is_used |= text.find(token.text) != std::string::npos;
    });
    if (!is_used) continue;
    if (trust == MarkerTrust::by_text) {
      format->spelled_.push_back(token.id);
    } else {
      format->symbols_.push_back(token);
    }
    if (format->symbols_.size() > 0xFFFFU - kFirstTokenSymbol)
      throw FormatError("the format's markers hold more tokens than a format can tell apart");
  }
  std::sort(format->spelled_.begin(), format->spelled_.end());
  for (std::size_t i = 0; i < format->symbols_.size(); ++i) {
    format->symbol_of_.emplace_back(format->symbols_[i].id,
                                    static_cast<Symbol>(kFirstTokenSymbol + i));
  }
  std::sort(format->symbol_of_.begin(), format->symbol_of_.end());
  format->by_text_ = format->build(false, trust);
  if (!format->symbols_.empty()) {
    format->by_id_ = std::make_unique<MarkerTable>(format->build(true, trust));
  }
  return format;
}

void Format::check() const {
  const auto fail = [&](const std::string& what) {
    throw FormatError("format '" + spec_.name + "': " + what);
  };
  if (spec_.calls.size() > kMaxCalls) fail("more than 200 kinds of call; split the file");
  if (spec_.markup.size() > kMaxMarkups) fail("more than 200 kinds of markup; split the file");
  for (const CallSpec& call : spec_.calls) {
    if (call.open.is_empty() && call.bare == BarePlace::nowhere && !call.by_recipient) {
      fail("a call has neither an opener nor a place for bare calls; write call.open or call.bare");
    }
    if (call.bare != BarePlace::nowhere && call.starts.empty()) {
      fail("a bare call needs call.starts, the first letters of its body");
    }
    const bool has_name = call.body == BodyKind::json_call || call.body == BodyKind::pythonic ||
                          call.by_recipient || !call.fixed_name.empty();
    if (!has_name && !call.has_name_outside()) {
      fail("the body has no name in it; write call.name_close or call.name_stops");
    }
    const bool is_tagged = call.body == BodyKind::xml_parameters;
    if (is_tagged && call.xml_parameters.is_keyless && call.close.is_empty()) {
      fail("a value without a key needs call.close");
    }
    if (is_tagged && !call.xml_parameters.is_keyless &&
        (call.xml_parameters.open.is_empty() || call.xml_parameters.name_close.is_empty() ||
         call.xml_parameters.close.is_empty() || call.close.is_empty())) {
      fail("xml_parameters needs call.close and the body's open, name_close and close");
    }
    if (call.body == BodyKind::xml_elements &&
        (call.xml_elements.open.is_empty() || call.close.is_empty())) {
      fail("xml_elements needs call.close and the body's open");
    }
  }
  for (const MarkupSpec& markup : spec_.markup) {
    if (markup.open.is_empty()) fail("markup needs open");
    if (markup.tells() && !markup.has_header()) fail("a header needs close");
  }
  if (spec_.reasoning && (spec_.reasoning->open.is_empty() || spec_.reasoning->close.is_empty())) {
    fail("reasoning needs open and close");
  }
  if (spec_.section_open.is_empty() != spec_.section_close.is_empty()) {
    fail("a section needs open and close");
  }
}

MarkerTable Format::build(bool by_id, MarkerTrust trust) {
  MarkerTable table;
  std::size_t bytes = 0;
  const auto compile = [&](MarkerSet& set) {
    set.compile();
    bytes += set.bytes();
    if (bytes > kMaxTableBytes)
      throw FormatError("format '" + spec_.name + "': its markers' tables take more than 64 MiB");
  };
  const Adder adder(symbols_, by_id, trust);
  const auto add_call_openers = [&](MarkerSet& set) {
    for (std::size_t i = 0; i < opener_texts_.size(); ++i) {
      const CallSpec& call = spec_.calls[openers_[i].front()];
      const auto& next = call.next.texts;
      const bool is_next = std::find(next.begin(), next.end(), opener_texts_[i]) != next.end();
      if (is_next && &set != &table.inside) continue;
      adder.add(set, opener_texts_[i], is_next ? call.next.before : call.open.before,
                Role::call_open, i);
    }
  };
  const auto add_openers = [&](MarkerSet& set) {
    adder.add(set, spec_.section_open, Role::section_open);
    add_call_openers(set);
  };
  const auto add_markup = [&](MarkerSet& set, std::size_t except) {
    for (std::size_t i = 0; i < spec_.markup.size(); ++i) {
      const MarkupSpec& markup = spec_.markup[i];
      if (i == except) continue;
      adder.add(set, markup.open, Role::markup_open, i);
    }
  };
  // Where headers tell what follows, the opener only serves to read the prompt.
  const bool has_opener = spec_.reasoning && !spec_.headers_tell_reasoning();
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  const auto add_closers = [&](MarkerSet& set) {
    adder.add(set, spec_.section_close, Role::section_close);
    for (std::size_t i = 0; i < spec_.calls.size(); ++i) {
      adder.add(set, spec_.calls[i].close, Role::call_close, i);
    }
  };
  const auto add_ignored = [&](MarkerSet& set) {
    for (const std::string& text : spec_.ignore) adder.add(set, text, {}, Role::ignore);
  };

  add_closers(table.inside);  // before markup: of two that are equal the first counts
  for (MarkerSet* set : {&table.content, &table.inside}) {
    if (has_opener) adder.add(*set, spec_.reasoning->open, Role::reasoning_open);
    add_openers(*set);
    add_markup(*set, kNone);
    add_ignored(*set);
  }
  for (std::size_t i = 0; i < spec_.markup.size(); ++i) {
    MarkerSet& set = table.headers.emplace_back();
    if (!spec_.markup[i].has_header()) continue;
    adder.add(set, spec_.markup[i].close, Role::header_close, i);
    for (const MarkerSpec& text : spec_.call_texts) adder.add(set, text, Role::call_text);
    if (has_opener) adder.add(set, spec_.reasoning->open, Role::reasoning_open);
    add_openers(set);
    add_markup(set, spec_.markup[i].is_inline ? kNone : i);
    add_ignored(set);
    compile(set);
  }
  add_openers(table.malformed);
  add_call_openers(table.openers);
  add_closers(table.openers);
  add_ignored(table.openers);
  add_closers(table.malformed);
  for (std::size_t i = 0; i < spec_.markup.size(); ++i) {
    const MarkupSpec& markup = spec_.markup[i];
    if (!markup.is_inline) adder.add(table.malformed, markup.open, Role::markup_open, i);
  }
  add_ignored(table.malformed);
  if (spec_.reasoning) {
    adder.add(table.reasoning, spec_.reasoning->close, Role::reasoning_close);
    if (has_opener) {
      adder.add(table.reasoning, spec_.reasoning->open, Role::reasoning_open);
    }
    if (spec_.reasoning->calls != CallsInReasoning::keep) add_openers(table.reasoning);
    add_markup(table.reasoning, kNone);
    add_ignored(table.reasoning);
    adder.add(table.rehearsal, spec_.reasoning->close, Role::reasoning_close);
    add_closers(table.rehearsal);
    add_openers(table.rehearsal);
    add_markup(table.rehearsal, kNone);
    add_ignored(table.rehearsal);
  }
  for (std::size_t i = 0; i < spec_.calls.size(); ++i) {
    const CallSpec& call = spec_.calls[i];
    CallMarkers markers;
    adder.add(markers.header, call.name_close, Role::name_close);
    adder.add(markers.header, call.close, Role::call_close, i);
    adder.add(markers.header, spec_.section_close, Role::section_close);
    add_openers(markers.header);
    add_markup(markers.header, kNone);
    add_ignored(markers.header);
    if (spec_.reasoning) adder.add(markers.header, spec_.reasoning->close, Role::reasoning_close);
    if (call.body == BodyKind::xml_parameters) {
      const XmlParametersSpec& body = call.xml_parameters;
      const auto add_ends = [&](MarkerSet& set) {
        adder.add(set, call.close, Role::body_close);
        adder.add(set, spec_.section_close, Role::section_close);
        add_openers(set);
        adder.add(set, call.next, Role::call_open);
        for (std::size_t m = 0; m < spec_.markup.size(); ++m) {
          const MarkupSpec& markup = spec_.markup[m];
          if (markup.is_inline) continue;
          adder.add(set, markup.open, markup.has_header() ? Role::markup_open : Role::ignore, m);
        }
        add_ignored(set);
      };
      adder.add(markers.parameter, body.open, Role::parameter_open);
      adder.add(markers.parameter, body.close, Role::value_close);
      adder.add(markers.parameter, body.json_open, Role::json_open);
      adder.add(markers.parameter, body.json_close, Role::json_close);
      add_ends(markers.parameter);
      adder.add(markers.key, body.name_close, Role::value_begin);
      adder.add(markers.key, body.close, Role::value_close);
      adder.add(markers.key, body.open, Role::parameter_open);
      adder.add(markers.key, call.close, Role::body_close);
      adder.add(markers.key, spec_.section_close, Role::section_close);
      add_openers(markers.key);
      // Where a line break around a value is markup, the value itself leaves it out.
      const std::string_view before = body.trim == ValueTrim::newline ? "" : "\r\n";
      for (const std::string& text : body.close.texts) {
        adder.add(markers.value, text, {}, Role::value_close);
      }
      for (const std::string& text : body.open.texts) {
        adder.add(markers.value, text, before, Role::parameter_open);
      }
      adder.add(markers.value, body.json_open, Role::json_open);
      for (const std::string& text : call.close.texts) {
        adder.add(markers.value, text, before, Role::body_close);
      }
      add_call_openers(markers.value);
      for (const std::string& text : body.name_end) {
        adder.add(markers.value, text, {}, Role::key_end);
      }
      for (const std::string& text : body.name_close.texts) {  // `>` alone tells nothing
        if (text.size() > 1) adder.add(markers.value, text, {}, Role::value_begin);
      }
    }
    if (call.body == BodyKind::xml_elements) {
      adder.add(markers.element, call.xml_elements.open, Role::tag_open);
      adder.add(markers.element, call.close, Role::body_close);
      adder.add(markers.element, spec_.section_close, Role::section_close);
    }
    adder.add(markers.quote, call.quotes, Role::quote);
    for (MarkerSet* set : {&markers.header, &markers.parameter, &markers.key, &markers.value,
                           &markers.element, &markers.quote}) {
      compile(*set);
    }
    table.calls.push_back(std::move(markers));
  }
  for (MarkerSet* set : {&table.content, &table.inside, &table.reasoning, &table.rehearsal,
                         &table.malformed, &table.openers}) {
    compile(*set);
  }
  return table;
}

std::optional<Symbol> Format::symbol(TokenId id) const {
  const auto it =
      std::lower_bound(symbol_of_.begin(), symbol_of_.end(), std::pair<TokenId, Symbol>{id, 0});
  if (it == symbol_of_.end() || it->first != id) return std::nullopt;
  return it->second;
}

bool Format::is_spelled(TokenId id) const {
  return std::binary_search(spelled_.begin(), spelled_.end(), id);
}

Format::Start Format::start_without_prompt() const {
  Start start{spec_.reasoning && spec_.reasoning->starts_open, {}, -1};
  for (std::size_t i = 0; i < spec_.markup.size(); ++i) {
    if (spec_.markup[i].starts_open) start.markup = static_cast<int>(i);
  }
  return start;
}

// Whether the prompt ends with what opens a call or a section of calls.
bool Format::opens_call(std::string_view prompt, Start& start) const {
  const std::string_view written = trim_end(prompt);
  std::size_t longest = 0;
  for (std::size_t i = 0; i < opener_texts_.size(); ++i) {
    const std::string_view opener = trim_end(opener_texts_[i]);
    if (opener.size() <= longest || is_word(opener) || !written.ends_with(opener)) continue;
    longest = opener.size();
    start.opener = static_cast<int>(i);
  }
  const std::size_t section = last_end(written, spec_.section_open.texts);
  const std::size_t closed = last_end(written, spec_.section_close.texts);
  start.in_section = section != npos && (closed == npos || closed < section) &&
                     (start.opener >= 0 || section == written.size());
  return start.opener >= 0 || start.in_section;
}

Format::Start Format::start_after(std::string_view prompt) const {
  for (std::size_t i = 0; i < spec_.markup.size(); ++i) {
    if (!spec_.markup[i].has_header() || !spec_.markup[i].begins.empty()) continue;
    for (const std::string& text : spec_.markup[i].open.texts) {
      if (prompt.ends_with(text)) return {false, {}, static_cast<int>(i)};
    }
  }
  if (Start start; opens_call(prompt, start)) return start;
  if (!spec_.reasoning) return {};
  const ReasoningSpec& reasoning = *spec_.reasoning;
  // Only what the template wrote for this answer counts: a user may have written the tags too.
  const std::size_t from = last_end(prompt, reasoning.turn);
  std::string_view tail = prompt;
  const bool has_turn = from != npos;
  if (has_turn) tail.remove_prefix(from);
  const auto latest = [&](const MarkerSpec& spec) {
    const std::size_t end = last_end(tail, spec.texts);
    // Without a turn marker to trust, a tag counts only at the very end of the prompt.
    const bool counts = has_turn || (end != npos && is_blank(tail.substr(end)));
    return counts ? end : npos;
  };
  const std::size_t opened = latest(reasoning.open);
  const std::size_t closed = latest(reasoning.close);
  if (opened == npos && closed == npos) {
    return start_without_prompt();
  }
  const bool is_closed = opened == npos || (closed != npos && closed > opened);
  std::string_view written = tail.substr(is_closed ? closed : opened);
  std::string_view skip = is_closed ? reasoning.close.after : reasoning.open.after;
  while (!skip.empty() && !written.empty() && skip[0] == written[0]) {
    skip.remove_prefix(1);
    written.remove_prefix(1);
  }
  return {!is_closed, written.empty() ? skip : std::string_view{}, -1};
}

std::size_t Format::reasoning_end(std::string_view text) const {
  if (!spec_.reasoning) return npos;
  const ReasoningSpec& reasoning = *spec_.reasoning;
  const std::size_t turn = last_end(text, reasoning.turn);
  const std::size_t from = turn == npos ? 0 : turn;
  const std::string_view tail = text.substr(from);
  std::vector<std::string> ends = reasoning.close.texts;
  // A prompt may show calls as examples: only where a turn can be told from these.
  if (reasoning.calls == CallsInReasoning::end && !reasoning.turn.empty()) {
    const auto add = [&](const MarkerSpec& spec) {
      ends.insert(ends.end(), spec.texts.begin(), spec.texts.end());
    };
    add(spec_.section_open);
    for (const CallSpec& call : spec_.calls) add(call.open);
  }
  const std::size_t end = last_end(tail, ends);
  const std::size_t opened = last_end(tail, reasoning.open.texts);
  const bool is_over = end != npos && (opened == npos || end > opened);
  return is_over ? from + end : npos;
}

}  // namespace unspool
