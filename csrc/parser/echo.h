// A call's body and closer that the model writes again, right after the first. Its text is compared
// as it comes: it waits only as long as it is the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "text/letters.h"
#include "text/white_space.h"

namespace unspool {

class Echo {
 public:
  /// A call's body begins.
  void begin() {
    text_.clear();
    held_.clear();
    state_ = State::records;
  }
  bool records() const { return state_ == State::records; }
  void add(std::string_view text) {
    if (text_.empty()) text = text.substr(std::min(text.find_first_not_of(kSpace), text.size()));
    if (text_.size() + text.size() > kMaxBytes) {
      state_ = State::off;
    } else {
      text_ += text;
    }
  }
  /// The call's closer has been read, by its token or by text.
  void wait(bool is_token) {
    if (state_ != State::records || text_.empty()) return;
    ends_with_token_ = is_token;
    state_ = State::waits;
  }
  bool is_expected() const { return state_ == State::waits; }
  bool is_begun() const { return state_ == State::waits && !held_.is_empty(); }

  /// Whether the echo may go on with this letter.
  bool fits(const Letter& letter) const {
    const std::string_view rest = std::string_view(text_).substr(held_.size());
    const bool is_last = rest.size() == letter.text.size();
    return rest.starts_with(letter.text) && (!is_last || ends_with_token_ == (letter.symbol != 0));
  }
  void put(const Letter& letter) { held_.put(letter); }
  bool is_whole() const { return held_.size() == text_.size(); }
  std::string_view held() const { return held_.text(); }

  /// It is whole. It may come once more.
  void accept() { held_.clear(); }
  /// No echo follows: what was held is to be read again.
  Letters give_up() {
    state_ = State::off;
    return std::exchange(held_, {});
  }

 private:
  // The text of a longer call is not kept: it bounds what a stream holds.
  static constexpr std::size_t kMaxBytes = 4096;

  enum class State : std::uint8_t { off, records, waits };
  State state_ = State::off;
  bool ends_with_token_ = false;
  std::string text_;
  Letters held_;
};

}  // namespace unspool
