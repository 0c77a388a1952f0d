// Examines sixteen bytes at once: with SSE2 on x86-64, NEON on aarch64, otherwise one by one.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace unspool {

// All blocks have the same members. A comparison returns a block that marks the matching bytes.

/// The plain loop; the reference that the others are tested against.
class PlainBlock {
 public:
  static PlainBlock load(const char* bytes) {
    PlainBlock block;
    std::memcpy(block.bytes_.data(), bytes, block.bytes_.size());
    return block;
  }
  /// Two groups of eight bytes, each in memory order.
  static PlainBlock join(std::uint64_t first, std::uint64_t second) {
    const std::array<std::uint64_t, 2> words = {first, second};
    PlainBlock block;
    std::memcpy(block.bytes_.data(), words.data(), block.bytes_.size());
    return block;
  }

  PlainBlock is(unsigned char byte) const {
    return each([byte](unsigned char own) { return own == byte; });
  }
  PlainBlock is_below(unsigned char byte) const {
    return each([byte](unsigned char own) { return own < byte; });
  }
  PlainBlock is_above_ascii() const {
    return each([](unsigned char own) { return own >= 0x80; });
  }
  PlainBlock operator|(const PlainBlock& other) const {
    PlainBlock either;
    for (std::size_t i = 0; i < 16; ++i) either.bytes_[i] = bytes_[i] | other.bytes_[i];
    return either;
  }
  /// The index of the first marked byte, or 16 if there is none.
  std::size_t first() const {
    std::size_t i = 0;
    while (i < 16 && bytes_[i] == 0) ++i;
    return i;
  }

 private:
  template <typename Test>
  PlainBlock each(Test&& test) const {
    PlainBlock block;
    for (std::size_t i = 0; i < 16; ++i) block.bytes_[i] = test(bytes_[i]) ? 0xFF : 0;
    return block;
  }

  std::array<unsigned char, 16> bytes_{};
};

#if defined(__SSE2__) || defined(_M_X64)

class Sse2Block {
 public:
  static Sse2Block load(const char* bytes) {
    return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes))};
  }
  static Sse2Block join(std::uint64_t first, std::uint64_t second) {
    return {_mm_set_epi64x(static_cast<std::int64_t>(second), static_cast<std::int64_t>(first))};
  }

  Sse2Block is(unsigned char byte) const { return {_mm_cmpeq_epi8(bytes_, all(byte))}; }
  Sse2Block is_below(unsigned char byte) const {
    // SSE2 compares signed bytes only; the maximum works for unsigned ones.
    const __m128i most = all(static_cast<unsigned char>(byte - 1));
    return {_mm_cmpeq_epi8(_mm_max_epu8(bytes_, most), most)};
  }
  Sse2Block is_above_ascii() const { return *this; }  // `first` only looks at the highest bits
  Sse2Block operator|(const Sse2Block& other) const { return {_mm_or_si128(bytes_, other.bytes_)}; }
  std::size_t first() const {
    const auto bits = static_cast<std::uint32_t>(_mm_movemask_epi8(bytes_));
    // The extra bit is the index 16 if no byte is marked.
    return static_cast<std::size_t>(std::countr_zero(bits | 0x10000U));
  }

 private:
  Sse2Block(__m128i bytes) : bytes_(bytes) {}
  static __m128i all(unsigned char byte) { return _mm_set1_epi8(static_cast<char>(byte)); }

  __m128i bytes_;
};
using ByteBlock = Sse2Block;

#elif defined(__aarch64__) && defined(__ARM_NEON)

class NeonBlock {
 public:
  static NeonBlock load(const char* bytes) {
    return {vld1q_u8(reinterpret_cast<const std::uint8_t*>(bytes))};
  }
  static NeonBlock join(std::uint64_t first, std::uint64_t second) {
    return {vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(first), vcreate_u64(second)))};
  }

  NeonBlock is(unsigned char byte) const { return {vceqq_u8(bytes_, vdupq_n_u8(byte))}; }
  NeonBlock is_below(unsigned char byte) const { return {vcltq_u8(bytes_, vdupq_n_u8(byte))}; }
  NeonBlock is_above_ascii() const { return {vcgeq_u8(bytes_, vdupq_n_u8(0x80))}; }
  NeonBlock operator|(const NeonBlock& other) const { return {vorrq_u8(bytes_, other.bytes_)}; }
  std::size_t first() const {
    // Four bits of each byte, in one word.
    const uint8x8_t halves = vshrn_n_u16(vreinterpretq_u16_u8(bytes_), 4);
    const std::uint64_t bits = vget_lane_u64(vreinterpret_u64_u8(halves), 0);
    return static_cast<std::size_t>(std::countr_zero(bits)) / 4;
  }

 private:
  NeonBlock(uint8x16_t bytes) : bytes_(bytes) {}

  uint8x16_t bytes_;
};
using ByteBlock = NeonBlock;

#else
using ByteBlock = PlainBlock;
#endif

}  // namespace unspool
