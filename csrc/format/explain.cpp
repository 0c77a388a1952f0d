#include "format/explain.h"

#include <utility>

#include "format/pattern_texts.h"
#include "format/turn.h"

namespace unspool {

namespace {

constexpr std::string_view kInReasoning[] = {
    "A call inside reasoning is text.",
    "A call inside reasoning ends the reasoning.",
    "A call inside reasoning waits. It stays text if the reasoning closes after it. Otherwise it "
    "is a call.",
};
constexpr std::string_view kPlaces[] = {
    "",
    "At the start of the message",
    "At the start of any line",
    "After another call, or after the opener of all calls",
};
constexpr std::string_view kKnownTools[] = {
    "",
    "If the request's tools are known, a call there must name one of them.",
    "A call there counts only if it names one of the request's tools.",
};
constexpr std::string_view kTrims[] = {
    "The value keeps all white space.",
    "The parser drops one line break at each side of the value.",
    "If the value begins with a line break, the parser drops one at each side.",
    "The parser drops all white space around the value.",
};
constexpr std::string_view kCall = "A call";

template <typename Choice, std::size_t Size>
std::string say(const std::string_view (&sentences)[Size], Choice choice) {
  return std::string(sentences[static_cast<std::size_t>(choice)]);
}

/// A text with its white space visible, as a Python literal.
std::string quoted(std::string_view text) {
  const bool has_quote = text.find('\'') != std::string_view::npos;
  const char quote = has_quote && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string shown(1, quote);
  for (const char byte : text) {
    constexpr std::string_view kDigits = "0123456789abcdef", kNamed = "\t\n\r", kNames = "tnr";
    const auto code = static_cast<unsigned char>(byte);
    if (const std::size_t named = kNamed.find(byte); named != std::string_view::npos) {
      shown.append(1, '\\').append(1, kNames[named]);
    } else if (code < 0x20 || code == 0x7F) {
      shown.append("\\x").append(1, kDigits[code >> 4]).append(1, kDigits[code & 15]);
    } else {
      if (byte == '\\' || byte == quote) shown += '\\';
      shown += byte;
    }
  }
  return shown += quote;
}

/// A text as inline code.
std::string shown(std::string_view text) {
  if (is_blank(text) || text.find('\n') != std::string_view::npos) return quoted(text);
  const std::string_view ticks = text.find('`') == std::string_view::npos ? "`" : "``";
  const std::string_view space = ticks.size() == 1 ? "" : " ";
  return std::string(ticks).append(space).append(text).append(space).append(ticks);
}

/// a, b or c
std::string joined(const Texts& parts, std::string_view word) {
  std::string all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && i + 1 == parts.size()) all.append(" ").append(word).append(" ");
    if (i > 0 && i + 1 < parts.size()) all += ", ";
    all += parts[i];
  }
  return all;
}

std::string listed(const Texts& texts, std::string_view word = "or") {
  Texts parts;
  for (const std::string& text : texts) parts.push_back(shown(text));
  return parts.empty() ? "the end" : joined(parts, word);
}

std::string listed(const MarkerTexts& marker) { return listed(marker.texts); }

/// White space around a marker that is also markup.
void add_spaces(Texts& found, const MarkerTexts& marker, const std::string& name) {
  if (!marker.before.empty()) found.push_back(quoted(marker.before) + " before " + name);
  if (!marker.after.empty()) found.push_back(quoted(marker.after) + " after " + name);
}

// The sentences follow the program and not the file: they say what the parser does, so that an
// author sees what a pattern did not say.
class Explanation {
 public:
  void add(const Program& program) {
    if (program.reasoning) add_reasoning(*program.reasoning, opens_reasoning(program));
    for (const MarkupRegion& markup : program.markup) {
      if (markup.has_header()) add_header(markup);
    }
    if (program.section.open != MarkerTexts{} || program.section.close != MarkerTexts{})
      add_between("All calls are", program.section.open, program.section.close);
    add_calls(program.calls);
    add_dropped(program.markup);
    if (!program.ends.empty()) add("An answer ends with " + listed(program.ends) + ".");
    if (program.calls.empty() && !program.reasoning) add("Everything else is content.");
  }

  Texts take() { return std::move(sentences_); }

 private:
  void add(std::string sentence) { sentences_.push_back(std::move(sentence)); }

  void add_space(const MarkerTexts& open, const MarkerTexts& close) {
    Texts found;
    add_spaces(found, open, "the opener");
    add_spaces(found, close, "the closer");
    if (!found.empty()) add("The parser drops " + joined(found, "and") + ".");
  }

  void add_between(std::string what, const MarkerTexts& open, const MarkerTexts& close) {
    add(what.append(" between ") + listed(open) + " and " + listed(close) + ".");
    add_space(open, close);
  }

  void add_reasoning(const ReasoningRegion& reasoning, bool starts_open) {
    if (reasoning.close.is_empty()) {
      add("Reasoning is between " + listed(reasoning.open) + " and the next call.");
      add_space(reasoning.open, reasoning.close);
    } else {
      add_between("Reasoning is", reasoning.open, reasoning.close);
    }
    if (starts_open) add("If the prompt is not known, the output starts inside the reasoning.");
    add(say(kInReasoning, reasoning.calls));
  }

