#include "parser/call_ids.h"

#include <random>

namespace unspool {

namespace {

// splitmix64: ids must differ, they need not be secret.
std::uint64_t mix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

std::uint64_t fresh_seed() {
  // Asking the system for randomness costs a call into it: once a thread is enough.
  thread_local std::uint64_t state = [] {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32) ^ device();
  }();
  return mix(state);
}

// Another place in the sequence for each answer; the first one keeps the seed.
std::uint64_t seed_of_choice(std::uint64_t seed, std::int32_t choice) {
  if (choice == 0) return seed;
  std::uint64_t state = seed ^ (static_cast<std::uint64_t>(choice) << 32);
  return mix(state);
}

}  // namespace

CallIds::CallIds(CallIdStyle style, std::uint64_t seed, std::int32_t choice)
    : style_(style), state_(seed != 0 ? seed_of_choice(seed, choice) : fresh_seed()) {}

void CallIds::append(std::string_view name, std::uint32_t index, std::string& out) {
  switch (style_) {
    case CallIdStyle::random:
      out += "call_";
      append_random(24, out);
      return;
    case CallIdStyle::nine: append_random(9, out); return;
    case CallIdStyle::functions:
      out.append("functions.").append(name).append(":").append(std::to_string(index));
      return;
  }
}

void CallIds::append_random(std::size_t count, std::string& out) {
  constexpr std::string_view kLetters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  for (std::size_t i = 0; i < count; ++i) out += kLetters[mix(state_) % kLetters.size()];
}

}  // namespace unspool
