// JSON numbers compared exactly, however many digits they have: a double rounds those of seventeen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace unspool {

/// A JSON number in its one normal form: 1, 1.0 and 10e-1 are equal.
class JsonNumber {
 public:
  /// `text`: the number as JSON. An exponent beyond 2^48 counts as 2^48.
  explicit JsonNumber(std::string_view text);
  static JsonNumber of(std::size_t count) { return JsonNumber(std::to_string(count)); }

  /// Negative, 0 or positive, as this number is less than, equal to, or greater than the other.
  int compare(const JsonNumber& other) const;
  bool is_integer() const { return exponent_ >= 0; }
  bool is_zero() const { return digits_.empty(); }
  /// Whether it is a whole number of steps. True if the step has more than 18 digits.
  bool is_multiple_of(const JsonNumber& step) const;
  /// The normal form as text.
  std::string text() const;

 private:
  int sign() const { return digits_.empty() ? 0 : is_negative_ ? -1 : 1; }

  bool is_negative_ = false;
  std::string digits_;         // without zeros at either end; empty for zero
  std::int64_t exponent_ = 0;  // the power of ten of the last digit
};

}  // namespace unspool
