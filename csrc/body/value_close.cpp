// Completes a value that the output cut off.
#include <array>

#include "body/value_reader.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// The missing rest in each state of a literal or a number, from `t_rue` on.
constexpr std::array<std::string_view, 18> kRests = {
    "rue", "ue", "e", "alse", "lse", "se", "e", "ull", "ll", "l",  // true, false, null
    "0",   "",   "",  "0",    "",    "0",  "0", ""};               // - 0 1 . .5 e e+ e5
constexpr auto kFirstRest = static_cast<std::size_t>(ValueState::t_rue);
static_assert(kFirstRest + kRests.size() ==
              static_cast<std::size_t>(ValueState::exponent_digits) + 1);

// The complete word that the prefix most likely means.
std::string whole_word(const std::string& word) {
  if (word.empty()) return word;
  for (const std::string_view whole : {"true", "false", "null", "True", "False", "None"}) {
    if (whole.starts_with(word)) return std::string(whole);
  }
  return word;
}

}  // namespace

bool ValueReader::close(std::string& out) {
  out_ = &out;
  at_ = 0;
  copied_ = std::string_view::npos;  // nothing is copied
  if (!is_loose() && (state_ == State::key || state_ == State::element)) {
    return false;  // a comma cannot be undone
  }
  repairs_ |= kClosed;
  pending_.clear();
  if (!close_token()) return false;
  while (state_ != State::done) {
    if (!close_value()) return false;
  }
  return true;
}

// The end of a string, number or word.
bool ValueReader::close_token() {
  Step result = Step::next;
  if (state_ >= State::hex_1 && state_ <= State::hex_4) {
    const auto missing = static_cast<std::size_t>(State::hex_4) - static_cast<std::size_t>(state_);
    out_->append(missing + 1, '0');
    result = close_string(Step::next);
  } else if (state_ == State::escape && !is_loose()) {
    *out_ += '\\';
    result = close_string(Step::next);
  } else if (state_ == State::marked) {
    on_quote(0, 0);
  } else if (in_word()) {
    return close_word();
  } else if (state_ == State::bare_string || state_ == State::delimited) {
    to() += '"';
    result = end_value(0);
  } else if (in_string() || state_ == State::maybe_close) {
    result = close_string(Step::next);
  } else if (state_ >= State::t_rue && state_ <= State::exponent_digits) {
    *out_ += kRests[static_cast<std::size_t>(state_) - kFirstRest];
    result = end_value(0);
  }
  return result != Step::failed;
}

// A word that is not a value is text.
bool ValueReader::close_word() {
  if (state_ == State::word) word_ = whole_word(word_);
  if (end_word() != Step::failed) return true;
  const std::string text(trim(std::exchange(word_, {})));
  if (state_ == State::key_word) return write_key_word(text) != Step::failed;
  std::string json;
  append_json_string(text, json);
  return write_scalar(json) != Step::failed;
}

// One step towards the end: a missing value or a closing bracket.
bool ValueReader::close_value() {
  if (state_ == State::colon) {
    *out_ += ": ";
    if (colon() == Step::failed) return false;
  }
  if (state_ == State::value) return write_scalar("null") != Step::failed;
  if (stack_.empty()) return false;
  if (is_undecided()) {
    const bool has_key = state_ == State::after_value;
    decide_cut();
    if (has_key) *out_ += ": null";
  }
  *out_ += stack_.back() == object ? '}' : ']';
  stack_.pop_back();
  return end_value(0) != Step::failed;
}

}  // namespace unspool
