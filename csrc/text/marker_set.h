// Finds markers that open and close regions: Aho–Corasick over literals whose letters are bytes or
// tokens.
//
// A marker that is a single token of the vocabulary is a single letter here, so text that only
// spells it cannot match (promise 7). The held-back text is exactly the path from the root to the
// current state: the longest suffix of the input that is a proper prefix of a marker.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/archive.h"
#include "text/byte_classes.h"
#include "text/find_byte.h"

namespace unspool {

/// A letter: 0 to 255 is a byte of text; from 256 on, a token that the format matches by id.
using Symbol = std::uint16_t;
inline constexpr Symbol kFirstTokenSymbol = 256;

/// A marker's letters, each with its text.
struct MarkerPattern {
  std::vector<Symbol> symbols;
  std::vector<std::string> texts;

  void append_text(std::string_view text);
  void append_token(Symbol symbol, std::string_view text);
  bool has_token() const {
    return std::any_of(symbols.begin(), symbols.end(),
                       [](Symbol symbol) { return symbol >= kFirstTokenSymbol; });
  }
};

/// What a match means to its owner.
struct Marker {
  std::uint8_t role = 0;
  std::uint16_t value = 0;
  bool has_token = false;  // one of its letters is a token, so text cannot spell it
  bool is_slip = false;    // a common misspelling of the marker
};

class MarkerSet {
 public:
  using State = std::uint16_t;

  static constexpr std::size_t kMaxMarkerBytes = 1'024;

  /// Adds a pattern; of two equal patterns the first one counts. Throws FormatError if the pattern
  /// is empty or longer than `kMaxMarkerBytes`, or if the set becomes too large.
  void add(const MarkerPattern& pattern, Marker marker);

  /// Builds the automaton; no pattern can be added afterwards.
  void compile();

  /// Approximate memory use.
  std::size_t bytes() const {
    return table_.size() * sizeof(State) + nodes_.size() * sizeof(Node) + text_bytes_;
  }

  State next(State state, Symbol symbol) const {
    return table_[static_cast<std::size_t>(state) * class_count_ + symbol_class(symbol)];
  }

  /// The text on the path to `state`.
  std::string_view held(State state) const { return nodes_[state].text; }

  /// Appends the texts of the markers that begin with the text on the path to `state`.
  void add_completions(State state, std::vector<std::string_view>& out) const;

  /// The longest marker that ends in `state`, or null; `length` is the length of its text.
  const Marker* match(State state, std::size_t& length) const {
    const Node& node = nodes_[state];
    length = node.match_length;
    return node.has_match ? &node.marker : nullptr;
  }

  /// Whether no longer marker begins with the text on the path to `state`.
  bool is_leaf(State state) const { return nodes_[state].children.empty(); }

  /// Whether a marker may begin with this byte of text.
  bool may_begin(unsigned char byte) const { return starts_[byte]; }

  /// Length of the run at the start of `text` in which no marker can begin.
  std::size_t skip(std::string_view text) const {
    // Most tokens are too short for blocks to pay off.
    if (has_few_starts_ && text.size() >= 8) return find_byte(text, 0, few_starts_);
    std::size_t i = 0;
    while (i < text.size() && !starts_[static_cast<unsigned char>(text[i])]) ++i;
    return i;
  }

  /// Text without a byte of these classes leads from `state` to no marker, nor to the beginning of
  /// one.
  ByteClasses stops(State state) const { return nodes_[state].stops; }

  bool has(State state) const { return state < nodes_.size(); }
  /// Whether a marker begins with this byte.
  bool is_start(char byte) const { return starts_[static_cast<unsigned char>(byte)]; }

  /// Fingerprint of the markers' texts.
  std::uint64_t fingerprint() const {
    std::uint64_t hash = 0;
    for (const Node& node : nodes_) hash = fingerprint_of(node.text, hash);
    return hash;
  }

 private:
  struct Node {
    std::string text;
    Marker marker;
    std::size_t match_length = 0;
    bool has_match = false;
    State fail = 0;
    ByteClasses stops = 0;
    std::vector<std::pair<Symbol, State>> children;
  };

  std::size_t symbol_class(Symbol symbol) const {
    return symbol < class_of_.size() ? class_of_[symbol] : 0;
  }
  State child(State state, Symbol symbol) const;
  ByteClasses stops_of(const Node& node, bool is_root) const;
  void find_few_starts();

