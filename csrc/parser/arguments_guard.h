// Checks a call's arguments as they are emitted, whatever wrote them: a complete call's are one
// JSON object.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "body/json_string.h"
#include "body/value_reader.h"
#include "format/schema.h"
#include "parser/events.h"
#include "text/archive.h"
#include "text/held.h"

namespace unspool {

/// Bounds of one answer. What exceeds them is reported as malformed, and parsing continues.
struct ParserLimits {
  static constexpr std::size_t kMaxDepth = ValueReader::kMaxDepth;

  std::size_t max_calls = 1000;
  std::size_t max_argument_bytes = std::size_t{16} << 20;  // of one call
  std::size_t max_depth = kMaxDepth;                       // of containers in the arguments
  std::size_t max_held_bytes = std::size_t{1} << 20;       // of what may be a call or text

  /// `max_calls` as the number of a call.
  std::int32_t calls() const {
    constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
    return max_calls < static_cast<std::size_t>(kMost) ? static_cast<std::int32_t>(max_calls)
                                                       : kMost;
  }
};

inline constexpr const char* kTooManyCalls = "there are more calls than max_calls";

/// Follows a JSON number: whether a double can hold it.
class NumberRange {
 public:
  void put(char byte);
  bool is_finite() const;
  void reset() { *this = NumberRange(); }

  void visit(Archive& archive);

 private:
  std::int64_t scale_ = 0;  // the power of ten of the first significant digit, plus one
  std::int64_t exponent_ = 0;
  std::uint64_t digits_ = 0;  // the first of them
  std::uint8_t digit_count_ = 0;
  bool is_fraction_ = false;
  bool is_exponent_ = false;
  bool is_negative_ = false;  // the exponent
};

/// One call's arguments. Constant cost a byte; its memory is bounded.
class ArgumentsGuard {
 public:
  /// `repairs`: of two members by one name the first is kept, and the other left out; a string
  /// where the schema has none is read as what it has. `schema`: the tool's, or null.
  ArgumentsGuard(const ParserLimits& limits, bool repairs, const ToolSchema* schema)
      : max_bytes_(limits.max_argument_bytes),
        max_depth_(limits.max_depth),
        repairs_(repairs),
        schema_(repairs ? schema : nullptr) {}

  struct Passed {
    std::string_view arguments;  // may be emitted
    std::string_view rejected;   // the rest, once the arguments have failed
  };

  /// The views live until the next call.
  Passed put(std::string_view fragment) {
    return is_plain(fragment) ? Passed{fragment, {}} : put_any(fragment);
  }

  /// Writes what may be emitted, and what is rejected as malformed, as events of the call `index`.
  void write(std::string_view fragment, std::int32_t index, std::uint64_t token_end, Events& out);

  bool has_failed() const { return *problem_ != '\0'; }
  /// One whole object has been read, and nothing else.
  bool is_whole() const { return is_done_ && !has_failed(); }
  /// What is wrong with arguments that are not whole.
  const char* problem() const {
    return has_failed() ? problem_ : "the arguments are not a whole JSON object";
  }
  /// What was mended, as bits of Repair.
  std::uint16_t repairs() const { return repairs_done_; }

  /// What is read and not passed on: a member whose name or type is not certain yet.
  void add_held(Held& out) const {
    out.add(HeldReason::key, held_);
    out.add(HeldReason::value, typed_);
  }

  void visit(Archive& archive);

 private:
  class Listener;

  // Text inside a string that changes nothing: most fragments.
  bool is_plain(std::string_view fragment) {
    const bool is_plain = reader_.in_text() && !in_key_ && !repairs_ && !has_failed() &&
                          bytes_ + fragment.size() <= max_bytes_ &&
                          find_json_special(fragment, 0) == fragment.size();
    if (is_plain) bytes_ += fragment.size();
    return is_plain;
  }
  Passed put_any(std::string_view fragment);
  std::size_t room_in(std::string_view text) const;
  std::size_t scan(std::string_view text);
  void put_key(std::string_view text);
  bool end_key();
  void end_typed();
  void pass(std::string_view text);
  bool fail(const char* problem);

  std::size_t max_bytes_;
  std::size_t max_depth_;
  bool repairs_;
  ValueReader reader_{kStrictJson};
  const char* problem_ = "";
  std::size_t bytes_ = 0;
  bool is_object_ = false;
  bool is_done_ = false;
  bool in_number_ = false;
  NumberRange number_;
  // The outermost object's keys:
  bool in_key_ = false;
  JsonStringDecoder key_;
  std::uint64_t key_hash_ = 0;
  std::vector<std::uint64_t> keys_;  // hashes of those read
  // Where a duplicate is left out:
  bool is_held_ = false;  // what is read is a member whose name is not certain yet
  bool is_dropped_ = false;
  std::string held_;
  // Where a string is read as another type:
  const ToolSchema* schema_ = nullptr;
  const TypeSet* types_ = nullptr;  // of the value at hand, which is held
  std::string key_text_;
  std::string typed_;  // the colon and the value
  std::uint16_t repairs_done_ = 0;
  std::string out_;
};

}  // namespace unspool
