// Finds the white space at the beginning and end of a text as it arrives.
#pragma once

#include <cstddef>
#include <string_view>

#include "text/archive.h"
#include "text/white_space.h"

namespace unspool {

class TextEdges {
 public:
  enum class Part { before, text, open };

  /// `max_open`: maximum length of white space that is held; longer white space is text.
  explicit TextEdges(std::size_t max_open) : max_open_(max_open) {}

  /// Calls `use(part, text)` for each part: white space before the text, text, and white space that
  /// is text if more text follows. Open white space before a text part is also text.
  template <typename Use>
  void put(std::string_view text, Use&& use) {
    if (!is_begun_) {
      const std::size_t begin = text.find_first_not_of(kSpace);
      const std::string_view before = text.substr(0, begin);
      if (!before.empty()) use(Part::before, before);
      if (begin == std::string_view::npos) return;
      text.remove_prefix(begin);
      is_begun_ = true;
    }
    const std::size_t end = text.find_last_not_of(kSpace) + 1;  // npos + 1 is 0
    if (end > 0) {
      use(Part::text, text.substr(0, end));
      open_bytes_ = 0;
    }
    const std::string_view tail = text.substr(end);
    if (tail.empty()) return;
    open_bytes_ += tail.size();
    use(open_bytes_ > max_open_ ? Part::text : Part::open, tail);
  }

  /// Other text follows that is not read here: open white space before it is text.
  void pass_text() {
    is_begun_ = true;
    open_bytes_ = 0;
  }

  /// Whether text has begun, and ends without white space.
  bool is_in_text() const { return is_begun_ && open_bytes_ == 0; }

  void visit(Archive& archive) {
    archive.given(max_open_);
    archive(open_bytes_, is_begun_);
  }

 private:
  std::size_t max_open_;
  std::size_t open_bytes_ = 0;
  bool is_begun_ = false;
};

}  // namespace unspool
