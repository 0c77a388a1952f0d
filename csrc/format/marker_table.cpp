#include "format/marker_table.h"

#include <algorithm>
#include <string>

#include "format/marker_adder.h"
#include "text/error.h"

namespace unspool {

namespace {

// Far above what a family needs; bounds the cost of a hostile file.
constexpr std::size_t kMaxOpeners = 1'000;
constexpr std::size_t kMaxTableBytes = 1 << 26;  // of all automata

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// The markers that may count in a region besides its own. Of two equal markers, the one listed
/// first here counts.
using Parts = unsigned;
constexpr Parts kReasoningClose = 1;
constexpr Parts kClosers = 2;  // of calls and of the section
constexpr Parts kReasoningOpen = 4;
constexpr Parts kSectionOpen = 8;
constexpr Parts kCallOpen = 16;
constexpr Parts kNextCall = 32;  // openers that count only after a call
constexpr Parts kMarkup = 64;
constexpr Parts kMarkupAround = 128;  // all except markup within text
constexpr Parts kIgnored = 256;
constexpr Parts kClosersAgain = 512;
constexpr Parts kStrayClosers = 1024;  // that close nothing
constexpr Parts kOpeners = kSectionOpen | kCallOpen;

constexpr Parts kContent = kReasoningOpen | kOpeners | kMarkup | kIgnored | kStrayClosers;
constexpr Parts kAfterCall = kContent | kClosersAgain;
constexpr Parts kInside = (kClosers | kNextCall | kContent) & ~kStrayClosers;
constexpr Parts kReasoning = kReasoningClose | kReasoningOpen | kMarkup | kIgnored;
constexpr Parts kRehearsal = kReasoningClose | kClosers | kOpeners | kMarkup | kIgnored;
constexpr Parts kMalformed = kClosers | kOpeners | kMarkupAround | kIgnored;
constexpr Parts kAfterOpener = kClosers | kCallOpen | kIgnored;
constexpr Parts kCallHeader = kOpeners | kMarkup | kIgnored;

/// [/TAG] for [TAG], </tag> for <tag>; empty for other texts.
std::string closing_tag(std::string_view text) {
  if (text.size() < 3 || !(text.starts_with('[') || text.starts_with('<'))) return {};
  const char end = text[0] == '[' ? ']' : '>';
  const std::string_view name = text.substr(1, text.size() - 2);
  const bool is_word = std::all_of(name.begin(), name.end(), [](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
  });
  if (text.back() != end || !is_word) return {};
  return std::string(text.substr(0, 1)).append("/").append(text.substr(1));
}

/// Whether text may begin so: a word, or a fence.
bool is_words(std::string_view text) {
  const char first = text.empty() ? '`' : text[0];
  return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '`';
}

class TableBuilder {
 public:
  TableBuilder(const Program& program, const CallOpeners& openers,
               const std::vector<MarkerToken>& tokens, MarkerTrust trust, bool adds_slips)
      : program_(program),
        openers_(openers),
        adder_(tokens, trust, adds_slips),
        is_strict_(trust == MarkerTrust::strict) {}

  MarkerTable build() {
    MarkerTable table;
    finish_outside(table.content, kContent);
    finish(table.inside, kInside);
    finish_outside(table.after_call, kAfterCall);
    if (program_.has_texts_for_user())
      finish_outside(table.for_user, kContent & ~(kOpeners | kStrayClosers));
    finish(table.malformed, kMalformed);
    finish(table.openers, kAfterOpener);
    build_reasoning(table);
    for (std::size_t i = 0; i < program_.markup.size(); ++i) table.headers.push_back(header(i));
    for (std::size_t i = 0; i < program_.calls.size(); ++i) table.calls.push_back(call(i));
    return table;
  }

 private:
  // What the reasoning looks for. Its closer counts as it is: a token or the prompt opened it.
  void build_reasoning(MarkerTable& table) {
    if (program_.reasoning) {
      const bool keeps_calls = program_.reasoning->calls == CallsInReasoning::keep;
      if (!keeps_calls && !program_.has_reasoning_headers()) {
        add(table.inside_cut_reasoning, kReasoningClose | kInside);
        add(table.after_cut_reasoning, kReasoningClose);
        add_outside(table.after_cut_reasoning, kAfterCall);
      }
      if (!program_.has_reasoning_headers()) {
        add_outside(table.after_reasoning, kContent);
        add(table.after_reasoning, kReasoningClose);
      }
      const Parts parts = keeps_calls ? kReasoning : kReasoning | kOpeners;
      add(table.reasoning, kReasoningClose);
      add_outside(table.reasoning, parts & ~kReasoningClose);
      add(table.rehearsal, kReasoningClose | kClosers);
      add_outside(table.rehearsal, kRehearsal & ~(kReasoningClose | kClosers));
      if (is_strict_) add(table.rehearsed_section, kRehearsal);
    }
    finish(table.inside_cut_reasoning);
    finish(table.after_cut_reasoning);
    finish(table.after_reasoning);
    finish(table.reasoning);
    finish(table.rehearsal);
    finish(table.rehearsed_section);
  }

