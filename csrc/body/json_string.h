// Decodes the content of a JSON string as it arrives.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/archive.h"

namespace unspool {

/// Starts after the opening quote. Joins surrogate pairs. A lone surrogate, which UTF-8 cannot
/// encode, becomes the six characters of its escape.
class JsonStringDecoder {
 public:
  struct Piece {
    std::size_t consumed = 0;
    std::string_view decoded;  // into the text, or valid until the next call
    bool is_end = false;       // the closing quote was read
    bool is_invalid = false;   // the byte after `consumed` is invalid
  };

  /// Reads a plain run with the quote after it, or the bytes of one escape. Call again while text
  /// is left.
  Piece next(std::string_view text);

  void reset() { *this = JsonStringDecoder(); }

  void visit(Archive& archive) {
    archive.choice(state_, State::hex);
    archive(count_, value_, high_, buffer_);
    archive.expect(count_ <= 4);
  }

 private:
  enum class State : std::uint8_t { plain, escape, hex };

  Piece next_escape(char byte);
  Piece next_hex(char byte);
  Piece decoded();
  void put_high();

  State state_ = State::plain;
  std::uint8_t count_ = 0;
  std::uint16_t value_ = 0;
  std::uint16_t high_ = 0;  // a high surrogate that waits for its low one
  std::string buffer_;
};

/// Appends the escape of a UTF-16 code unit.
void append_unicode_escape(std::uint32_t unit, std::string& out);

}  // namespace unspool
