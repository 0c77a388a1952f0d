// Decimal numbers in common notations: +1, 007.5, .5, 5., 1e3.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace unspool {

struct Decimal {
  bool is_negative = false;
  bool has_point = false;
  std::string_view whole;  // without leading zeros; may be empty
  std::string_view fraction;
  std::string_view exponent;  // from the e on
};

/// The parts of a number, as views into `text`; nullopt if it is not a number.
std::optional<Decimal> read_decimal(std::string_view text);

/// The number as JSON; `exponent`: the exponent's text.
std::string json_number(const Decimal& number, std::string_view exponent);

}  // namespace unspool
