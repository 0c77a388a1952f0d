// A marker that is written with one slip: a letter is lost, doubled, or swapped with the next.
//
//   </parameter>     </parameter   </paramter>   </paraameter>   </paraemter>
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/archive.h"
#include "text/byte_classes.h"

namespace unspool {

/// The end of a text that is read in pieces, from where a closing tag may have begun.
class TextEnd {
 public:
  static constexpr std::size_t kSize = 48;

  /// Begins a text. `first`: the tag's first byte. `begins_pieces`: a piece that has this byte
  /// begins with it.
  void begin(char first, bool begins_pieces) {
    size_ = 0;
    first_ = first;
    begins_pieces_ = begins_pieces;
  }
  void put(std::string_view piece) {
    if (size_ == 0 && begins_pieces_ && !piece.starts_with(first_)) [[likely]]
      return;
    put_bytes(piece);
  }
  /// Text without a byte of these classes cannot be the end.
  ByteClasses stops() const { return size_ == 0 ? class_of(first_) : kAllClasses; }
  /// The end so far, without white space.
  std::string_view text() const { return {bytes_.data(), size_}; }

  void visit(Archive& archive);

 private:
  void put_bytes(std::string_view piece);

  std::array<char, kSize> bytes_{};
  std::uint8_t size_ = 0;
  char first_ = '\0';
  bool begins_pieces_ = false;
};

/// Whether `text` ends with `marker` as it is or as one slip makes it. Only their ends are
/// compared.
bool ends_with_slip(std::string_view text, std::string_view marker);

/// Whether `text` is the marker without one of its letters but the first, or begins so.
bool lacks_letter(std::string_view text, std::string_view marker);
bool may_lack_letter(std::string_view text, std::string_view marker);

}  // namespace unspool