  void add_header(const MarkupRegion& header) {
    const std::string open = listed(header.open), close = listed(header.close);
    if (header.is_inline)
      return add("The parser drops " + open + ", " + close + " and the text between them.");
    add_between("A header is", header.open, header.close);
    const std::string unless =
        header.not_tools.empty() ? "" : ", unless it is " + listed(header.not_tools);
    if (!header.reasoning.empty())
      add("A header with " + listed(header.reasoning) + " opens reasoning.");
    if (!header.texts.empty())
      add("A text after a header with " + listed(header.texts) + " holds no call.");
    if (!header.calls.empty()) add("A header with " + listed(header.calls) + " opens calls.");
    if (!header.recipient.empty())
      add("The text after `" + header.recipient + "` in a header names the tool" + unless + ".");
    if (header.names_tool) add("A header names the tool" + unless + ".");
  }

  /// Markup that is dropped. One sentence names all that has no white space around it.
  void add_dropped(const std::vector<MarkupRegion>& markup) {
    Texts bare, sentences;
    for (const MarkupRegion& one : markup) {
      Texts spaces;
      add_spaces(spaces, one.open, "it");
      if (one.has_header()) continue;
      if (spaces.empty()) {
        add_new(bare, one.open.texts);
      } else {
        sentences.push_back("The parser drops " + listed(one.open) + " with " +
                            joined(spaces, "and") + ".");
      }
    }
    if (!bare.empty()) add("The parser drops " + listed(bare, "and") + ".");
    for (std::string& sentence : sentences) add(std::move(sentence));
  }

  void add_calls(const std::vector<CallRegion>& calls) {
    std::vector<Texts> forms;
    for (const CallRegion& call : calls) {
      Explanation form;
      form.add_call(call);
      if (std::find(forms.begin(), forms.end(), form.sentences_) == forms.end())
        forms.push_back(form.take());
    }
    for (std::size_t i = 0; i < forms.size(); ++i) {
      if (i > 0 && forms[i][0].starts_with(kCall))
        forms[i][0].replace(0, kCall.size(), "Another form of a call");
      for (std::string& sentence : forms[i]) add(std::move(sentence));
    }
  }

  void add_call(const CallRegion& call) {
    add_opener(call);
    add_space(call.open, call.close);
    if (call.start.may_be_text)
      add(listed(call.open) + " may also be text: it is content unless a call follows.");
    if (!call.name.prefix.empty())
      add("The parser drops `" + call.name.prefix + "` before the tool's name.");
    Texts name_ends = call.name.close.texts;
    for (const char letter : call.name.stops) name_ends.emplace_back(1, letter);
    if (!name_ends.empty()) add("The tool's name ends at " + listed(name_ends) + ".");
    add_body(call);
  }

  void add_opener(const CallRegion& call) {
    const std::string end = call.close.is_empty() ? "" : " and ends with " + listed(call.close);
    if (call.start.after_header)
      return add("A call begins after the header that announces it" + end + ".");
    if (!call.is_bare()) return add("A call begins with " + listed(call.open) + end + ".");
    add(say(kPlaces, call.start.place) + (call.start.fenced ? " or in a fenced block" : "") +
        ", a call needs no opener. Other text there is content.");
    if (call.start.known_tools != KnownTools::any) add(say(kKnownTools, call.start.known_tools));
  }

  void add_body(const CallRegion& call) {
    switch (call.kind()) {
      case BodyKind::json_call: return add_object(*call.body_as<ObjectSlot>());
      case BodyKind::json_arguments: return add("The arguments are one JSON object.");
      case BodyKind::literal_arguments:
        return add("The arguments are one object in braces, with bare keys.");
      case BodyKind::pythonic: return add("The call is a Python call: `name(key=value)`.");
      case BodyKind::xml_parameters: return add_parameters(*call.body_as<ParametersSlot>());
      case BodyKind::xml_elements:
        return add("Each parameter is an element. Elements may be nested.");
    }
  }

  void add_object(const ObjectSlot& keys) {
    add("The call is one JSON object, or a list of them.");
    if (keys.name_is_key)
      return add("The object's key is the tool's name, and its value holds the arguments.");
    add("The tool's name is at the key " + listed(keys.name_keys) + ", and the arguments are at " +
        listed(keys.arguments_keys) + ".");
  }

  void add_parameters(const ParametersSlot& tags) {
    const std::string trim = say(kTrims, tags.trim);
    if (tags.is_keyless) return add("The text in the call is the tool's only parameter. " + trim);
    if (!tags.json_open.is_empty())
      add("One JSON object between " + listed(tags.json_open) + " and " + listed(tags.json_close) +
          " may replace the parameters.");
    Texts key_ends = tags.key_end;
    key_ends.insert(key_ends.end(), tags.key_close.texts.begin(), tags.key_close.texts.end());
    add("A parameter begins with " + listed(tags.open) + ".");
    add("Its key ends at " + listed(key_ends) + ", and its value at " + listed(tags.close) + ".");
    if (!tags.types.empty())
      add("Markup before the value gives its type, such as `" + tags.types.front().first + "`.");
    add(trim);
  }

  Texts sentences_;
};

}  // namespace

Texts explain(const Program& program) {
  Explanation explanation;
  explanation.add(program);
  return explanation.take();
}

}  // namespace unspool
