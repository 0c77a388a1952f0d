// Text that waits until its meaning is known, with one coordinate: a place is the number of bytes
// that had begun to wait before it.
//
//   add("ab"), add("cd")    begin 0, end 4; text(1, 3) is "bc"
//   take(3)                 begin 3: "d" waits, and its place is still 3
//
// A reader of the text keeps places. They stay valid when text is taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "parser/event.h"
#include "text/archive.h"

namespace unspool {

class WaitingText {
 public:
  using Place = std::uint64_t;

  /// What all bytes of one event's text have in common.
  struct Source {
    EventKind kind = EventKind::content;
    const char* reason = "";
    std::uint64_t token_end = 0;
  };

  /// Ignores an empty text.
  void add(const Source& source, std::string_view text) {
    if (!text.empty()) pieces_.push_back({source, std::string(text), end()});
  }

  Place begin() const { return begin_; }
  Place end() const { return pieces_.empty() ? begin_ : pieces_.back().end(); }
  bool is_empty() const { return pieces_.empty(); }

  /// The text at `at` that came with it; empty at the end. Valid until text is taken.
  std::string_view text_at(Place at) const {
    return at == end() ? std::string_view() : piece_at(at).text_from(at);
  }
  /// Number of tokens in the stream up to the byte at `at`, which waits.
  std::uint64_t token_end_at(Place at) const { return piece_at(at).source.token_end; }
  std::string text(Place from, Place to) const {
    std::string out;
    while (from + out.size() < to) out += text_at(from + out.size());
    out.resize(to - from);
    return out;
  }

  /// Removes the text before `to`; `use(source, text)` receives it in order.
  template <typename Use>
  void take(Place to, Use&& use) {
    while (begin_ < to) {
      const Piece& piece = pieces_.front();
      const std::string_view text = piece.text_from(begin_).substr(0, to - begin_);
      use(piece.source, text);
      begin_ += text.size();
      if (begin_ == piece.end()) pieces_.pop_front();
    }
  }

  void visit(Archive& archive) {
    archive(pieces_, begin_);
    Place at = pieces_.empty() ? begin_ : pieces_.front().begin;
    archive.expect(at <= begin_ && begin_ < kMostBytes);
    for (const Piece& piece : pieces_) {
      archive.expect(!piece.text.empty() && piece.begin == at && piece.end() > begin_);
      at = piece.end();
    }
  }

 private:
  static constexpr Place kMostBytes = Place{1} << 62;  // of a stream; no sum is larger than a place

  struct Piece {
    Source source = {};
    std::string text = {};
    Place begin = 0;

    Place end() const { return begin + text.size(); }
    std::string_view text_from(Place at) const { return std::string_view(text).substr(at - begin); }
    void visit(Archive& archive) {
      archive.choice(source.kind, EventKind::call_text);
      archive.literal(source.reason);
      archive(source.token_end, text, begin);
    }
  };

  const Piece& piece_at(Place at) const {
    const auto next =
        std::upper_bound(pieces_.begin(), pieces_.end(), at,
                         [](Place place, const Piece& piece) { return place < piece.begin; });
    return *std::prev(next);
  }

  std::deque<Piece> pieces_;
  Place begin_ = 0;  // a place in the first piece: what precedes it there is taken
};

}  // namespace unspool
