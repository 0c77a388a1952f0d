#include "format/read_format.h"

#include <algorithm>
#include <utility>

#include "format/format_file.h"
#include "format/named_values.h"
#include "format/pattern_compiler.h"
#include "format/response_template.h"
#include "text/error.h"

namespace unspool {

namespace {

/// The second part of what `unspool export-format` wrote: which reasoning is read.
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

// Models that do not write the markers they were asked for: bare or fenced JSON, on a line of its
// own.
void add_unmarked_calls(FormatSpec& spec) {
  const bool has_them = std::any_of(spec.calls.begin(), spec.calls.end(), [](const auto& call) {
    return call.bare == BarePlace::line && call.body == BodyKind::json_call;
  });
  if (has_them) return;
  CallSpec call;
  call.bare = BarePlace::line;
  call.allow_fence();
  call.starts = std::string("[{");
  call.separators = std::string(",;");
  call.known_tools = KnownTools::required;
  call.json_call.must_fit = true;
  spec.calls.push_back(std::move(call));
}

}  // namespace

FormatSpec for_tools(FormatSpec spec, const ToolUse& tools) {
  if (tools.is_on && tools.unmarked) add_unmarked_calls(spec);
  if (!tools.is_on) {
    const bool has_headers = std::any_of(spec.markup.begin(), spec.markup.end(),
                                         [](const MarkupSpec& one) { return one.has_header(); });
    for (CallSpec& call : spec.calls) {
      if (has_headers) spec.call_texts.push_back(std::move(call.open));
    }
    spec.calls.clear();
    spec.section_open = spec.section_close = {};
  } else if (tools.is_required || !tools.name.empty()) {
    // What guided decoding writes: the arguments alone, or the list of calls.
    CallSpec guided;
    guided.bare = BarePlace::start;
    guided.is_certain = true;
    const bool has_name = !tools.name.empty();
    guided.starts = has_name ? "{" : "[{";
    if (has_name) {
      guided.body = BodyKind::json_arguments;
      guided.fixed_name = tools.name;
    } else {
      guided.separators = ",;";
    }
    std::erase_if(spec.calls, [](const CallSpec& call) { return call.bare != BarePlace::nowhere; });
    spec.calls.insert(spec.calls.begin(), std::move(guided));
  }
  return spec;
}

std::vector<MarkerToken> marker_tokens(const Vocabulary& vocabulary) {
  std::vector<MarkerToken> tokens;
  for (const AddedToken& token : vocabulary.added_tokens())
    tokens.push_back({token.id, token.content});
  return tokens;
}

FormatSpec with_reasoning(FormatSpec spec, const ReasoningUse& reasoning) {
  if (!reasoning.is_on || reasoning.other) spec.reasoning.reset();
  if (reasoning.other) {
    spec.reasoning = reasoning.other->reasoning;
    spec.turn.insert(spec.turn.begin(), reasoning.other->turn.begin(), reasoning.other->turn.end());
    for (const std::string& text : reasoning.other->ignore) {
      if (std::find(spec.ignore.begin(), spec.ignore.end(), text) == spec.ignore.end())
        spec.ignore.push_back(text);
    }
    spec.markup.insert(spec.markup.end(), reasoning.other->markup.begin(),
                       reasoning.other->markup.end());
  }
  if (reasoning.calls && spec.reasoning) spec.reasoning->calls = *reasoning.calls;
  return spec;
}

std::shared_ptr<const Format> read_format(std::string_view text, const FormatOptions& options) {
  std::vector<MarkerToken> tokens;
  if (options.vocabulary) tokens = marker_tokens(*options.vocabulary);
  if (!is_json(text))
    return Format::compile(for_tools(FormatFile::read(text, "format").spec, options.tools), tokens,
                           options.trust);
  const std::optional<JsonValue> file = parse_json(text);
  const JsonValue* version = file ? file->find("unspool_format") : nullptr;
  if (version == nullptr)
    throw FormatError("this is no format file: write one with `unspool export-format`");
  if (!version->is(JsonValue::Kind::number) || version->text != "2")
    throw FormatError("the format file is of another version: export it with this unspool");
  if (const JsonValue* made = file->find("response_template"))
    return Format::from_template(ResponseTemplate::compile(*made), "response_template", tokens);
  const JsonValue* patterns = file->find("format");
  if (patterns == nullptr) throw FormatError("the format file holds no format");
  FormatSpec spec =
      with_reasoning(compile_patterns(PatternFile::read(*patterns)), read_reasoning_use(*file));
  return Format::compile(for_tools(std::move(spec), options.tools), tokens, options.trust);
}

}  // namespace unspool
