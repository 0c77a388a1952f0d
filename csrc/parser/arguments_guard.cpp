#include "parser/arguments_guard.h"

#include <algorithm>

#include "text/utf8.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// It bounds what is kept of one call's keys, and the search among them.
constexpr std::size_t kMaxKeys = 1024;

constexpr std::uint64_t kHashBegin = 0xcbf29ce484222325;
constexpr std::uint64_t kHashPrime = 0x100000001b3;

// A number rounds to infinity from 1.7976931348623158079…e308 on.
constexpr std::int64_t kMaxScale = 309;
constexpr std::uint8_t kDigits = 19;
constexpr std::uint64_t kTooLarge = 1797693134862315808;

}  // namespace

void NumberRange::put(char byte) {
  if (byte == 'e' || byte == 'E') {
    is_exponent_ = true;
  } else if (byte == '.') {
    is_fraction_ = true;
  } else if (byte == '-') {
    is_negative_ = is_exponent_;
  } else if (byte >= '0' && byte <= '9') {
    const auto digit = static_cast<std::uint64_t>(byte - '0');
    if (is_exponent_) {
      constexpr std::int64_t kBeyondAll = std::int64_t{1} << 48;
      exponent_ = std::min(exponent_ * 10 + static_cast<std::int64_t>(digit), kBeyondAll);
      return;
    }
    const bool is_significant = digit_count_ > 0 || digit != 0;
    if (is_significant && digit_count_ < kDigits) {
      digits_ = digits_ * 10 + digit;
      ++digit_count_;
    }
    if (is_significant && !is_fraction_) ++scale_;
    if (!is_significant && is_fraction_) --scale_;
  }
}

bool NumberRange::is_finite() const {
  if (digit_count_ == 0) return true;
  const std::int64_t scale = scale_ + (is_negative_ ? -exponent_ : exponent_);
  if (scale != kMaxScale) return scale < kMaxScale;
  std::uint64_t digits = digits_;
  for (std::uint8_t i = digit_count_; i < kDigits; ++i) digits *= 10;
  return digits < kTooLarge;
}

void ArgumentsGuard::reset() {
  scanner_.reset();
  problem_ = "";
  bytes_ = 0;
  is_object_ = is_done_ = in_number_ = in_key_ = false;
  keys_.clear();
  is_held_ = is_dropped_ = has_dropped_ = false;
  held_.clear();
}

ArgumentsGuard::Passed ArgumentsGuard::put(std::string_view fragment) {
  if (has_failed()) return {{}, fragment};
  out_.clear();
  const std::string_view text = fragment.substr(0, room_in(fragment));
  bytes_ += text.size();
  const std::size_t read = scan(text);
  if (!has_failed() && read < fragment.size()) {
    fail("the arguments are longer than max_argument_bytes");
  }
  if (!repairs_) return {fragment.substr(0, read), fragment.substr(read)};
  const std::size_t passed = out_.size();
  if (has_failed()) {
    out_ += held_;
    out_ += fragment.substr(read);
    held_.clear();
  }
  return {std::string_view(out_).substr(0, passed), std::string_view(out_).substr(passed)};
}

// How much of the text may be read, in whole characters.
std::size_t ArgumentsGuard::room_in(std::string_view text) const {
  std::size_t room = max_bytes_ - std::min(bytes_, max_bytes_);
  if (text.size() <= room) return text.size();
  while (room < text.size() && is_utf8_continuation(text[room])) ++room;
  return room;
}

// Returns how much of the text was read: less than all of it where the arguments fail.
std::size_t ArgumentsGuard::scan(std::string_view text) {
  std::size_t i = 0;
  if (!is_object_) {
    i = std::min(text.find_first_not_of(kSpace), text.size());
    pass(text.substr(0, i));
    if (i < text.size() && text[i] != '{') fail("the arguments are not a JSON object");
    is_object_ = i < text.size();
  }
  while (i < text.size() && !has_failed()) {
    if (is_done_) {
      fail("text follows the end of the arguments");
      break;
    }
    ScanEvent event = ScanEvent::none;
    const ScanResult result = scanner_.put_to_event(text.substr(i), event);
    const std::string_view read = text.substr(i, result.consumed);
    if (in_number_) {
      for (const char byte : read) number_.put(byte);
    } else if (in_key_) {
      put_key(read);
    }
    if (result.status == ScanStatus::failed) fail("the arguments are not valid JSON");
    is_done_ = result.status == ScanStatus::done;
    // The last byte makes the event and is refused with it. A number's end is no byte of its own.
    const bool has_byte = is_done_ || (event != ScanEvent::none && event != ScanEvent::number_ends);
    const std::size_t before = read.size() - (has_byte ? 1 : 0);
    pass(read.substr(0, before));
    i += before;
    if (is_done_) is_dropped_ = false;
    if (event != ScanEvent::none && !on_event(event, text[i])) break;
    pass(read.substr(before));
    i += read.size() - before;
  }
  return i;
}

bool ArgumentsGuard::on_event(ScanEvent event, char byte) {
  const bool is_outermost = scanner_.depth() == 1;
  switch (event) {
    case ScanEvent::none: return true;
    case ScanEvent::raw_control: return fail("the arguments are not valid JSON");
    case ScanEvent::opened:
      if (scanner_.depth() <= max_depth_) return true;
      return fail("the arguments are nested deeper than max_depth");
    case ScanEvent::number_begins:
      in_number_ = true;
      number_.reset();
      number_.put(byte);
      return true;
    case ScanEvent::number_ends:
      in_number_ = false;
      return number_.is_finite() || fail("a number is too large for a double");
    case ScanEvent::comma:
      is_held_ = repairs_ && is_outermost;
      if (is_outermost) is_dropped_ = false;
      return true;
    case ScanEvent::key_begins:
      in_key_ = is_outermost;
      key_.reset();
      key_hash_ = kHashBegin;
      return true;
    case ScanEvent::key_ends: return !is_outermost || end_key();
  }
  return true;
}

void ArgumentsGuard::put_key(std::string_view text) {
  while (!text.empty()) {
    const JsonStringDecoder::Piece piece = key_.next(text);
    for (const char byte : piece.decoded) {
      key_hash_ = (key_hash_ ^ static_cast<unsigned char>(byte)) * kHashPrime;
    }
    if (piece.is_invalid) return;
    text.remove_prefix(piece.consumed);
  }
}

// The name of one of the outermost object's members has been read.
bool ArgumentsGuard::end_key() {
  in_key_ = false;
  if (std::find(keys_.begin(), keys_.end(), key_hash_) != keys_.end()) {
    if (!repairs_) return fail("two of the arguments have one name");
    is_held_ = false;
    is_dropped_ = has_dropped_ = true;
    held_.clear();
    return true;
  }
  if (keys_.size() == kMaxKeys) return fail("there are more than 1,024 arguments");
  keys_.push_back(key_hash_);
  out_ += held_;
  held_.clear();
  is_held_ = false;
  return true;
}

void ArgumentsGuard::pass(std::string_view text) {
  if (is_held_) {
    held_ += text;
  } else if (repairs_ && !is_dropped_) {
    out_ += text;
  }
}

bool ArgumentsGuard::fail(const char* problem) {
  problem_ = problem;
  return false;
}

}  // namespace unspool
