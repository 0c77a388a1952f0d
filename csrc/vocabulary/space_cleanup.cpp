// The replacements are a chain: each stage reads the text of the one before, as it arrives. That
// gives the same text as one replacement after the other on the whole, since a stage holds back
// only what may become its pattern: " n" of " n't".
#include "vocabulary/space_cleanup.h"

#include <utility>

namespace unspool {

namespace {

// In transformers' order; each works on the result of the one before.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kReplacements{{
    {" .", "."},
    {" ?", "?"},
    {" !", "!"},
    {" ,", ","},
    {" ' ", "'"},
    {" n't", "n't"},
    {" 'm", "'m"},
    {" 's", "'s"},
    {" 've", "'ve"},
    {" 're", "'re"},
}};

}  // namespace

void SpaceCleanup::put_from(std::size_t stage, std::string_view text, std::string& out) {
  if (stage == kCount) {
    out += text;
    return;
  }
  const auto& [pattern, replacement] = kReplacements[stage];
  std::string& held = held_[stage];
  std::string done;
  for (const char byte : text) {
    held += byte;
    // The longest end of the held text that may still become the pattern stays.
    while (!pattern.starts_with(held)) {
      done += held[0];
      held.erase(0, 1);
    }
    if (held.size() < pattern.size()) continue;
    done += replacement;
    held.clear();
  }
  if (!done.empty()) put_from(stage + 1, done, out);
}

void SpaceCleanup::flush(std::string& out) {
  for (std::size_t stage = 0; stage < kCount; ++stage) {
    const std::string held = std::exchange(held_[stage], {});
    // In order: what one stage releases may still be the beginning of a later stage's pattern.
    put_from(stage + 1, held, out);
  }
}

std::size_t SpaceCleanup::held_bytes() const {
  std::size_t size = 0;
  for (const std::string& held : held_) size += held.size();
  return size;
}

}  // namespace unspool
