// Response templates, mutated as well as their outputs: refused with a FormatError, or one answer
// however the output is cut and the stream copied.
//
// An input: the template and a byte of 0, a byte that says how to cut, the prompt and a byte of 0,
// then the output.
#include <memory>

#include "fuzz.h"
#include "stream/chunk_parser.h"
#include "template/response_template.h"
#include "text/error.h"

using namespace unspool;
using namespace unspool::fuzz;

namespace {

std::string parse(const std::shared_ptr<const Format>& format, std::string_view prompt,
                  std::string_view output, const std::vector<std::size_t>& cuts) {
  ChunkParserOptions options;
  options.parser.id_seed = 1;
  options.parser.audit = true;
  auto parser = std::make_unique<ChunkParser>(format, options);
  if (!prompt.empty()) parser->put_prompt(prompt);
  Events events;
  std::size_t begin = 0;
  for (const std::size_t end : cuts) {
    events.clear();
    parser->put_text(output.substr(begin, end - begin), events);
    for (const Event& event : events.list())
      expect(is_valid_utf8(events.text(event)), "an event's text is UTF-8");
    begin = end;
    if (cuts.size() > 1) parser = std::make_unique<ChunkParser>(*parser);  // its origin is gone
  }
  parser->finish(FinishReason::stop, events);
  const Message& message = parser->message();
  std::string shown = message.content + "|" + message.reasoning;
  for (const ToolCall& call : message.tool_calls)
    shown += "|" + call.name + call.arguments + std::string(to_string(call.status));
  for (const Malformed& part : message.malformed) shown += "|" + part.text + part.reason;
  return shown + parser->extra();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return -1;
  Input input(data, size);
  const auto spec = parse_json(input.line());
  if (!spec) return -1;
  const std::uint8_t seed = input.byte();
  const std::string_view prompt = input.line();
  const std::string_view output = input.rest();
  if (!is_valid_utf8(prompt)) return -1;
  std::shared_ptr<const Format> format;
  try {
    format = make_format(ResponseTemplate::compile(*spec), "t", {});
  } catch (const FormatError&) {
    return 0;
  }
  expect_equal(parse(format, prompt, output, {output.size()}),
               parse(format, prompt, output, cuts(output.size(), seed)),
               "the answer does not depend on how the output is cut");
  return 0;
}