  // Inside a header its own closer comes first. What else may stand there shows that the header was
  // never closed.
  MarkerSet header(std::size_t index) {
    MarkerSet set;
    const MarkupRegion& markup = program_.markup[index];
    if (!markup.has_header()) return set;
    adder_.add(set, markup.close, Role::header_close, index);
    for (const MarkerTexts& text : program_.call_texts) adder_.add(set, text, Role::call_text);
    finish_outside(set, kContent & ~kStrayClosers, markup.is_inline ? kNone : index);
    return set;
  }

  // Each place inside a call has its own set: a closing tag of a value means nothing in a name, and
  // must stay there to the letter.
  CallMarkers call(std::size_t index) {
    const CallRegion& call = program_.calls[index];
    CallMarkers markers;
    adder_.add(markers.header, call.name.close, Role::name_close);
    adder_.add(markers.header, call.close, Role::call_close, index);
    adder_.add(markers.header, program_.section.close, Role::section_close);
    add(markers.header, kCallHeader);
    finish(markers.header, kReasoningClose);  // after markup: no reasoning is open here
    if (const auto* slot = call.body_as<ParametersSlot>()) {
      add_between_parameters(markers.parameter, call, *slot);
      add_ends_of_key(markers.key, call, *slot);
      add_ends_of_value(markers.value, call, *slot);
    }
    if (const auto* slot = call.body_as<ElementsSlot>()) {
      adder_.add(markers.element, slot->open, Role::tag_open);
      add_ends_of_body(markers.element, call);
    }
    if (const auto* slot = call.body_as<LiteralSlot>()) {
      adder_.add(markers.quote, slot->quotes, Role::quote);
      add_in_string(markers.quoted, *slot);
    }
    for (MarkerSet* set : {&markers.parameter, &markers.key, &markers.value, &markers.element,
                           &markers.quote, &markers.quoted}) {
      finish(*set);
    }
    return markers;
  }

  void add_in_string(MarkerSet& set, const LiteralSlot& body) {
    for (const std::string& text : body.quotes.texts) adder_.add(set, text, {}, Role::quote);
    for (const CallRegion& call : program_.calls) {
      for (const std::string& text : call.open.texts) adder_.add(set, text, {}, Role::call_open);
      for (const std::string& text : call.close.texts) adder_.add(set, text, {}, Role::call_close);
    }
  }

  void add_ends_of_body(MarkerSet& set, const CallRegion& call) {
    adder_.add(set, call.close, Role::body_close);
    adder_.add(set, program_.section.close, Role::section_close);
  }

  // Here no text is expected, so all that models put there by mistake may be markup: a second
  // closer, the next call's opener, a header.
  void add_between_parameters(MarkerSet& set, const CallRegion& call, const ParametersSlot& body) {
    adder_.add(set, body.open, Role::parameter_open);
    adder_.add(set, body.close, Role::value_close);
    adder_.add(set, body.json_open, Role::json_open);
    adder_.add(set, body.json_close, Role::json_close);
    if (!body.is_keyless) {
      // An element around the parameters: models wrap them as other families do.
      for (const std::string_view tag : {"<arguments>", "<parameters>"})
        adder_.add(set, tag, {}, Role::json_open);
      for (const std::string_view tag : {"</arguments>", "</parameters>"})
        adder_.add(set, tag, {}, Role::json_close);
    }
    add_ends_of_body(set, call);
    add(set, kOpeners | kNextCall);
    for (std::size_t i = 0; i < program_.markup.size(); ++i) {
      const MarkupRegion& markup = program_.markup[i];
      if (markup.is_inline) continue;
      adder_.add(set, markup.open, markup.has_header() ? Role::markup_open : Role::ignore, i);
    }
    add(set, kIgnored);
    add_parts_of_value(set, body);
  }

  // The last ones show that the key was never closed. The call is then malformed, and its text
  // kept.
  void add_ends_of_key(MarkerSet& set, const CallRegion& call, const ParametersSlot& body) {
    adder_.add(set, body.key_close, Role::value_begin);
    adder_.add(set, body.close, Role::value_close);
    adder_.add(set, body.open, Role::parameter_open);
    add_ends_of_body(set, call);
    add(set, kOpeners);
  }

