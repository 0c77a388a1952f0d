#include "body/json_in_string.h"

#include "text/white_space.h"

namespace unspool {

JsonInString::Result JsonInString::put(std::string_view text, std::string& out) {
  std::size_t i = 0;
  while (i < text.size()) {
    const JsonStringDecoder::Piece piece = decoder_.next(text.substr(i));
    if (piece.is_invalid) return {i + piece.consumed, false, "an escape in a string is not JSON"};
    const std::string_view decoded = piece.decoded;
    std::size_t read = 0;  // of `decoded`
    while (read < decoded.size()) {
      if (is_done_ || !has_begun_) {  // white space around the object
        if (is_space(decoded[read])) {
          ++read;
          continue;
        }
        if (is_done_ || decoded[read] != '{') break;
        has_begun_ = true;
      }
      const ScanResult result = reader_.put(decoded.substr(read), out);
      read += result.consumed;
      if (result.status == ScanStatus::done) is_done_ = true;
      if (result.status == ScanStatus::failed) break;
    }
    if (read < decoded.size()) {
      // A plain run stands byte for byte in the text; an escape is refused as a whole.
      const bool is_plain = decoded.data() == text.data() + i;
      const std::size_t before = piece.consumed == 0 ? 0 : piece.consumed - 1;
      return {i + (is_plain ? read : before), false, "the arguments are not a JSON object"};
    }
    i += piece.consumed;
    if (!piece.is_end) continue;
    if (!has_begun_) {
      out += "{}";
    } else if (!is_done_) {
      return {i - 1, false, "the arguments are not whole JSON"};
    }
    return {i, true};
  }
  return {i, false};
}

}  // namespace unspool
