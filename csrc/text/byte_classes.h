// Which kinds of bytes a text holds, in one word.
//
// A vocabulary knows the classes of each token's text, and a stream at rest knows which classes can
// mean something to it. If they have none in common, the token changes nothing (parser/rest.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace unspool {

/// A set of 64 classes. Letters share some of them: a text may seem to hold a byte that it does
/// not, never the other way round.
using ByteClasses = std::uint64_t;

// Of a text as a whole:
inline constexpr ByteClasses kUnplain = 1;  // there is more to it than its bytes
inline constexpr ByteClasses kEndsInSpace = 2;
inline constexpr ByteClasses kEndsInLineBreak = 4;
inline constexpr ByteClasses kEndsInOpenLine = 8;  // its white space at the end has a line break
inline constexpr ByteClasses kCutsJson = 16;  // inside a JSON string it is no whole piece of one
// Of its bytes:
inline constexpr ByteClasses kLineBreak = 32;
inline constexpr ByteClasses kAnyControl = 64;  // below 0x20
inline constexpr ByteClasses kWideBreak = 128;  // U+0085, U+2028 or U+2029
inline constexpr ByteClasses kAnyWide = 256;    // from 0x7F on
inline constexpr ByteClasses kAnyDigit = 512;

inline constexpr ByteClasses kAllClasses = ~ByteClasses{0};

constexpr ByteClasses class_of(char letter) {
  constexpr unsigned kMarks = 10, kLetters = 43;
  const auto byte = static_cast<unsigned char>(letter);
  const auto bit = [](unsigned at) { return ByteClasses{1} << at; };
  if (byte == '\n') return kLineBreak;
  if (byte < 0x20) return kAnyControl;
  if (byte >= 0x7F) return kAnyWide;
  if (byte < '0') return bit(kMarks + byte - 0x20);
  if (byte <= '9') return kAnyDigit;
  if (byte < 'A') return bit(kMarks + 16 + byte - 0x3A);
  if (byte <= 'Z') return bit(kLetters + (byte - 'A') % 21);
  if (byte < 'a') return bit(kMarks + 23 + byte - 0x5B);
  if (byte <= 'z') return bit(kLetters + (byte - 'a') % 21);
  return bit(kMarks + 29 + byte - 0x7B);
}

/// What a JSON string has only as an escape.
inline constexpr ByteClasses kNeedsEscape =
    kLineBreak | kAnyControl | class_of('"') | class_of('\\');

/// The classes of valid UTF-8.
ByteClasses classes_of(std::string_view text);

}  // namespace unspool
