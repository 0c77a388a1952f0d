// Patterns: rejected with a FormatError, or the same match for all cuts of the text. Tests in
// tests/template compare matches with Python's `regex`.
//
// Input: a byte that chooses the cuts, the pattern and a zero byte, then the text.
#include "fuzz.h"
#include "text/error.h"
#include "text/regex.h"
#include "text/utf8.h"

using namespace unspool;
using namespace unspool::fuzz;

namespace {

std::string find(const std::shared_ptr<const Regex>& regex, std::string_view text,
                 const std::vector<std::size_t>& cuts) {
  RegexSearch search(regex, 0, 0, false);
  for (const std::size_t end : cuts) {
    if (end < text.size()) search.advance({text.substr(0, end), 0, false});
  }
  search.advance({text, 0, true});
  expect(search.is_decided(), "at the end of the text a search is decided");
  const RegexMatch& match = search.match();
  if (match.begin == kNoPlace) return "none";
  expect(match.begin <= match.end && match.end <= text.size(), "a match is within the text");
  std::string shown = std::to_string(match.begin) + "-" + std::to_string(match.end);
  for (const std::uint64_t slot : match.slots) {
    expect(slot == kNoPlace || slot <= text.size(), "a group is within the text");
    shown += "," + std::to_string(slot);
  }
  return shown;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::uint8_t seed = input.byte();
  const std::string_view pattern = input.line();
  const std::string_view text = input.rest();
  if (text.size() > 512 || pattern.size() > 256) return -1;
  if (!is_valid_utf8(pattern) || !is_valid_utf8(text)) return -1;
  std::shared_ptr<const Regex> regex;
  try {
    regex = Regex::compile(pattern);
  } catch (const FormatError&) {
    return 0;
  }
  if (regex->program().steps.size() * text.size() > 200'000) return 0;  // leaves time for others
  std::vector<std::size_t> places;
  for (const std::size_t cut : cuts(text.size(), seed)) {
    const bool is_inside = cut < text.size() && (text[cut] & 0xC0) == 0x80;
    if (!is_inside) places.push_back(cut);
  }
  expect_equal(find(regex, text, {}), find(regex, text, places),
               "a match does not depend on how the text is cut");
  return 0;
}