  // A value is any text. What counts in it are its own closer, and what follows a forgotten closer.
  void add_ends_of_value(MarkerSet& set, const CallRegion& call, const ParametersSlot& body) {
    // If a line break around a value is markup, the value itself excludes it.
    const std::string_view before = trims_line_breaks(body.trim) ? "" : "\r\n";
    const auto add_texts = [&](const MarkerTexts& marker, std::string_view space, Role role) {
      for (const std::string& text : marker.texts) adder_.add(set, text, space, role);
    };
    add_texts(body.close, body.close.before, Role::value_close);
    add_texts(body.open, before, Role::parameter_open);
    adder_.add(set, body.json_open, Role::json_open);
    add_texts(call.close, before, Role::body_close);
    add_texts(program_.section.close, {}, Role::section_close);
    add(set, kCallOpen);
    add_texts(program_.section.open, {}, Role::section_open);
    add_parts_of_value(set, body);
  }

  // What opens nothing that a call's grammar has there, and counts where a value quotes a call.
  void add_parts_of_value(MarkerSet& set, const ParametersSlot& body) {
    for (const std::string& text : body.key_end) adder_.add(set, text, {}, Role::key_end);
    for (const std::string& text : body.key_close.texts) {  // `>` alone is too weak
      if (text.size() > 1) adder_.add(set, text, {}, Role::value_begin);
    }
    // `</parameter>` may close a `<parameter>` of the value's text.
    for (const std::string& text : body.close.texts) {
      if (text.starts_with("</")) adder_.add(set, '<' + text.substr(2), {}, Role::bare_tag);
    }
  }

  /// `except`: markup that does not count.
  void add(MarkerSet& set, Parts parts, std::size_t except = kNone) {
    if (program_.reasoning && (parts & kReasoningClose) != 0)
      adder_.add(set, program_.reasoning->close, Role::reasoning_close);
    if ((parts & kClosers) != 0) add_closers(set, false);
    // If headers announce reasoning, the opener is only used to read the prompt.
    if (program_.reasoning && !program_.has_reasoning_headers() && (parts & kReasoningOpen) != 0)
      adder_.add(set, program_.reasoning->open, Role::reasoning_open);
    if ((parts & kSectionOpen) != 0) adder_.add(set, program_.section.open, Role::section_open);
    if ((parts & kCallOpen) != 0) add_call_openers(set, (parts & kNextCall) != 0);
    if ((parts & (kMarkup | kMarkupAround)) != 0) add_markup(set, (parts & kMarkup) != 0, except);
    if ((parts & kIgnored) != 0) {
      for (const std::string& text : program_.ends) adder_.add(set, text, {}, Role::ignore);
    }
    if ((parts & kClosersAgain) != 0) add_closers(set, true);
    if ((parts & kStrayClosers) != 0) add_stray_closers(set);
  }

  // Without the white space before them, so that text waits for no more than a tag.
  void add_stray_closers(MarkerSet& set) {
    const auto add_tags = [&](const MarkerTexts& close, Role role, std::size_t call) {
      for (const std::string& text : close.texts) {
        if (!is_words(text)) adder_.add(set, text, {}, role, call);
      }
    };
    if (program_.reasoning && !program_.has_reasoning_headers())
      add_tags(program_.reasoning->close, Role::reasoning_close, 0);
    add_tags(program_.section.close, Role::section_close, 0);
    for (std::size_t i = 0; i < program_.calls.size(); ++i)
      add_tags(program_.calls[i].close, Role::call_close, i);
  }

  // `again`: those that may be repeated. A fence may not, because it may open a block.
  void add_closers(MarkerSet& set, bool again) {
    const auto add_closer = [&](const MarkerTexts& close, Role role, std::size_t call) {
      for (const std::string& text : close.texts) {
        if (again && text.starts_with("```")) continue;
        adder_.add(set, text, close.before, role, call);
      }
    };
    add_closer(program_.section.close, Role::section_close, 0);
    for (std::size_t i = 0; i < program_.calls.size(); ++i)
      add_closer(program_.calls[i].close, Role::call_close, i);
    if (!again) return;
    // A family may have openers alone, [TOOL_CALLS], and its models close them all the same.
    for (std::size_t i = 0; i < program_.calls.size(); ++i) {
      if (!program_.calls[i].close.is_empty()) continue;
      for (const std::string& text : program_.calls[i].open.texts) {
        if (const std::string close = closing_tag(text); !close.empty())
          adder_.add(set, close, {}, Role::call_close, i);
      }
    }
  }

