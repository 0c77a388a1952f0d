// The JSON types that a value may have.
#pragma once

#include <cstdint>

#include "text/archive.h"

namespace unspool {

/// A set of types.
class TypeSet {
 public:
  enum Type : std::uint8_t {
    null = 1,
    boolean = 2,
    integer = 4,
    number = 8,
    string = 16,
    array = 32,
    object = 64,
  };
  constexpr TypeSet() = default;
  constexpr explicit TypeSet(std::uint8_t bits) : bits_(bits) {}
  constexpr bool has(Type type) const { return (bits_ & type) != 0; }
  constexpr bool is_only(Type type) const { return bits_ == type; }
  constexpr bool is_empty() const { return bits_ == 0; }
  constexpr std::uint8_t bits() const { return bits_; }

  constexpr bool operator==(const TypeSet&) const = default;
  constexpr TypeSet operator|(TypeSet other) const {
    return TypeSet(static_cast<std::uint8_t>(bits_ | other.bits_));
  }

  static constexpr TypeSet any() { return TypeSet(0x7F); }

  void visit(Archive& archive) {
    archive(bits_);
    archive.expect((bits_ & ~any().bits_) == 0);
  }

 private:
  std::uint8_t bits_ = 0;
};

}  // namespace unspool
