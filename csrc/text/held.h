// Text that was read but not yet emitted, and the reason.
//
// For hosts that show or debug a stream: `<tool_c` is held as the beginning of a marker, and
// `markers()` names the markers that it may become.
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
  marker,       // possibly the start of a marker
  space,        // markup if a marker follows, text if text follows
  header,       // a header that decides, once complete, what follows
  call,         // either a call or content
  name,         // a call whose name is not certain yet
  key,          // a parameter's name
  value,        // a value whose type or end is open
  separator,    // counts only if another value follows
  closing_tag,  // either ends the value or belongs to it; the next bytes decide
  ids,          // text whose token ids have not arrived
};

std::string_view to_string(HeldReason reason);

/// Parts in the order of the input. Views are valid until the stream is fed again.
class Held {
 public:
  void add(HeldReason reason, std::string_view text) {
    if (!text.empty()) parts_.push_back({reason, text, {}});
  }
  void add(const MarkerCursor& cursor) {
    const std::string_view text = cursor.held();
    if (!text.empty()) parts_.push_back({HeldReason::marker, text, cursor});
  }

  /// Appends another's parts, without their first `bytes`.
  void add(const Held& other, std::size_t bytes);

  std::size_t bytes() const;
  std::string text() const;

  /// Why the last part is held; an unfinished character only if there is no other reason.
  HeldReason reason() const;

  /// The markers that the text may become, if that is the reason and the markers are literals.
  std::vector<std::string_view> markers() const;

 private:
  struct Part {
    HeldReason reason;
    std::string_view text;
    MarkerCursor cursor;  // of a literal marker
  };
  const Part* last() const;

  std::vector<Part> parts_;
};

}  // namespace unspool
