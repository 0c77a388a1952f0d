// What waits, and why: views of the text that was read and not reported yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/marker_set.h"

namespace unspool {

enum class HeldReason : std::uint8_t {
  none,
  character,    // an unfinished character, or character reference
  marker,       // may be the beginning of a marker
  space,        // markup if a marker follows, text if text does
  header,       // a header says what follows it once it is whole
  call,         // may be a call or content
  name,         // a call whose name is not certain yet
  key,          // a parameter's name
  value,        // a value whose type or end is open
  separator,    // counts only if another value follows
  closing_tag,  // ends the value or is part of it, as what follows shows
  ids,          // text whose token ids have yet to come
};

std::string_view to_string(HeldReason reason);

/// Parts in the order of the input. Its views live until the stream is fed again.
class Held {
 public:
  void add(HeldReason reason, std::string_view text) {
    if (!text.empty()) parts_.push_back({reason, text, {}});
  }
  void add(const MarkerCursor& cursor) {
    const std::string_view text = cursor.held();
    if (!text.empty()) parts_.push_back({HeldReason::marker, text, cursor});
  }

  std::size_t bytes() const;
  std::string text() const;

  /// Why the last part waits; that of an unfinished character only where there is no other.
  HeldReason reason() const;

  /// The markers that may come of the text, where that is the reason and they are literals.
  std::vector<std::string_view> markers() const;

 private:
  struct Part {
    HeldReason reason;
    std::string_view text;
    MarkerCursor cursor;  // of a marker that is a literal
  };
  const Part* last() const;

  std::vector<Part> parts_;
};

}  // namespace unspool
