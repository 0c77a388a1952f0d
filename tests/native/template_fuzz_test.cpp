// Response templates over random outputs and splits: one message, and under the sanitizers no
// crash. Deterministic; a failure prints the output.
#include <random>

#include "check.h"
#include "format/response_template.h"
#include "stream/chunk_parser.h"

using namespace unspool;

// clang-format off
static const char* const kTemplates[] = {
    R"template({"start_anchor": "<a>", "fields": {
      "thinking": {"open_pattern": "^(?:<think>\\n?|(?=[\\s\\S]*?</think>))", "close": "</think>"},
      "tool_calls": {"open_pattern": "\\s*<call>", "close": "</call>", "repeats": true,
        "content": "json", "transform": {"function": "{content}"}},
      "content": {"close_pattern": "\\s*<end>|$"}}})template",
    R"template({"start_anchor": "<a>", "defaults": {"content": "-"}, "fields": {
      "reasoning": {"open": ["<think>", "<think>\n"], "close": "</think>", "repeats": true, "join": "+"},
      "note": {"open_pattern": "\\[(?!\\()", "close_pattern": "\\](?=[a\\s]|$)", "content": "kv-lines"},
      "tool_calls": {"open_pattern": "<call:(?P<name>\\w+)>", "close_pattern": "</call>(?:<end>)?\\s*",
        "content": "xml-inline", "content_args": {"tag_pattern": "<(?P<key>\\w)>(?P<value>.*?)(?=<|$)",
          "value_parser": {"name": "json", "args": {"allow_non_json": true}}},
        "transform": {"name": "{name}", "arguments": "{content}"}}}})template",
    R"template({"start_anchor_pattern": "<a>\\s*", "fields": {
      "content": {"content": "text", "content_args": {"strip": false}},
      "tool_calls": {"open_pattern": "<call:(?P<name>\\w+)>", "close": "</call>", "content": "json",
        "content_args": {"unquoted_keys": true,
          "string_delims": [["'", "'"], ["<|", "|>"], ["\"\"\"", "\"\"\""]]},
        "transform": {"function": {"name": "{name}", "arguments": "{content.a}"}}}}})template"};
// clang-format on

static const std::vector<std::string> kPieces = {"<think>",
                                                 "</think>",
                                                 "<call>",
                                                 "<call:f>",
                                                 "</call>",
                                                 "<end>",
                                                 "<a>",
                                                 "\n",
                                                 " ",
                                                 "[",
                                                 "]",
                                                 "(",
                                                 "{",
                                                 "}",
                                                 "\"",
                                                 ",",
                                                 ":",
                                                 "'",
                                                 "<|",
                                                 "|>",
                                                 "\"\"\"",
                                                 "a",
                                                 "name",
                                                 "\"name\": \"f\", ",
                                                 "\"arguments\": {",
                                                 "{a:",
                                                 "{\"a\":",
                                                 "1",
                                                 "-",
                                                 "\\u00e9",
                                                 "\\",
                                                 "\xC3\xA9",
                                                 "\xE2",
                                                 "\xFF",
                                                 "<k>",
                                                 "null",
                                                 "k:v\n",
                                                 "<",
                                                 "true",
                                                 "</",
                                                 "call"};

static std::string show(const Message& message) {
  std::string text = message.content + "|" + message.reasoning;
  for (const ToolCall& call : message.tool_calls)
    text += "|" + call.name + call.arguments + std::string(to_string(call.status));
  for (const Malformed& part : message.malformed) text += "|" + part.text + part.reason;
  return text;
}

static std::string parse(const std::shared_ptr<const Format>& format, std::string_view prompt,
                         const std::vector<std::string>& pieces) {
  ChunkParserOptions options;
  options.parser.id_seed = 1;
  options.parser.audit = true;
  ChunkParser parser(format, options);
  if (!prompt.empty()) parser.put_prompt(prompt);
  Events events;
  for (const std::string& piece : pieces) {
    events.clear();
    parser.put_text(piece, events);
  }
  parser.finish(FinishReason::stop, events);
  return show(parser.message()) + parser.extra();
}

int main() {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (const char* text : kTemplates) {
    const auto spec = parse_json(text);
    CHECK(spec.has_value());
    const auto format = Format::from_template(ResponseTemplate::compile(*spec), "t", {});
    for (int round = 0; round < 3'000; ++round) {
      std::string output;
      std::string prompt;
      for (std::size_t i = below(24); i > 0; --i) output += kPieces[below(kPieces.size())];
      if (below(3) == 0) prompt = "<a>" + kPieces[below(8)] + kPieces[below(kPieces.size() - 8)];
      const std::string whole = parse(format, prompt, {output});
      std::vector<std::string> pieces;
      for (std::size_t at = 0, size = 0; at < output.size(); at += size) {
        size = round % 2 == 0 ? 1 : 1 + below(6);
        pieces.push_back(output.substr(at, size));
      }
      const std::string split = parse(format, prompt, pieces);
      if (whole != split)
        std::cerr << "template " << text << "\nprompt " << prompt << "\noutput " << output << "\n";
      CHECK_EQUAL(whole, split);
    }
  }
  return TEST_RESULT();
}
