// Checks a call's arguments as they are emitted, whichever reader wrote them: the arguments of a
// complete call are one JSON object.
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

/// Limits for one answer. Text beyond a limit is reported as malformed, and parsing continues.
struct ParserLimits {
  static constexpr std::size_t kMaxDepth = ValueReader::kMaxDepth;

  std::size_t max_calls = 1000;
  std::size_t max_argument_bytes = std::size_t{16} << 20;  // of one call
  std::size_t max_depth = kMaxDepth;                       // of containers in the arguments
  std::size_t max_held_bytes = std::size_t{1} << 20;       // of text that may be a call or content

  /// `max_calls` in the type of a call's index.
  std::int32_t calls() const {
    constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
    return max_calls < static_cast<std::size_t>(kMost) ? static_cast<std::int32_t>(max_calls)
                                                       : kMost;
  }
};

inline constexpr const char* kTooManyCalls = "there are more calls than max_calls";

/// Follows a JSON number: whether a double can represent it.
class NumberRange {
 public:
  void put(char byte);
  bool is_finite() const;
  void reset() { *this = NumberRange(); }

  void visit(Archive& archive);

 private:
  std::int64_t scale_ = 0;  // the power of ten of the first significant digit, plus one
  std::int64_t exponent_ = 0;
  std::uint64_t digits_ = 0;  // its first significant digits
  std::uint8_t digit_count_ = 0;
  bool is_fraction_ = false;
  bool is_exponent_ = false;
  bool is_negative_ = false;  // of the exponent
};

/// Checks one call's arguments. Constant cost per byte, bounded memory.
class ArgumentsGuard {
 public:
  /// `repairs`: of two members with one name, keep the first and drop the other; convert strings to
  /// the types of the schema if it does not allow strings, and leave out empty ones. `schema`: the
  /// tool's, or null.
  ArgumentsGuard(const ParserLimits& limits, bool repairs, const ToolSchema* schema)
      : max_bytes_(limits.max_argument_bytes),
        max_depth_(limits.max_depth),
        repairs_(repairs),
        schema_(repairs ? schema : nullptr) {}

  struct Passed {
    std::string_view arguments;  // may be emitted
    std::string_view rejected;   // the rest, once the arguments are invalid
  };

  /// The views are valid until the next call.
  Passed put(std::string_view fragment) {
    return is_plain(fragment) ? Passed{fragment, {}} : put_any(fragment);
  }

  /// Whether any text only continues a string, and how much of it may.
  bool is_in_text() const { return reader_.in_text() && !in_key_ && !repairs_ && !has_failed(); }
  std::size_t room() const { return max_bytes_ - std::min(bytes_, max_bytes_); }
  /// Text has been written that left so much of the room.
  void pass_over(std::size_t left) { bytes_ = max_bytes_ - left; }

  /// Writes the valid arguments, and the rejected rest as malformed, as events of the call `index`.
  void write(std::string_view fragment, std::int32_t index, std::uint64_t token_end, Events& out);

  bool has_failed() const { return *problem_ != '\0'; }
  /// Whether exactly one complete object has been read.
  bool is_whole() const { return is_done_ && !has_failed(); }
  /// Why the arguments are not complete.
  const char* problem() const {
    return has_failed() ? problem_ : "the arguments are not a whole JSON object";
  }
  /// The repairs, as bits of Repair.
  std::uint16_t repairs() const { return repairs_done_; }

  /// Text that was read but not passed on: a member whose name or type is not certain yet.
  void add_held(Held& out) const {
    out.add(HeldReason::key, held_);
    out.add(HeldReason::value, typed_);
  }

  void visit(Archive& archive);

 private:
  class Listener;

  // Whether it is text inside a string that changes no state, as most fragments are.
  bool is_plain(std::string_view fragment) {
    const bool is_plain = is_in_text() && fragment.size() <= room() &&
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
  void leave_out();
  void release();
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
  // The keys of the outermost object:
  bool in_key_ = false;
  JsonStringDecoder key_;
  std::uint64_t key_hash_ = 0;
  std::vector<std::uint64_t> keys_;  // hashes of those read
  // For dropping duplicates, and members that are left out:
  bool is_held_ = false;  // reading a member that is not certain yet
  bool is_dropped_ = false;
  bool has_member_ = false;  // one was passed on
  std::string held_;
  // For converting strings to other types:
  const ToolSchema* schema_ = nullptr;
  const TypeSet* types_ = nullptr;  // of the current value, which is held
  std::string key_text_;
  std::string typed_;  // the colon and the value
  std::uint16_t repairs_done_ = 0;
  std::string out_;
};

}  // namespace unspool
