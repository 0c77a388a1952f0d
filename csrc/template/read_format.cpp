#include "template/read_format.h"

#include <utility>

#include "format/format_source.h"
#include "format/lower_shape.h"
#include "format/named_values.h"
#include "format/read_shape.h"
#include "template/response_template.h"
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
      use.other = lower_shape(read_shape(PatternFile::read(*reasoning)));
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

std::vector<MarkerToken> marker_tokens(const Vocabulary& vocabulary) {
  std::vector<MarkerToken> tokens;
  for (const AddedToken& token : vocabulary.added_tokens())
    tokens.push_back({token.id, token.content});
  return tokens;
}

std::shared_ptr<const Format> read_format(std::string_view text, const FormatOptions& options) {
  std::vector<MarkerToken> tokens;
  if (options.vocabulary) tokens = marker_tokens(*options.vocabulary);
  if (!is_json(text))
    return Format::compile(for_tools(FormatSource::read(text, "format").program, options.tools),
                           tokens, options.trust, options.others);
  const std::optional<JsonValue> file = parse_json(text);
  const JsonValue* version = file ? file->find("unspool_format") : nullptr;
  if (version == nullptr)
    throw FormatError("this is not a format file: write one with `unspool export-format`");
  if (!version->is(JsonValue::Kind::number) || version->text != "2")
    throw FormatError("the format file is of another version: export it with this unspool");
  if (const JsonValue* description = file->find("response_template")) {
    if (options.trust == MarkerTrust::strict)
      throw ArgumentError(
          "a response template's markers are patterns over text: it cannot be strict");
    // Tools and reasoning do not change it: a template says itself what is a call.
    return make_format(ResponseTemplate::compile(*description), "response_template", tokens);
  }
  const JsonValue* patterns = file->find("format");
  if (patterns == nullptr) throw FormatError("the format file contains no format");
  Program program = with_reasoning(lower_shape(read_shape(PatternFile::read(*patterns))),
                                   read_reasoning_use(*file));
  return Format::compile(for_tools(std::move(program), options.tools), tokens, options.trust,
                         options.others);
}

}  // namespace unspool
