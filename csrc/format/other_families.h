// The ways of other families to write a call, for a model that writes calls which are not its own
// family's (the option `also`).
//
// Each family keeps its own compiled format, because many of them begin alike: `<tool_call>` opens
// thirty kinds of call. One set of markers finds the places where any of them may begin, and says
// which: filter/other_calls.h reads them there.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/format.h"
#include "format/program.h"
#include "format/unmarked_ways.h"
#include "text/marker_set.h"

namespace unspool {

class OtherFamilies {
 public:
  using Index = std::uint8_t;  // of a family
  static constexpr std::size_t kMost = 255;

  /// In the order in which they are preferred. A family that writes calls exactly as an earlier one
  /// is left out. Throws FormatError if there are more than `kMost`.
  explicit OtherFamilies(const std::vector<Program>& programs);
  /// These families, whose formats it shares, and the stream's own, whose calls count without their
  /// markers too. Throws FormatError if there are more than `kMost`.
  OtherFamilies(const OtherFamilies& others, const Program& unmarked);

  std::size_t size() const { return formats_.size(); }
  const std::shared_ptr<const Format>& format(Index family) const { return formats_[family]; }
  std::string_view name(Index family) const { return formats_[family]->program().name; }
  /// The way in which the stream's own family writes such a call; null for another family.
  const UnmarkedWay* unmarked_way(Index family) const {
    const std::size_t first = formats_.size() - unmarked_.size();
    return family < first ? nullptr : &unmarked_[family - first];
  }

  /// What may open a call, or all calls. A marker's value is an index into `families_at`.
  const MarkerSet& openers() const { return *openers_; }
  /// Whether a token's text is a part of an opener, or of any marker of these calls. The end of a
  /// turn is none.
  bool opens(std::string_view token) const { return is_part(token, opener_texts_); }
  bool has_marker(std::string_view token) const { return is_part(token, marker_texts_); }
  const std::vector<Index>& families_at(std::size_t opener) const { return families_at_[opener]; }
  /// The families whose calls may begin with this byte at the start of a line, without a marker.
  const std::vector<Index>& families_at_line(unsigned char byte) const { return bare_[byte]; }
  bool has_bare_calls() const { return has_bare_calls_; }

  std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  bool is_part(std::string_view token, const std::vector<std::string>& texts) const;

  std::vector<std::shared_ptr<const Format>> formats_;
  std::vector<UnmarkedWay> unmarked_;  // of the last formats
  std::vector<std::vector<Index>> families_at_;
  std::shared_ptr<const MarkerSet> openers_;
  std::vector<std::string> opener_texts_, marker_texts_, ends_;
  std::array<std::vector<Index>, 256> bare_;
  bool has_bare_calls_ = false;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace unspool
