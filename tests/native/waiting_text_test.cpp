// Every way to add three texts and take from them, against a reference that keeps all bytes.
#include "filter/waiting_text.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "text/error.h"

using namespace unspool;

using Place = WaitingText::Place;

// What a text says of each byte: the byte, and the token that it came with.
struct Reference {
  std::string bytes;
  std::vector<std::uint64_t> token_ends;
  std::size_t begin = 0;
};

static std::string saved(WaitingText waiting) {
  std::string out;
  Archive archive(out);
  waiting.visit(archive);
  return out;
}

// What states that were read refer to.
static std::vector<std::shared_ptr<const void>> texts;

static WaitingText restored(std::string_view state) {
  WaitingText waiting;
  Archive archive(state);
  waiting.visit(archive);
  archive.end();
  texts.push_back(archive.texts());
  return waiting;
}

static void check_same(const WaitingText& waiting, const Reference& all) {
  CHECK_EQUAL(waiting.begin(), all.begin);
  CHECK_EQUAL(waiting.end(), all.bytes.size());
  CHECK_EQUAL(waiting.is_empty(), all.begin == all.bytes.size());
  for (Place from = waiting.begin(); from <= waiting.end(); ++from) {
    for (Place to = from; to <= waiting.end(); ++to)
      CHECK_EQUAL(waiting.text(from, to), all.bytes.substr(from, to - from));
    if (from == waiting.end()) continue;
    CHECK_EQUAL(waiting.token_end_at(from), all.token_ends[from]);
    // As far as the token goes.
    const std::string_view text = waiting.text_at(from);
    CHECK_EQUAL(text, std::string_view(all.bytes).substr(from, text.size()));
    CHECK(!text.empty() && all.token_ends[from + text.size() - 1] == all.token_ends[from]);
    const std::size_t next = from + text.size();
    CHECK(next == all.bytes.size() || all.token_ends[next] != all.token_ends[from]);
  }
  CHECK_EQUAL(waiting.text_at(waiting.end()), "");
}

// Takes up to `to`: what it is given are the bytes that leave, in order, each with its token.
static void take(WaitingText& waiting, Reference& all, std::size_t to) {
  std::size_t at = all.begin;
  waiting.take(to, [&](const WaitingText::Source& source, std::string_view text) {
    CHECK_EQUAL(text, std::string_view(all.bytes).substr(at, text.size()));
    for (std::size_t i = 0; i < text.size(); ++i)
      CHECK_EQUAL(source.token_end, all.token_ends[at + i]);
    CHECK_EQUAL(std::string_view(source.reason), "why");
    at += text.size();
  });
  all.begin = std::max(all.begin, to);
  CHECK_EQUAL(at, all.begin);
}

static void add_and_take(const WaitingText& before, const Reference& all_before,
                         std::size_t count) {
  check_same(before, all_before);
  check_same(restored(saved(before)), all_before);
  if (count == 3) return;
  for (const std::string_view text : {"", "a", "bcd"}) {
    WaitingText added = before;
    Reference all = all_before;
    added.add({EventKind::malformed, "why", count + 1}, text);
    all.bytes += text;
    all.token_ends.insert(all.token_ends.end(), text.size(), count + 1);
    // Also to before its begin, which takes nothing.
    for (std::size_t to = 0; to <= all.bytes.size(); ++to) {
      WaitingText taken = added;
      Reference all_taken = all;
      take(taken, all_taken, to);
      add_and_take(taken, all_taken, count + 1);
    }
  }
}

// A state in which the places do not follow each other is refused, whichever byte was changed.
static void a_forged_state_is_refused_or_sound() {
  WaitingText waiting;
  waiting.add({EventKind::content, "why", 1}, "abc");
  waiting.add({EventKind::content, "why", 2}, "de");
  waiting.take(1, [](const WaitingText::Source&, std::string_view) {});
  const std::string state = saved(waiting);
  int refused = 0;
  for (std::size_t i = 0; i < state.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string forged = state;
      forged[i] = static_cast<char>(byte);
      try {
        const WaitingText read = restored(forged);
        CHECK_EQUAL(read.text(read.begin(), read.end()).size(), read.end() - read.begin());
        CHECK(read.is_empty() || !read.text_at(read.begin()).empty());
      } catch (const ArgumentError&) {
        ++refused;
      }
    }
  }
  CHECK(refused > 0);
}

int main() {
  add_and_take({}, {}, 0);
  a_forged_state_is_refused_or_sound();
  return TEST_RESULT();
}
