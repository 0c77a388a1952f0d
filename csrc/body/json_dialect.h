// JSON as models write it, with strings in other delimiters and keys without quotes, made strict as
// it arrives.
#pragma once

#include <bitset>
#include <string>
#include <string_view>

#include "body/json_scanner.h"
#include "format/response_template.h"

namespace unspool {

/// Hears where values begin and end. `depth`: how many containers are open around the value.
class JsonListener {
 public:
  /// `out` ends where the value will begin; `first` is its first byte, `"` for any string.
  virtual void on_value(std::size_t depth, char first, std::string& out) = 0;
  virtual void on_value_end(std::size_t depth, std::string& out) = 0;
  /// A key, as JSON; `depth` is that of its value.
  virtual void on_key(std::size_t depth, std::string_view key) = 0;

 protected:
  ~JsonListener() = default;
};

/// One value, resumable at any byte; white space around it is read too.
class JsonDialectReader {
 public:
  explicit JsonDialectReader(const ContentSpec& spec, JsonListener* listener = nullptr)
      : spec_(&spec), listener_(listener) {}

  /// Appends strict JSON to `out`. `consumed` on failure: the bytes before the one that cannot be.
  ScanResult put(std::string_view text, std::string& out);

  /// What was read of a key, or of what may be a delimiter.
  std::string_view held() const {
    return state_ == State::bare_key || is_key_ ? std::string_view(key_) : pending_;
  }

  /// Whether the value is whole if the input ends here.
  bool is_complete() const;

 private:
  enum class State : std::uint8_t {
    value,
    first_element,
    first_key,
    key,
    colon,
    after_value,
    scalar,  // a value or a key that is JSON to the letter
    bare_key,
    opening,  // what may be the start of a string's delimiter
    string,   // in other delimiters
    done,
  };

  bool step(char byte, std::string& out);
  bool begin(char byte, std::string& out);
  bool begin_plain(char byte, std::string& out);
  bool open(char byte, std::string& out);
  bool read_opening(char byte, std::string& out);
  void read_string(char byte, std::string& out);
  bool close(char byte, std::string& out);
  void begin_value(char byte, std::string& out);
  void end_item(std::string& out);

  const ContentSpec* spec_;
  JsonListener* listener_;
  State state_ = State::value;
  State place_ = State::value;  // where the delimiter began
  bool is_key_ = false;
  bool is_left_ = false;  // the byte at hand is the scanner's
  JsonScanner scanner_;
  std::string key_;
  std::string pending_;  // what may be a delimiter
  std::size_t delim_ = 0;
  std::size_t depth_ = 0;
  std::bitset<JsonScanner::kMaxDepth> is_object_;
};

}  // namespace unspool
