// Decodes the inside of a JSON string as it arrives.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace unspool {

/// Starts behind the opening quote. Surrogate pairs are joined; a lone surrogate, which UTF-8
/// cannot say, comes out as the six characters of its escape.
class JsonStringDecoder {
 public:
  struct Piece {
    std::size_t consumed = 0;
    std::string_view decoded;  // into the text, or valid until the next call
    bool is_end = false;       // the closing quote was read
    bool is_invalid = false;   // the byte after `consumed` cannot come here
  };

  /// Reads a plain run, or bytes of one escape. Call again while text is left.
  Piece next(std::string_view text);

  void reset() { *this = JsonStringDecoder(); }

 private:
  enum class State : std::uint8_t { plain, escape, hex };

  Piece next_escape(char byte);
  Piece next_hex(char byte);
  void append_code_point(std::uint32_t code_point);
  void append_lone(std::uint16_t surrogate);
  std::string_view decoded() const { return {buffer_.data(), size_}; }

  State state_ = State::plain;
  std::uint8_t count_ = 0;
  std::uint16_t value_ = 0;
  std::uint16_t high_ = 0;  // a high surrogate that waits for its low one
  std::array<char, 16> buffer_{};
  std::size_t size_ = 0;
};

}  // namespace unspool
