#include "body/decimal.h"

#include <algorithm>

namespace unspool {

namespace {

bool has_only_digits(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Consumes the sign; returns whether it is a minus.
bool take_sign(std::string_view& text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  return is_negative;
}

std::string_view without_leading_zeros(std::string_view digits) {
  if (digits.empty()) return digits;
  // One zero stays: `000` is 0.
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
}

}  // namespace

std::optional<Decimal> read_decimal(std::string_view text) {
  Decimal number;
  number.is_negative = take_sign(text);
  const std::size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos) {
    number.exponent = text.substr(exponent);
    std::string_view digits = number.exponent.substr(1);
    take_sign(digits);
    // `1e` may be the beginning of a number, but is none.
    if (digits.empty() || !has_only_digits(digits)) return std::nullopt;
    text = text.substr(0, exponent);
  }
  const std::size_t point = text.find('.');
  number.has_point = point != std::string_view::npos;
  if (number.has_point) number.fraction = text.substr(point + 1);
  number.whole = without_leading_zeros(text.substr(0, point));
  // A point alone is none.
  const bool is_number = !number.whole.empty() || !number.fraction.empty();
  if (!is_number || !has_only_digits(number.whole) || !has_only_digits(number.fraction)) {
    return std::nullopt;
  }
  return number;
}

std::string json_number(const Decimal& number, std::string_view exponent) {
  std::string text(number.is_negative ? "-" : "");
  text += number.whole.empty() ? std::string_view("0") : number.whole;
  // `5.` is written 5: JSON needs a digit after the point.
  if (!number.fraction.empty()) text.append(".").append(number.fraction);
  return text.append(exponent);
}

}  // namespace unspool
