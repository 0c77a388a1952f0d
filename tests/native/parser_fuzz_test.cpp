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
    "<|start|>",
    "<|channel|>",
    "analysis",
    "final",
    " to=functions.f",
    " to=user",
    "<|message|>",
    "<|end|>",
    "<|call|>",
    "</co: 0>",
    "<|tools|>",
    "<|/tools|>",
    "[{\"f\": {\"s\": \"x\"}",
    "<|begin|>functions.f:0",
    "<|args|>",
    "<|finish|>",
    "#7",
    "<py>",
    "</py>",
    "f(",
    "s=",
    "'it'",
    "\"\"\"",
    "(1,",
    "{1:",
    "r'",
    ")",
    "None",
    "0x1F",
    "\\x4",
    "<brace>call:f{",
    "call:f{",
    "</brace>",
    "<q>",
    "s:",
    "n:",
    "]<invoke name=\"f\">",
    "]</invoke>",
    "]<s>",
    "]</s>",
    "]<o>",
    "]<item>",
    "]</item>",
    "]</o>",
    "<pairs>f",
    "</pairs>",
    "<key>",
    "</key>",
    "<t>s</t>",
    "<t>j</t>",
    "<value>",
    "</value>",
    "<![CDATA[",
    "]]></value>",
    "&lt;",
    "&#6",
    "5;",
    "functools[",
    "{'name': 'f', 'arguments': {",
    "'s': 'x',}}",
    "unquoted: 1",
};

struct Result {
  std::string message;
  std::string audit;
};

static Result run(const std::shared_ptr<const Format>& format,
                  const std::shared_ptr<const ToolSchemas>& tools, const std::string& text,
                  const std::vector<std::size_t>& cuts, FinishReason reason,
                  const ParserOptions& policies) {
  ChunkParserOptions options;
  options.parser = policies;
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
  for (const Malformed& item : message.dropped) result.message += "-" + item.text;
  for (const Malformed& item : message.malformed) result.message += "!" + item.text + item.reason;
  return result;
}

int main() {
  std::mt19937 random(20261121);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  const std::vector<std::shared_ptr<const Format>> formats = {
      Format::compile(test::tagged()), Format::compile(test::bare()),
      Format::compile(test::headed()), Format::compile(test::foreign())};
  auto tools = std::make_shared<ToolSchemas>();
  auto& parameters = tools->tools["f"].parameters;
  parameters["s"].types = TypeSet(TypeSet::string);
  parameters["n"].types = TypeSet(TypeSet::integer);
  parameters["o"].types = TypeSet(TypeSet::object);
  parameters["u"].types = TypeSet(TypeSet::string | TypeSet::null | TypeSet::array);
  for (int round = 0; round < 40000; ++round) {
    std::string text;
    for (std::size_t count = below(24); count > 0; --count) text += kPieces[below(kPieces.size())];
    const auto& format = formats[below(formats.size())];
    const std::shared_ptr<const ToolSchemas> known = below(2) == 0 ? tools : nullptr;
    const FinishReason reason = below(2) == 0 ? FinishReason::stop : FinishReason::length;
    ParserOptions policies;
    policies.repair = below(3) == 0;
    policies.parallel_calls = below(4) != 0;
    policies.unknown_tools = static_cast<UnknownTools>(below(3));
    const Result whole = run(format, known, text, {}, reason, policies);
    std::string valid;
    Utf8Stream utf8;
    utf8.put(text, valid);
    utf8.end(valid);
    CHECK_EQUAL(whole.audit, valid);
    std::vector<std::size_t> cuts;
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (below(4) == 0) cuts.push_back(i);
    }
    const Result split = run(format, known, text, cuts, reason, policies);
    if (split.message != whole.message) std::cerr << "output: " << text << "\n";
    CHECK_EQUAL(split.message, whole.message);
    CHECK_EQUAL(split.audit, valid);
  }
  return TEST_RESULT();
}
