// The shipped formats for the targets: compiled for text and for token ids, with their markers.
#pragma once

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "fuzz.h"
#include "text/json_value.h"
#include "unspool.h"

namespace unspool::fuzz {

struct Family {
  std::vector<std::string> markers;  // and other texts that matter
  std::shared_ptr<const Vocabulary> vocabulary;
  std::shared_ptr<const Format> by_text;
  std::shared_ptr<const Format> by_id;
  // Which read other families' calls too.
  std::shared_ptr<const Format> others_by_text, others_by_id;

  const std::shared_ptr<const Format>& format(bool is_by_id, bool reads_others) const {
    if (reads_others) return is_by_id ? others_by_id : others_by_text;
    return is_by_id ? by_id : by_text;
  }
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
  std::vector<Program> programs;
  for (const JsonValue& item : all->items)
    programs.push_back(read_format(item.find("file")->text)->program());
  const auto others = std::make_shared<OtherFamilies>(programs);
  for (const JsonValue& item : all->items) {
    Family& family = families.emplace_back();
    std::vector<std::string> tokens;
    for (const JsonValue& token : item.find("tokens")->items) tokens.push_back(token.text);
    for (const JsonValue& marker : item.find("markers")->items)
      family.markers.push_back(marker.text);
    const std::string& file_text = item.find("file")->text;
    family.vocabulary = make_vocabulary(tokens);
    FormatOptions options;
    family.by_text = read_format(file_text, options);
    options.vocabulary = family.vocabulary;
    family.by_id = read_format(file_text, options);
    options.others = others;
    family.others_by_id = read_format(file_text, options);
    options.vocabulary = nullptr;
    family.others_by_text = read_format(file_text, options);
  }
  return families;
}

inline const std::vector<Family>& families() {
  static const std::vector<Family> all = read_families();
  return all;
}

inline std::shared_ptr<const ToolSchemas> some_tools() {
  static const auto tools = read_tools(R"([
    {"name": "f", "parameters": {"properties": {"s": {"type": "string"}, "n": {"type": "integer"},
      "o": {"type": "object"}, "u": {"type": ["string", "null", "array"]}}}},
    {"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"}}}}])");
  return tools;
}

}  // namespace unspool::fuzz
