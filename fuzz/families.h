// The shipped formats for the targets, with their markers: compiled for text or for token ids, with
// every option of a request that changes the format, when an input first asks for it.
#pragma once

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "format/format_source.h"
#include "fuzz.h"
#include "text/json_value.h"
#include "unspool.h"

namespace unspool::fuzz {

/// What a request changes of a format; from one byte each of an input.
struct Use {
  bool is_by_id = false;
  bool reads_others = false;
  std::uint8_t tools = 0;      // which vocabulary, trust, unmarked calls, a required call
  std::uint8_t reasoning = 0;  // 0: the format's own; else how calls in it are read

  bool has_few_tokens() const { return (tools & 1) != 0; }
  MarkerTrust trust() const { return static_cast<MarkerTrust>(tools / 2 % 4); }
  bool reads_unmarked() const { return (tools & 8) != 0 && trust() != MarkerTrust::strict; }
  bool needs_tools() const { return reads_others || reads_unmarked() || tool_use().is_required; }
  ToolUse tool_use() const {
    const std::uint8_t choice = tools / 16 % 8;
    return {choice != 1, choice == 2 || choice == 3, choice == 3 ? "f" : "", reads_unmarked()};
  }
  std::uint32_t key() const {
    return tools * 16U + reasoning % 4U * 4U + (is_by_id ? 2U : 0U) + (reads_others ? 1U : 0U);
  }
};

struct Family {
  std::vector<std::string> markers;  // and other texts that matter
  std::string name;
  Program program;
  /// Its markers are tokens: all that real tokenizers have, and every other one of them.
  std::shared_ptr<const Vocabulary> vocabulary, few_tokens;
  std::shared_ptr<const Format> response_template;  // null: it has a program
  mutable std::map<std::uint32_t, std::shared_ptr<const Format>> compiled;

  const std::shared_ptr<const Vocabulary>& tokens(const Use& use) const {
    return use.has_few_tokens() ? few_tokens : vocabulary;
  }
  const std::shared_ptr<const Format>& format(const Use& use) const {
    if (response_template) return response_template;
    // The last few: all of them would take gigabytes.
    if (compiled.size() > 8 && !compiled.contains(use.key())) compiled.clear();
    std::shared_ptr<const Format>& found = compiled[use.key()];
    if (!found) found = compile(use);
    return found;
  }

 private:
  std::shared_ptr<const Format> compile(const Use& use) const;
};

inline std::shared_ptr<const Vocabulary> make_vocabulary(const std::vector<std::string>& markers) {
  VocabularySource source;
  source.is_bytes = true;
  for (TokenId byte = 0; byte < 256; ++byte)
    source.tokens.emplace_back(byte, std::string(1, static_cast<char>(byte)));
  for (const std::string& text : markers) {
    const auto id = static_cast<TokenId>(256 + source.added.size());
    source.added.push_back({id, text, text, true});
  }
  return std::make_shared<Vocabulary>(std::move(source));
}

inline std::vector<Family> read_families() {
  std::ifstream file(UNSPOOL_SEEDS "/formats.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto all = parse_json(text);
  expect(all.has_value(), "formats.json is JSON");
  std::vector<Family> families;
  for (const JsonValue& item : all->items) {
    Family& family = families.emplace_back();
    std::vector<std::string> tokens;
    for (const JsonValue& token : item.find("tokens")->items) tokens.push_back(token.text);
    for (const JsonValue& marker : item.find("markers")->items)
      family.markers.push_back(marker.text);
    family.program = FormatSource::read(item.find("file")->text, "format").program;
    family.name = family.program.name;
    family.vocabulary = make_vocabulary(tokens);
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens.erase(tokens.begin() + i);
    family.few_tokens = make_vocabulary(tokens);
  }
  return families;
}

inline const std::vector<Family>& families() {
  static const std::vector<Family> all = read_families();
  return all;
}

inline std::shared_ptr<const Format> Family::compile(const Use& use) const {
  static const std::vector<Program> programs = [] {
    std::vector<Program> found;
    for (const Family& family : families()) found.push_back(family.program);
    return found;
  }();
  // One list of all families for the streams without unmarked calls.
  static const auto all = std::make_shared<OtherFamilies>(programs);
  std::shared_ptr<const OtherFamilies> others = use.reads_others ? all : nullptr;
  if (use.reads_unmarked()) {  // with few others, which each family copies
    static const OtherFamilies few({programs.begin(), programs.begin() + 5}), none({});
    others = std::make_shared<OtherFamilies>(use.reads_others ? few : none, program);
  }
  ReasoningUse reasoning;
  if (use.reasoning % 4 != 0)
    reasoning.calls = static_cast<CallsInReasoning>(use.reasoning % 4 - 1);
  Program made = for_tools(with_reasoning(program, reasoning), use.tool_use());
  const auto known = use.is_by_id ? marker_tokens(*tokens(use)) : std::vector<MarkerToken>();
  try {
    return Format::compile(made, known, use.trust(), others);
  } catch (const ArgumentError&) {  // strict, and no token opens anything
    return Format::compile(made, known, MarkerTrust::by_id, others);
  }
}

inline std::shared_ptr<const ToolSchemas> some_tools() {
  static const auto tools = read_tools(R"([
    {"name": "f", "parameters": {"properties": {"s": {"type": "string"}, "n": {"type": "integer"},
      "o": {"type": "object"}, "u": {"type": ["string", "null", "array"]}}}},
    {"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}}}}])");
  return tools;
}

}  // namespace unspool::fuzz
