// Reads one JSON value as it arrives, and copies it: the model's own bytes, proven valid so far.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>

namespace unspool {

enum class ScanStatus : std::uint8_t { more, done, failed };

struct ScanResult {
  std::size_t consumed = 0;  // on failure: the bytes before the one that cannot be
  ScanStatus status = ScanStatus::more;
};

/// What the scanner has just read.
enum class ScanEvent : std::uint8_t {
  none,
  opened,         // a container
  key_begins,     // its quote was read
  key_ends,       // its quote was read
  number_begins,  // its first byte was read
  number_ends,    // the next byte is not part of it
  comma,          // between two members or elements
  raw_control,    // a control character inside a string, which JSON forbids
};

/// One JSON value (RFC 8259), resumable at any byte. White space before it is read too.
/// A control character inside a string, which JSON forbids and models write, is copied escaped.
class JsonScanner {
 public:
  static constexpr std::size_t kMaxDepth = 512;

  /// Reads up to the end of the value and appends it to `out` where that is not null.
  ScanResult put(std::string_view text, std::string* out);

  /// Reads up to the end of the value or just past the next event, whichever comes first.
  ScanResult put_to_event(std::string_view text, ScanEvent& event);

  /// How many containers are open.
  std::size_t depth() const { return depth_; }

  /// Whether the value would be whole if the input ended here (a number has no end of its own).
  bool is_complete() const;

  /// Writes what is missing to make the value whole; false where that cannot be done by adding.
  bool close(std::string& out);

  bool in_string() const {
    return state_ == State::string || state_ == State::escape || state_ == State::hex;
  }
  void reset() { *this = JsonScanner(); }

 private:
  enum class State : std::uint8_t {
    value,            // a value must come
    first_element,    // a value or ]
    first_key,        // a key or }
    key,              // a key must come
    colon,            // :
    after_value,      // , or the end of the container
    string,           // inside a string
    escape,           // after a backslash
    hex,              // inside \uXXXX
    literal,          // inside true, false or null
    minus,            // a digit must come
    zero,             // after a leading 0
    integer,          // in digits
    point,            // a digit must come
    fraction,         // in digits after the point
    exponent,         // a sign or digit must come
    exponent_sign,    // a digit must come
    exponent_digits,  // in the exponent's digits
    done,
  };

  bool step(char byte);  // false: this byte cannot come here
  ScanEvent event_of(char byte, State before) const;
  bool begin_value(char byte);
  bool end_container(char byte);
  bool end_number(char byte);
  void end_value();
  bool is_number_complete() const;

  State state_ = State::value;
  bool string_is_key_ = false;
  std::uint8_t count_ = 0;  // hex digits seen, or position in the literal
  const char* literal_ = "";
  std::uint16_t depth_ = 0;
  std::bitset<kMaxDepth> is_object_;
};

}  // namespace unspool
