#include "format/read_format.h"

#include <algorithm>
#include <utility>

#include "format/format_source.h"
#include "format/named_values.h"
#include "format/pattern_compiler.h"
#include "format/response_template.h"
#include "text/archive.h"
#include "text/error.h"

namespace unspool {

namespace {

/// The second part of the output of `unspool export-format`: which reasoning is read.
ReasoningUse read_reasoning_use(const JsonValue& file) {
  ReasoningUse use;
  if (const JsonValue* reasoning = file.find("reasoning")) {
    use.is_on = !reasoning->is(JsonValue::Kind::boolean) || reasoning->is_true;
    if (reasoning->is(JsonValue::Kind::object))
      use.other = compile_patterns(PatternFile::read(*reasoning));
  }
  if (const JsonValue* calls = file.find("tool_calls_in_reasoning")) {
    const Word<CallsInReasoning>* word = find_word(kCallsInReasoning, calls->text);
    if (word == nullptr) throw FormatError("tool_calls_in_reasoning must be auto, keep or end");
    use.calls = word->value;
  }
  return use;
}

bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

}  // namespace

namespace {

// For models that omit the markers that they were asked for: bare or fenced JSON, on a line of its
// own.
void add_unmarked_calls(Program& program) {
  const bool has_them =
      std::any_of(program.calls.begin(), program.calls.end(), [](const auto& call) {
        return call.start.place == BarePlace::line && call.is(BodyKind::json_call);
      });
  if (has_them) return;
  CallRegion call;
  call.start.place = BarePlace::line;
  call.allow_fence();
  call.start.letters = std::string("[{");
  call.separators = std::string(",;");
  call.start.known_tools = KnownTools::required;
  ObjectSlot slot;
  slot.must_fit = true;
  call.body = std::move(slot);
  program.calls.push_back(std::move(call));
}

}  // namespace

Program for_tools(Program program, const ToolUse& tools) {
  std::string use = tools.name;
  for (const bool is_so : {tools.is_on, tools.is_required, tools.unmarked})
    use += is_so ? '1' : '0';
  program.fingerprint = fingerprint_of(use, program.fingerprint);
  if (tools.is_on && tools.unmarked) add_unmarked_calls(program);
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

std::vector<MarkerToken> marker_tokens(const Vocabulary& vocabulary) {
  std::vector<MarkerToken> tokens;
  for (const AddedToken& token : vocabulary.added_tokens())
    tokens.push_back({token.id, token.content});
  return tokens;
}

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
    for (const std::string& text : reasoning.other->ends) {
      if (std::find(program.ends.begin(), program.ends.end(), text) == program.ends.end())
        program.ends.push_back(text);
    }
    program.markup.insert(program.markup.end(), reasoning.other->markup.begin(),
                          reasoning.other->markup.end());
  }
  if (reasoning.calls && program.reasoning) program.reasoning->calls = *reasoning.calls;
  return program;
}

std::shared_ptr<const Format> read_format(std::string_view text, const FormatOptions& options) {
  std::vector<MarkerToken> tokens;
  if (options.vocabulary) tokens = marker_tokens(*options.vocabulary);
  if (!is_json(text))
    return Format::compile(for_tools(FormatSource::read(text, "format").program, options.tools),
                           tokens, options.trust);
  const std::optional<JsonValue> file = parse_json(text);
  const JsonValue* version = file ? file->find("unspool_format") : nullptr;
  if (version == nullptr)
    throw FormatError("this is not a format file: write one with `unspool export-format`");
  if (!version->is(JsonValue::Kind::number) || version->text != "2")
    throw FormatError("the format file is of another version: export it with this unspool");
  if (const JsonValue* made = file->find("response_template")) {
    if (options.trust == MarkerTrust::strict)
      throw ArgumentError(
          "a response template's markers are patterns over text: it cannot be strict");
    return Format::from_template(ResponseTemplate::compile(*made), "response_template", tokens);
  }
  const JsonValue* patterns = file->find("format");
  if (patterns == nullptr) throw FormatError("the format file contains no format");
  Program program =
      with_reasoning(compile_patterns(PatternFile::read(*patterns)), read_reasoning_use(*file));
  return Format::compile(for_tools(std::move(program), options.tools), tokens, options.trust);
}

}  // namespace unspool
