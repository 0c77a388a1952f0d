// Reads one JSON value as it arrives, and copies it: the model's own bytes, proven valid so far.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>

#include "body/json_states.h"
#include "text/json_escape.h"

namespace unspool {

enum class ScanStatus : std::uint8_t { more, done, failed };

struct ScanResult {
  std::size_t consumed = 0;  // on failure: the bytes before the one that cannot be
  ScanStatus status = ScanStatus::more;
};

/// Watches what a scanner reads; the functions get the place of the byte in the text. False: the
/// byte is refused, and the scan fails at it. A watch hides those that it needs.
struct ScanWatch {
  static bool opens(std::size_t /*depth*/, std::size_t) { return true; }  // a container
  static bool begins_key(std::size_t /*depth*/, std::size_t) { return true; }
  static bool ends_key(std::size_t /*depth*/, std::size_t) { return true; }
  static bool begins_number(std::size_t) { return true; }
  static bool ends_number(std::size_t) { return true; }  // the byte behind it
  static bool comma(std::size_t /*depth*/, std::size_t) { return true; }
  static bool raw_control(std::size_t) { return true; }  // inside a string, where JSON forbids it
};

/// One JSON value (RFC 8259), resumable at any byte. White space before it is read too.
/// A control character inside a string, which JSON forbids and models write, is copied escaped.
class JsonScanner {
 public:
  static constexpr std::size_t kMaxDepth = 512;

  /// Reads up to the end of the value and appends it to `out` where that is not null.
  ScanResult put(std::string_view text, std::string* out);

  /// Reads up to the end of the value, and tells `watch` what it reads.
  template <typename Watch>
  ScanResult put_watched(std::string_view text, Watch& watch);

  /// Whether the value would be whole if the input ended here (a number has no end of its own).
  bool is_complete() const;

  /// Writes what is missing to make the value whole; false where that cannot be done by adding.
  bool close(std::string& out);

  bool in_string() const {
    return state_ == State::string || state_ == State::escape ||
           (state_ >= State::hex_1 && state_ <= State::hex_4);
  }
  /// Inside a string, and not in an escape.
  bool in_text() const { return state_ == State::string; }
  void reset() { *this = JsonScanner(); }

 private:
  using State = JsonState;

  bool is_number_complete() const;
  State after_value() const { return depth_ == 0 ? State::done : State::after_value; }

  State state_ = State::value;
  bool string_is_key_ = false;
  std::uint16_t depth_ = 0;
  std::bitset<kMaxDepth> is_object_;
};

template <typename Watch>
ScanResult JsonScanner::put_watched(std::string_view text, Watch& watch) {
  State state = state_;
  std::size_t i = 0;
  const auto stop = [&](ScanStatus status) {
    state_ = state;
    return ScanResult{i, status};
  };
  while (i < text.size()) {
    if (state == State::string) {
      i = find_json_special(text, i);
      if (i == text.size()) break;
    }
    const JsonStep step = next_json_step(state, text[i]);
    if (step.is_state()) {
      state = step.state();
      ++i;
      continue;
    }
    switch (step.action()) {
      case JsonAction::open_object:
      case JsonAction::open_list: {
        const bool is_object = step.action() == JsonAction::open_object;
        if (depth_ == kMaxDepth || !watch.opens(depth_ + 1U, i)) return stop(ScanStatus::failed);
        is_object_[depth_++] = is_object;
        state = is_object ? State::first_key : State::first_element;
        break;
      }
      case JsonAction::close_object:
      case JsonAction::close_list:
        if (is_object_[depth_ - 1U] != (step.action() == JsonAction::close_object)) {
          return stop(ScanStatus::failed);
        }
        --depth_;
        state = after_value();
        break;
      case JsonAction::begin_key:
        if (!watch.begins_key(depth_, i)) return stop(ScanStatus::failed);
        string_is_key_ = true;
        state = State::string;
        break;
      case JsonAction::end_string:
        if (string_is_key_) {
          if (!watch.ends_key(depth_, i)) return stop(ScanStatus::failed);
          string_is_key_ = false;
          state = State::colon;
        } else {
          state = after_value();
        }
        break;
      case JsonAction::end_literal: state = after_value(); break;
      case JsonAction::comma:
        if (!watch.comma(depth_, i)) return stop(ScanStatus::failed);
        state = is_object_[depth_ - 1U] ? State::key : State::value;
        break;
      case JsonAction::begin_number:
        if (!watch.begins_number(i)) return stop(ScanStatus::failed);
        state = text[i] == '-' ? State::minus : text[i] == '0' ? State::zero : State::integer;
        break;
      case JsonAction::end_number:  // the byte is not the number's
        if (!watch.ends_number(i)) return stop(ScanStatus::failed);
        state = after_value();
        if (state == State::done) return stop(ScanStatus::done);
        continue;
      case JsonAction::raw_control:
        if (!watch.raw_control(i)) return stop(ScanStatus::failed);
        break;
      case JsonAction::fail: return stop(ScanStatus::failed);
    }
    ++i;
    if (state == State::done) return stop(ScanStatus::done);
  }
  return stop(ScanStatus::more);
}

}  // namespace unspool
