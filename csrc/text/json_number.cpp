#include "text/json_number.h"

#include <algorithm>

namespace unspool {

namespace {

constexpr std::int64_t kBeyondAll = std::int64_t{1} << 48;
constexpr std::size_t kStepDigits = 18;  // ten times as many, and a digit, fit in 64 bits
constexpr std::int64_t kFactors = 64;    // a step has at most 63 factors of 2, or of 5

std::int64_t read_exponent(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  for (const char digit : text) value = std::min(value * 10 + (digit - '0'), kBeyondAll);
  return is_negative ? -value : value;
}

}  // namespace

JsonNumber::JsonNumber(std::string_view text) {
  is_negative_ = text.starts_with('-');
  if (is_negative_) text.remove_prefix(1);
  const std::size_t end = std::min(text.find_first_of("eE"), text.size());
  if (end < text.size()) exponent_ = read_exponent(text.substr(end + 1));
  const std::string_view number = text.substr(0, end);
  const std::size_t point = std::min(number.find('.'), number.size());
  digits_ = number.substr(0, point);
  if (point < number.size()) {
    digits_ += number.substr(point + 1);
    exponent_ -= static_cast<std::int64_t>(number.size() - point - 1);
  }
  digits_.erase(0, std::min(digits_.find_first_not_of('0'), digits_.size()));
  const std::size_t last = digits_.find_last_not_of('0');
  if (last == std::string::npos) {
    digits_.clear();
    exponent_ = 0;
    return;
  }
  exponent_ += static_cast<std::int64_t>(digits_.size() - last - 1);
  digits_.resize(last + 1);
}

int JsonNumber::compare(const JsonNumber& other) const {
  if (sign() != other.sign()) return sign() < other.sign() ? -1 : 1;
  const auto order = [this](bool is_less) { return is_less == is_negative_ ? 1 : -1; };
  const auto scale = [](const JsonNumber& number) {
    return number.exponent_ + static_cast<std::int64_t>(number.digits_.size());
  };
  if (sign() == 0) return 0;
  if (scale(*this) != scale(other)) return order(scale(*this) < scale(other));
  // Without zeros at the end, a longer number is the greater one of two that begin alike.
  const int found = digits_.compare(other.digits_);
  return found == 0 ? 0 : order(found < 0);
}

bool JsonNumber::is_multiple_of(const JsonNumber& step) const {
  if (is_zero() || step.is_zero() || step.digits_.size() > kStepDigits) return true;
  // The last digit of this number is not 0, so ten of no smaller unit make it up.
  if (exponent_ < step.exponent_) return false;
  const std::uint64_t unit = std::stoull(step.digits_);
  std::uint64_t rest = 0;
  for (const char digit : digits_)
    rest = (rest * 10 + static_cast<std::uint64_t>(digit - '0')) % unit;
  const std::int64_t zeros = std::min(exponent_ - step.exponent_, kFactors);
  for (std::int64_t i = 0; i < zeros; ++i) rest = rest * 10 % unit;
  return rest == 0;
}

std::string JsonNumber::text() const {
  if (is_zero()) return "0";
  return (is_negative_ ? "-" : "") + digits_ + "e" + std::to_string(exponent_);
}

}  // namespace unspool