  std::vector<Node> nodes_{1};
  std::size_t text_bytes_ = 0;  // of all nodes
  std::vector<State> table_{0};
  std::size_t class_count_ = 1;
  std::vector<std::uint8_t> class_of_;  // by symbol; 0: in no pattern
  std::array<bool, 256> starts_{};      // bytes with which a marker begins
  bool has_few_starts_ = false;         // one to four
  OneOfFour few_starts_{};              // then: these
};

/// A position in a MarkerSet; the per-stream half.
class MarkerCursor {
 public:
  struct Found {
    const Marker* marker = nullptr;  // null: the text ended without a match
    std::size_t consumed = 0;        // bytes of the text that were read
    std::string_view text;           // the marker's own text; lives as long as the set
  };

  void reset(const MarkerSet* set) {
    set_ = set;
    state_ = 0;
  }
  /// Gives the held text up; the caller knows what it is.
  void restart() { state_ = 0; }
  std::string_view held() const { return set_->held(state_); }
  bool is_idle() const { return state_ == 0; }
  ByteClasses stops() const { return set_->stops(state_); }
  /// Appends the markers that the held text may become; nothing if no text is held.
  void add_completions(std::vector<std::string_view>& out) const {
    if (set_ != nullptr && state_ != 0) set_->add_completions(state_, out);
  }
  /// Whether a marker begins with this byte.
  bool is_start(char byte) const { return set_->is_start(byte); }
  bool would_continue(unsigned char byte) const { return set_->next(state_, byte) != 0; }
  /// The same for a token.
  bool would_continue_at(Symbol symbol) const { return set_->next(state_, symbol) != 0; }
  /// Length of the run at the start of `text` in which no marker can occur.
  std::size_t plain_run(std::string_view text) const { return is_idle() ? set_->skip(text) : 0; }

  /// Reads text up to the first marker; passes text that is not part of a marker to `release`.
  template <typename Release>
  Found put(std::string_view text, Release&& release) {
    std::size_t i = 0;
    while (i < text.size()) {
      if (state_ == 0) {
        const std::size_t run = set_->skip(text.substr(i));
        if (run > 0) release(text.substr(i, run));
        i += run;
        if (i == text.size()) break;
      }
      const std::string_view letter = text.substr(i++, 1);
      Found match = step(static_cast<unsigned char>(letter[0]), letter, release);
      if (match.marker != nullptr) {
        match.consumed = i;
        return match;
      }
    }
    return {nullptr, text.size(), {}};
  }

  /// Like `read`, but stops at the first letter that releases text, if no marker ends before it.
  template <typename Release>
  Found put_some(std::string_view text, Release&& release) {
    Found match;
    bool gives_back = false;
    while (match.consumed < text.size() && match.marker == nullptr && !gives_back) {
      const std::size_t read = match.consumed + 1;
      const std::string_view letter = text.substr(match.consumed, 1);
      match = step(static_cast<unsigned char>(letter[0]), letter, [&](std::string_view piece) {
        gives_back = true;
        release(piece);
      });
      match.consumed = read;
    }
    return match;
  }

  /// Reads a token that the format matches by id; `literal` is its text.
  template <typename Release>
  Found put_token(Symbol symbol, std::string_view literal, Release&& release) {
    Found match = step(symbol, literal, release);
    match.consumed = literal.size();
    return match;
  }

  /// Releases the held text.
  template <typename Release>
  void flush(Release&& release) {
    const std::string_view text = held();
    state_ = 0;
    if (!text.empty()) release(text);
  }

  /// `sets`: the sets that it may point into. It has been reset to one of them.
  void visit(Archive& archive, std::span<const MarkerSet* const> sets) {
    std::size_t set =
        static_cast<std::size_t>(std::find(sets.begin(), sets.end(), set_) - sets.begin());
    archive.index(set, sets.size());
    set_ = sets[set];
    visit(archive);
  }
  /// The same where its set is given.
  void visit(Archive& archive) {
    archive(state_);
    archive.expect(set_ == nullptr ? state_ == 0 : set_->has(state_));
  }

 private:
  template <typename Release>
  Found step(Symbol symbol, std::string_view letter, Release&& release) {
    const std::string_view before = set_->held(state_);
    state_ = set_->next(state_, symbol);
    const std::string_view after = set_->held(state_);
    const std::size_t released = before.size() + letter.size() - after.size();
    // Everything is released, the new letter included: it is no part of a marker.
    if (released > before.size()) {
      if (!before.empty()) release(before);
      release(letter);
    } else if (released > 0) {
      release(before.substr(0, released));
    }
    std::size_t length = 0;
    const Marker* marker = set_->match(state_, length);
    if (marker == nullptr) return {};
    const std::size_t extra = after.size() - length;
    // The match is a suffix of the path: what is before it was held for a longer marker.
    if (extra > 0) release(after.substr(0, extra));
    state_ = 0;
    return {marker, 0, after.substr(extra)};
  }

  const MarkerSet* set_ = nullptr;
  MarkerSet::State state_ = 0;
};

}  // namespace unspool
