// The repairs that `repair` makes in a call's arguments, and the names under which they are
// reported.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace unspool {

/// Repairs, as bits.
enum Repair : std::uint16_t {
  kSingleQuotes = 1,
  kTrailingComma = 2,
  kPythonLiteral = 4,
  kUnquotedKey = 8,
  kRawNewline = 16,
  kClosed = 32,
  kDuplicateKey = 64,  // of two members with one name, the first was kept
  kQuotedValue = 128,
  kMissingQuote = 256,
  kMarkup = 512,       // a marker was missing or misspelled
  kRawString = 1024,   // a string does not escape its quotes or backslashes
  kEmptyValue = 2048,  // a value without text was left out, or is null
};

/// The names, in the order of the bits.
inline constexpr auto kRepairNames = std::to_array<std::string_view>(
    {"single quotes", "trailing comma", "python literal", "unquoted key", "unescaped newline",
     "closed", "duplicate key", "quoted value", "missing quote", "markup", "raw string",
     "empty value"});
static_assert(kEmptyValue == 1U << (kRepairNames.size() - 1));

/// Calls `add` with the place of each repair in `kRepairNames`.
template <typename Add>
void for_each_repair(std::uint16_t repairs, Add&& add) {
  for (std::size_t i = 0; i < kRepairNames.size(); ++i) {
    if ((repairs >> i & 1U) != 0) add(i);
  }
}

}  // namespace unspool
