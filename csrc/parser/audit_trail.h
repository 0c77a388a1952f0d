// The audit, in the order of the output. The end of a turn is excluded from the text around it, and
// keeps its position while text before it still waits for its fate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parser/events.h"
#include "text/archive.h"

namespace unspool {

// An example: `{"name": "f<|im_end|>"}`, where the token ends the turn amid a name. The name's
// bytes wait until the call is certain, but the token's fate is known at once. It waits at its
// place (`ignored_`), so that the audit is in the order of the output.
class AuditTrail {
 public:
  struct Ignored {
    std::uint64_t at;
    std::string text;
    LabelPart part;

    void visit(Archive& archive) {
      archive(at, text);
      archive.choice(part, LabelPart::left_out);
    }
  };
  /// To go back to: the bytes whose fate is known, and what waits.
  struct Place {
    std::uint64_t bytes = 0;
    std::vector<Ignored> ignored;

    void visit(Archive& archive) { archive(bytes, ignored); }
  };

  /// The number of bytes whose fate is known.
  std::uint64_t bytes() const { return bytes_; }

  /// How many ignored bytes wait for text before them, among those within the first `pending`
  /// bytes.
  std::uint64_t ignored_bytes(std::uint64_t pending = std::uint64_t{1} << 62) const {
    std::uint64_t bytes = 0;
    for (const Ignored& ignored : ignored_) {
      if (ignored.at - bytes_ <= pending + bytes) bytes += ignored.text.size();
    }
    return bytes;
  }

  /// How many of the first `count` bytes of the output are ignored ones that wait: the text around
  /// them does not have them.
  std::uint64_t ignored_within(std::uint64_t count) const {
    std::uint64_t bytes = 0;
    for (const Ignored& ignored : ignored_) {
      if (ignored.at < count) bytes += ignored.text.size();
    }
    return bytes;
  }

  /// The fate of the last bytes that are not white space.
  Fate last() const { return last_; }

  /// Reports nothing of the first `bytes`.
  void leave_out(std::uint64_t bytes) { left_out_ = bytes; }

  void put(const ByteLabel& label, std::string_view text, Events& out) {
    while (!ignored_.empty() && ignored_.front().at <= bytes_ + text.size()) {
      const Ignored ignored = std::move(ignored_.front());
      ignored_.erase(ignored_.begin());
      const std::size_t before = ignored.at - std::min(ignored.at, bytes_);
      report(label, text.substr(0, before), out);
      report({.fate = Fate::marker, .part = ignored.part}, ignored.text, out);
      text.remove_prefix(before);
      bytes_ = ignored.at + ignored.text.size();
    }
    if (label.fate != Fate::whitespace && !text.empty()) last_ = label.fate;
    report(label, text, out);
  }

  /// The end of a turn, or a special token; `at`: how many bytes precede it.
  void ignore(std::string_view marker, std::uint64_t at, LabelPart part, Events& out) {
    if (at == bytes_) return put({.fate = Fate::marker, .part = part}, marker, out);
    ignored_.push_back({at, std::string(marker), part});
  }

  Place place() const { return {bytes_, ignored_}; }
  /// What came after the place is read again.
  void go_back(Place place) {
    bytes_ = place.bytes;
    ignored_ = std::move(place.ignored);
  }

  void visit(Archive& archive) {
    archive(ignored_, bytes_, left_out_);
    archive.choice(last_, Fate::malformed);
  }

 private:
  void report(const ByteLabel& label, std::string_view text, Events& out) {
    const std::uint64_t left = left_out_ - std::min(left_out_, bytes_);
    bytes_ += text.size();
    if (left < text.size()) out.add_audit(label, text.substr(left));
  }

  std::vector<Ignored> ignored_;
  std::uint64_t bytes_ = 0;
  std::uint64_t left_out_ = 0;
  Fate last_ = Fate::content;
};

}  // namespace unspool