  void add_call_openers(MarkerSet& set, bool is_after_call) {
    for (std::size_t i = 0; i < openers_.texts.size(); ++i) {
      const std::string& text = openers_.texts[i];
      const CallRegion& call = program_.calls[openers_.calls[i].front()];
      const auto& next = call.next.texts;
      const bool is_next = std::find(next.begin(), next.end(), text) != next.end();
      if (is_next && !is_after_call) continue;
      adder_.add(set, text, is_next ? call.next.before : call.open.before, Role::call_open, i);
    }
  }

  void add_markup(MarkerSet& set, bool adds_inline, std::size_t except) {
    for (std::size_t i = 0; i < program_.markup.size(); ++i) {
      const MarkupRegion& markup = program_.markup[i];
      if (i != except && (adds_inline || !markup.is_inline))
        adder_.add(set, markup.open, Role::markup_open, i);
    }
  }

  // Where no token has opened anything: with strict trust only markers that hold one count.
  void add_outside(MarkerSet& set, Parts parts, std::size_t except = kNone) {
    adder_.need_tokens(is_strict_);
    add(set, parts, except);
    adder_.need_tokens(false);
  }

  void finish_outside(MarkerSet& set, Parts parts, std::size_t except = kNone) {
    add_outside(set, parts, except);
    finish(set);
  }

  // The bound is for hostile files: the tables grow with the product of states and letters.
  void finish(MarkerSet& set, Parts parts = 0, std::size_t except = kNone) {
    add(set, parts, except);
    set.compile();
    bytes_ += set.bytes();
    if (bytes_ > kMaxTableBytes)
      throw FormatError("format '" + program_.name +
                        "': its markers' tables take more than 64 MiB");
  }

  const Program& program_;
  const CallOpeners& openers_;
  MarkerAdder adder_;
  bool is_strict_;
  std::size_t bytes_ = 0;  // of all sets
};

}  // namespace

CallOpeners::CallOpeners(const Program& program) {
  for (std::size_t i = 0; i < program.calls.size(); ++i) {
    for (const MarkerTexts* marker : {&program.calls[i].open, &program.calls[i].next}) {
      for (const std::string& text : marker->texts) {
        const auto at =
            static_cast<std::size_t>(std::find(texts.begin(), texts.end(), text) - texts.begin());
        if (at == texts.size()) {
          if (at == kMaxOpeners)
            throw FormatError("format '" + program.name + "': more than 1,000 openers of calls");
          texts.push_back(text);
          calls.emplace_back();
        }
        calls[at].push_back(static_cast<std::uint8_t>(i));
      }
    }
  }
}

// All that any table looks for. Tokens outside of it are read as text.
std::vector<std::string_view> marker_texts(const Program& program) {
  std::vector<std::string_view> all;
  const auto add = [&](const std::vector<std::string>& texts) {
    all.insert(all.end(), texts.begin(), texts.end());
  };
  add(program.ends);
  if (program.reasoning) {
    if (!program.has_reasoning_headers()) add(program.reasoning->open.texts);
    add(program.reasoning->close.texts);
  }
  add(program.section.open.texts);
  add(program.section.close.texts);
  for (const MarkerTexts& marker : program.call_texts) add(marker.texts);
  for (const MarkupRegion& markup : program.markup) {
    add(markup.open.texts);
    add(markup.close.texts);
  }
  for (const CallRegion& call : program.calls) {
    const std::vector<std::string_view> texts = call.texts();
    all.insert(all.end(), texts.begin(), texts.end());
    const auto* slot = call.body_as<ParametersSlot>();
    if (slot == nullptr) continue;
    for (const auto& [text, types] : slot->types) all.emplace_back(text);
  }
  return all;
}

MarkerTable build_marker_table(const Program& program, const CallOpeners& openers,
                               const std::vector<MarkerToken>& tokens, MarkerTrust trust,
                               bool adds_slips) {
  return TableBuilder(program, openers, tokens, trust, adds_slips).build();
}

// Asked once a format and byte, so that text without such a byte passes no automaton.
bool MarkerTable::may_begin(unsigned char byte) const {
  const auto may = [byte](const MarkerSet& set) { return set.may_begin(byte); };
  const auto may_in_call = [&](const CallMarkers& call) {
    return may(call.header) || may(call.parameter) || may(call.key) || may(call.value) ||
           may(call.element) || may(call.quote) || may(call.quoted);
  };
  return may(content) || may(inside) || may(after_call) || may(reasoning) || may(rehearsal) ||
         may(rehearsed_section) || may(malformed) || may(openers) ||
         std::any_of(headers.begin(), headers.end(), may) ||
         std::any_of(calls.begin(), calls.end(), may_in_call);
}

}  // namespace unspool
