#include "body/json_in_string.h"

#include <algorithm>

#include "text/white_space.h"

namespace unspool {

JsonInString::Result JsonInString::put(std::string_view text, std::size_t place, std::string& out) {
  std::size_t i = 0;
  while (i < text.size()) {
    const JsonStringDecoder::Piece piece = decoder_.next(text.substr(i));
    if (piece.is_invalid) return {i + piece.consumed, false, "an escape in a string is not JSON"};
    const std::string_view decoded = piece.decoded;
    if (members_) begin_marks(place + i, piece);
    const std::size_t count = read(decoded, out);
    if (count < decoded.size()) {
      // A plain run is identical to its source; an escape is rejected as a whole.
      const bool is_plain = decoded.data() == text.data() + i;
      // Up to the escape's last byte, since its first ones were read before.
      const std::size_t before = piece.consumed == 0 ? 0 : piece.consumed - 1;
      return {i + (is_plain ? count : before), false, "the arguments are not a JSON object"};
    }
    i += piece.consumed;
    if (!piece.is_end) continue;
    if (!reader_.has_begun()) {
      // An empty string, or one of white space, is how some models write no arguments.
      out += "{}";
    } else if (!reader_.is_complete()) {
      return {i - 1, false, "the arguments are not whole JSON"};
    }
    return {i, true};
  }
  return {i, false};
}

void JsonInString::begin_marks(std::size_t place, const JsonStringDecoder::Piece& piece) {
  // A mark points into the source, where an escape is longer than what it stands for.
  const bool is_plain = escape_bytes_ == 0;
  const std::size_t begin = is_plain ? 0 : escape_bytes_;
  const std::size_t raw_size = is_plain ? piece.decoded.size() : begin + piece.consumed;
  members_->begin(static_cast<std::int64_t>(place) - static_cast<std::int64_t>(begin),
                  piece.decoded.size(), raw_size);
  const bool is_open = piece.decoded.empty() && !piece.is_end;
  escape_bytes_ = is_open ? escape_bytes_ + piece.consumed : 0;
}

// Reads the decoded text up to the first invalid byte.
std::size_t JsonInString::read(std::string_view text, std::string& out) {
  if (reader_.has_begun()) return reader_.put_whole(text, out).consumed;
  const std::size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  // A list, or a string within the string, is no object of arguments.
  if (begin == text.size() || text[begin] != '{') return begin;
  if (members_) members_->skip(begin);
  return begin + reader_.put_whole(text.substr(begin), out).consumed;
}

}  // namespace unspool
