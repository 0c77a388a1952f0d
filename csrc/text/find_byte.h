// Finds the next significant byte, sixteen at a time.
//
// A short text has no sixteen bytes to load, and reading past its end is not allowed. It is loaded
// as two halves that overlap (`find_in_short`): a byte that stands twice in the block does no harm,
// since the index is computed back.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "text/byte_block.h"

namespace unspool {

template <typename Word>
Word load_word(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

/// For a text shorter than a block: its bytes fill the block, some of them twice.
template <typename Block, typename Match>
std::size_t find_in_short(std::string_view text, Match&& match) {
  const char* const data = text.data();
  const std::size_t size = text.size();
  if (size == 0) return 0;
  if (size >= 8) {
    // Two loads that overlap in the middle cover any size from 8 to 16.
    const std::size_t second = size - 8;
    const std::size_t first =
        match(Block::join(load_word<std::uint64_t>(data), load_word<std::uint64_t>(data + second)))
            .first();
    if (first == 16) return size;
    return first < 8 ? first : second + first - 8;
  }
  if (size >= 4) {
    const std::size_t second = size - 4;
    const auto word = std::bit_cast<std::uint64_t>(
        std::array{load_word<std::uint32_t>(data), load_word<std::uint32_t>(data + second)});
    const std::size_t first = match(Block::join(word, word)).first();
    if (first == 16) return size;
    return first < 4 ? first : second + first - 4;
  }
  // One to three bytes: first, middle and last are all of them.
  const std::array<std::size_t, 3> places = {0, size / 2, size - 1};
  std::array<char, 8> bytes;
  bytes.fill(data[0]);
  for (std::size_t i = 1; i < places.size(); ++i) bytes[i] = data[places[i]];
  const auto word = std::bit_cast<std::uint64_t>(bytes);
  const std::size_t first = match(Block::join(word, word)).first();
  return first == 16 ? size : places[first];
}

/// The index of the first byte at or after `at` (at most the size) that `match` finds in a block;
/// the text's size if there is none.
template <typename Block = ByteBlock, typename Match>
std::size_t find_byte(std::string_view text, std::size_t at, Match&& match) {
  for (; at + 16 <= text.size(); at += 16) {
    const std::size_t first = match(Block::load(text.data() + at)).first();
    if (first < 16) return at + first;
  }
  return at + find_in_short<Block>(text.substr(at), match);
}

/// Significant bytes inside a JSON string: a quote, a backslash or a control character.
inline constexpr auto kJsonSpecial = [](const auto& block) {
  return block.is('"') | block.is('\\') | block.is_below(0x20);
};

inline constexpr auto kAboveAscii = [](const auto& block) { return block.is_above_ascii(); };

/// One of four bytes.
struct OneOfFour {
  std::array<unsigned char, 4> bytes;

  auto operator()(const auto& block) const {
    return block.is(bytes[0]) | block.is(bytes[1]) | block.is(bytes[2]) | block.is(bytes[3]);
  }
};

/// The index of the first significant byte of a JSON string at or after `at`; the text's size if
/// there is none.
inline std::size_t find_json_special(std::string_view text, std::size_t at) {
  return find_byte(text, at, kJsonSpecial);
}

}  // namespace unspool
