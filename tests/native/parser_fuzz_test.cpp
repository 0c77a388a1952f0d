// Random outputs, random splits: one message, every byte accounted for, valid UTF-8 out; under the
// sanitizers no crash. Deterministic; a failure prints the output.
#include <random>

#include "body/json_scanner.h"
#include "check.h"
#include "formats_for_tests.h"
#include "unspool.h"

using namespace unspool;

static const std::vector<std::string> kPieces = {
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
    "\n",
    "\n\n",
    " ",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ";",
    ":",
    "{\"name\": \"f\", \"arguments\": {\"s\": \"",
    "\"}}",
    "{\"name\": \"f\"}",
    "\"name\": ",
    "\"arguments\": ",
    "```json\n",
    "```",
    "\n```\n",
    "<function=f>",
    "</function>",
    "<parameter=s>",
    "<parameter=n>",
    "<parameter=o>",
    "<parameter=u>",
    "</parameter>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "f",
    "12",
    "-1.5e3",
    "true",
    "null",
    "{\"k\": [1]}",
    "<calls>",
    "</calls>",
    "<invoke name=\"",
    "\">",
    "<parameter name=\"s",
    "</invoke>",
    "\\",
    "\\u00e9",
    "\\ud83d",
    "\\ude00",
    "\xC3\xBC\xF0\x9F\x98\x80",
    "\xFF",
    "\xE2\x82",
    "\xED\xA0\x80",
    "<|im_end|>",
    "<tool",
    "</par",
    "text",
    std::string(1, '\0'),
    "\x1b",
};

struct Result {
  std::string message;
  std::string audit;
};

static Result run(const std::shared_ptr<const Format>& format,
                  const std::shared_ptr<const ToolSchemas>& tools, const std::string& text,
                  const std::vector<std::size_t>& cuts, FinishReason reason) {
  ChunkParserOptions options;
  options.parser.tools = tools;
  options.parser.audit = true;
  options.parser.id_seed = 1;
  ChunkParser parser(format, std::move(options));
  Events events;
  Result result;
  const auto take = [&] {
    for (const Events::Audited& item : events.audit()) result.audit += item.text;
    for (const Event& event : events.list()) {
      CHECK(is_valid_utf8(events.text(event)));
      CHECK(is_valid_utf8(events.name(event)));
    }
    events.clear();
  };
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    parser.put_text(std::string_view(text).substr(begin, cut - begin), events);
    begin = cut;
    take();
  }
  parser.put_text(std::string_view(text).substr(begin), events);
  parser.finish(reason, events);
  take();
  const Message& message = parser.message();
  result.message = message.reasoning + "|" + message.content;
  for (const ToolCall& call : message.tool_calls) {
    result.message +=
        "|" + call.id + call.name + call.arguments + std::string(to_string(call.status));
    if (call.status != CallStatus::complete) continue;
    JsonScanner scanner;  // arguments of a complete call are one JSON object
    CHECK(scanner.put(call.arguments, nullptr).consumed == call.arguments.size());
    CHECK(scanner.is_complete() && call.arguments.starts_with('{'));
  }
  for (const Malformed& item : message.malformed) result.message += "!" + item.text + item.reason;
  return result;
}

int main() {
  std::mt19937 random(20261121);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  const std::vector<std::shared_ptr<const Format>> formats = {Format::compile(test::tagged()),
                                                              Format::compile(test::bare())};
  auto tools = std::make_shared<ToolSchemas>();
  auto& parameters = tools->tools["f"].parameters;
  parameters.emplace("s", TypeSet(TypeSet::string));
  parameters.emplace("n", TypeSet(TypeSet::integer));
  parameters.emplace("o", TypeSet(TypeSet::object));
  parameters.emplace("u", TypeSet(TypeSet::string | TypeSet::null | TypeSet::array));
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::size_t count = below(24); count > 0; --count) text += kPieces[below(kPieces.size())];
    const auto& format = formats[below(formats.size())];
    const std::shared_ptr<const ToolSchemas> known = below(2) == 0 ? tools : nullptr;
    const FinishReason reason = below(2) == 0 ? FinishReason::stop : FinishReason::length;
    const Result whole = run(format, known, text, {}, reason);
    std::string valid;
    Utf8Stream utf8;
    utf8.put(text, valid);
    utf8.end(valid);
    CHECK_EQUAL(whole.audit, valid);
    std::vector<std::size_t> cuts;
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (below(4) == 0) cuts.push_back(i);
    }
    const Result split = run(format, known, text, cuts, reason);
    if (split.message != whole.message) std::cerr << "output: " << text << "\n";
    CHECK_EQUAL(split.message, whole.message);
    CHECK_EQUAL(split.audit, valid);
  }
  return TEST_RESULT();
}
