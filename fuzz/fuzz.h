// Common parts of the targets: an input that is read from its front, and a failure for libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace unspool::fuzz {

/// The current input, for the report of a failure.
inline std::function<std::string()> description;
inline void describe(std::function<std::string()> text) { description = std::move(text); }

[[noreturn]] inline void fail(std::string_view what) {
  std::cerr << "\nproperty broken: " << what << "\n";
  if (description) std::cerr << "input: " << description() << "\n";
  std::abort();
}

inline void expect(bool holds, std::string_view what) {
  if (!holds) fail(what);
}

inline void expect_equal(const std::string& one, const std::string& other, std::string_view what) {
  if (one == other) return;
  std::cerr << "\none:   " << one << "\nother: " << other << "\n";
  fail(what);
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return value;
  }
  std::size_t below(std::size_t bound) { return byte() % bound; }
  bool flag() { return (byte() & 1) != 0; }
  /// Up to the next byte of value 0, which is dropped.
  std::string_view line() {
    const std::string_view taken = rest_.substr(0, rest_.find('\0'));
    rest_.remove_prefix(std::min(rest_.size(), taken.size() + 1));
    return taken;
  }
  std::string_view rest() const { return rest_; }
  bool is_empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// Where to cut a stream of `size`: at every place or at some, depending on the seed.
inline std::vector<std::size_t> cuts(std::size_t size, std::uint8_t seed) {
  std::mt19937 random(seed);
  std::vector<std::size_t> found;
  for (std::size_t i = 1; i < size; ++i) {
    if (seed == 0 || random() % (1 + seed % 8) == 0) found.push_back(i);
  }
  found.push_back(size);
  return found;
}

}  // namespace unspool::fuzz
