// Every short text, cut anywhere, against a reference that sees the whole: where it ends, and why.
#include "vocabulary/stop_strings.h"

#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "vocabulary/detokenizer.h"

using namespace unspool;

struct Answer {
  std::string text;
  std::string stop_reason;  // empty: no stop string is in it
};

// The stop string that begins first; of those at one place the longest.
static Answer reference(std::string_view text, const std::vector<std::string>& stops,
                        bool include_stop) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string best;
    for (const std::string& stop : stops) {
      if (text.substr(at).starts_with(stop) && stop.size() > best.size()) best = stop;
    }
    if (best.empty()) continue;
    return {std::string(text.substr(0, at)) + (include_stop ? best : ""), best};
  }
  return {std::string(text), ""};
}

static void check_every_cut(std::string_view text, const std::vector<std::string>& stops,
                            bool include_stop) {
  const Answer expected = reference(text, stops, include_stop);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    StopStrings stop(stops, include_stop);
    std::string out;
    stop.put(text.substr(0, cut), out);
    CHECK_EQUAL(stop.stop_reason().empty(), !stop.is_stopped());
    stop.put(text.substr(cut), out);
    stop.flush(out);
    CHECK_EQUAL(out, expected.text);
    CHECK_EQUAL(stop.stop_reason(), expected.stop_reason);
    CHECK_EQUAL(stop.is_stopped(), !expected.stop_reason.empty());
  }
}

static void every_short_text() {
  const std::vector<std::vector<std::string>> lists = {
      {"b"}, {"ab", "abc"}, {"bc", "abca", "b"}, {"aab", "ab", "aa"}, {"cab", "ab", "abab"}};
  constexpr std::string_view kLetters = "abc";
  constexpr int kLongest = 6;
  std::vector<std::string> texts{""};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const auto& stops : lists) {
      check_every_cut(texts[i], stops, false);
      check_every_cut(texts[i], stops, true);
    }
    if (texts[i].size() == kLongest) continue;
    for (const char letter : kLetters) texts.push_back(texts[i] + letter);
  }
  CHECK_EQUAL(texts.size(), 1093U);  // all of 0 to 6 letters
}

static void a_detokenizer_tells_it() {
  VocabularySource source;
  source.is_bytes = true;
  source.tokens = {{0, "wait"}, {1, "STO"}, {2, "P it"}};
  const auto vocabulary = std::make_shared<const Vocabulary>(std::move(source));
  DetokenizerOptions options;
  options.stop = {"STOP"};
  Detokenizer detokenizer(vocabulary, options);
  std::string out;
  detokenizer.put(0, out);
  detokenizer.put(1, out);
  CHECK_EQUAL(detokenizer.stop_reason(), "");
  detokenizer.put(2, out);
  CHECK_EQUAL(detokenizer.stop_reason(), "STOP");
  CHECK_EQUAL(out, "wait");
  CHECK_EQUAL(Detokenizer(vocabulary).stop_reason(), "");
}

int main() {
  every_short_text();
  a_detokenizer_tells_it();
  return TEST_RESULT();
}
