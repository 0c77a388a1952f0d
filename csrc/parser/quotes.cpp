#include "parser/quotes.h"

#include <algorithm>

#include "text/find_byte.h"

namespace unspool {

namespace {

// Longer runs count as this long.
constexpr std::uint8_t kMostRun = 250;
// Digits of a list's number.
constexpr std::uint8_t kMostDigits = 9;

bool is_blank_in_line(char byte) { return byte == ' ' || byte == '\t' || byte == '\r'; }
bool is_decimal(char byte) { return byte >= '0' && byte <= '9'; }

// The word after a fence: ```xml, ~~~ c++.
bool is_info(char byte) {
  return is_decimal(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         std::string_view("_+-.#").find(byte) != std::string_view::npos;
}

}  // namespace

void Quotes::put(std::string_view text) {
  constexpr OneOfFour kSignificant{'\n', '`', '\n', '`'};
  for (std::size_t i = 0; i < text.size(); ++i) {
    // Within a line, only these change anything.
    if (phase_ == Phase::text) i = find_byte(text, i, kSignificant);
    if (i < text.size()) put(text[i]);
  }
}

void Quotes::put(char byte) {
  if (phase_ == Phase::run) {
    if (byte == mark_) {
      run_ = std::min<std::uint8_t>(run_ + 1, kMostRun);
      return;
    }
    end_run(byte);
  }
  if (byte == '\n') return end_line();
  switch (phase_) {
    case Phase::bullet:
      if (is_decimal(mark_) && is_decimal(byte) && run_ < kMostDigits) {
        ++run_;
        return;
      }
      if (is_decimal(mark_) && (byte == '.' || byte == ')')) {
        mark_ = byte;
        return;
      }
      if (!is_blank_in_line(byte) || is_decimal(mark_)) return be_text();
      is_item_ = is_in_list_ = true;
      phase_ = Phase::prefix;
      return;
    case Phase::prefix:
      if (is_blank_in_line(byte)) {
        if (is_in_list_) indent_ = std::min<std::uint8_t>(indent_ + 1, kItemIndent);
        return;
      }
      is_item_ |= continues_item();
      if (byte == '`' || byte == '~') return begin_run(byte);
      if (byte == '>') {
        is_item_ = true;
        return;
      }
      if (fence_ != 0) return be_text();
      if (is_decimal(byte) || byte == '-' || byte == '*' || byte == '+') {
        phase_ = Phase::bullet;
        mark_ = byte;
        run_ = 1;
        return;
      }
      return be_text();
    case Phase::info:
      // ```f()``` in a line is code, and no fence.
      if (byte == '`' && fence_ == '`') {
        ticks_ = fence_size_;
        fence_ = 0;
        return begin_run(byte);
      }
      // One word; a sentence shows that it is no fence.
      if (is_blank_in_line(byte)) {
        if (is_info(mark_)) mark_ = ' ';
      } else if (is_info(byte) && mark_ != ' ') {
        mark_ = byte;
      } else {
        fence_ = 0;
        be_text();
      }
      return;
    case Phase::after_run:
      if (byte == '`') return begin_run(byte);
      if (!is_blank_in_line(byte)) be_text();
      return;
    case Phase::run:
    case Phase::text:
      if (byte == '`') begin_run(byte);
      return;
  }
}

void Quotes::pass_over(PassedLine line) {
  if (line == PassedLine::none) return;
  end_line();
  if (line == PassedLine::text) be_text();
}

void Quotes::end_line() {
  // A bullet alone is prose: `---`, `*`.
  has_prose_ |= phase_ == Phase::bullet;
  if (phase_ == Phase::prefix) {
    ticks_ = 0;  // a blank line
  } else if (fence_ == 0) {
    is_in_list_ = is_item_;
  }
  phase_ = Phase::prefix;
  is_item_ = false;
  indent_ = 0;
}

void Quotes::begin_run(char byte) {
  begins_line_ = phase_ == Phase::prefix;
  phase_ = Phase::run;
  mark_ = byte;
  run_ = 1;
}

// The run ends before `next`.
void Quotes::end_run(char next) {
  const bool is_fence = begins_line_ && run_ >= 3;
  if (fence_ != 0) {
    const bool ends_line = next == '\n' || is_blank_in_line(next) || next == 0;
    const bool closes = begins_line_ && mark_ == fence_ && run_ >= fence_size_ && ends_line;
    if (!closes) return be_text();
    fence_ = 0;
    phase_ = Phase::after_run;
  } else if (is_fence && ticks_ == 0) {
    fence_ = mark_;
    fence_size_ = run_;
    phase_ = Phase::info;
  } else if (mark_ == '`' && (run_ < 3 || ticks_ != 0)) {
    ticks_ = ticks_ == 0 ? run_ : ticks_ == run_ ? std::uint8_t{0} : ticks_;
    phase_ = Phase::after_run;
  } else {
    be_text();
  }
}

void Quotes::be_text() {
  phase_ = Phase::text;
  has_prose_ = true;
}

bool Quotes::is_in_code() const {
  Quotes next = *this;
  // A run directly before it: the end of a fence, or the beginning of one.
  if (phase_ == Phase::run) next.end_run(0);
  return next.fence_ != 0 || next.ticks_ != 0;
}

bool Quotes::precedes_prose(std::string_view text) const {
  Quotes next = *this;
  bool has_ended = false;
  std::size_t i = 0;
  for (; i < text.size() && !has_ended; ++i) {
    next.expect_no_prose();
    next.put(text[i]);
    has_ended = next.phase_ != Phase::prefix && !next.is_quoting();
  }
  next.put(text.substr(i));
  return has_ended && next.has_prose_;
}

bool Quotes::is_quoting() const { return is_item_ || continues_item() || is_in_code(); }

}  // namespace unspool
