#include "parser/call_ids.h"

#include <random>

namespace unspool {

namespace {

// splitmix64: ids must be distinct, but need not be secret.
std::uint64_t mix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

std::uint64_t fresh_seed() {
  // Randomness from the system costs a system call: once per thread is enough.
  thread_local std::uint64_t state = [] {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32) ^ device();
  }();
  return mix(state);
}

// Each answer has another position in the sequence; the first one keeps the seed.
std::uint64_t seed_of_choice(std::uint64_t seed, std::int32_t choice) {
  if (choice == 0) return seed;
  std::uint64_t state = seed ^ (static_cast<std::uint64_t>(choice) << 32);
  return mix(state);
}

}  // namespace

CallIds::CallIds(CallIdStyle style, std::uint64_t seed, std::int32_t choice)
    : style_(style), state_(seed != 0 ? seed_of_choice(seed, choice) : fresh_seed()) {}

std::string CallIds::id_of(std::string_view own, std::string_view name, std::int32_t index) {
  // The model's own id: its template may write it again in the next turn.
  if (!own.empty()) return std::string(own);
  switch (style_) {
    case CallIdStyle::random: return random("call_", 24);
    // Mistral's templates accept exactly nine letters and digits.
    case CallIdStyle::nine: return random({}, 9);
    case CallIdStyle::functions: break;
  }
  return std::string("functions.").append(name).append(":").append(std::to_string(index));
}

std::string CallIds::random(std::string_view prefix, std::size_t count) {
  constexpr std::string_view kLetters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string id(prefix);
  for (std::size_t i = 0; i < count; ++i) id += kLetters[mix(state_) % kLetters.size()];
  return id;
}

}  // namespace unspool
