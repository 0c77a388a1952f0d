// The set is first a tree of the patterns' letters. `compile` turns it into one table: for a state
// and a letter, the next state, also if the letter leads away from the pattern. So a step is one
// load.
//
//   markers <a>, <b>      states  0 ""   1 "<"   2 "<a"   3 "<a>"   4 "<b" …
//   state 2, letter '<'   → 1: the "<a" is released, and the '<' may begin another marker
//   state 2, letter 'x'   → 0: all is released
//
// Columns are classes of letters: letters that stand in no pattern share column 0. A format has few
// tens of letters, so the table stays small enough for the cache.
#include "text/marker_set.h"

#include <algorithm>

#include "text/error.h"

namespace unspool {

namespace {

constexpr std::size_t kMaxNodes = 0xFFFF;
constexpr std::size_t kMaxTextBytes = 1 << 22;  // of all nodes

}  // namespace

void MarkerPattern::append_text(std::string_view text) {
  for (const char byte : text) {
    symbols.push_back(static_cast<unsigned char>(byte));
    texts.emplace_back(1, byte);
  }
}

void MarkerPattern::append_token(Symbol symbol, std::string_view text) {
  symbols.push_back(symbol);
  texts.emplace_back(text);
}

MarkerSet::State MarkerSet::child(State state, Symbol symbol) const {
  for (const auto& [letter, target] : nodes_[state].children) {
    if (letter == symbol) return target;
  }
  return 0;
}

void MarkerSet::add(const MarkerPattern& pattern, Marker marker) {
  if (pattern.symbols.empty()) throw FormatError("a marker is empty; write its text");
  std::size_t size = 0;
  for (const std::string& text : pattern.texts) size += text.size();
  if (size > kMaxMarkerBytes) {
    throw FormatError("a marker has " + std::to_string(size) + " bytes; at most " +
                      std::to_string(kMaxMarkerBytes) + " are read");
  }
  State state = 0;
  for (std::size_t i = 0; i < pattern.symbols.size(); ++i) {
    const Symbol symbol = pattern.symbols[i];
    State target = child(state, symbol);
    // A pattern that shares its beginning with another one shares the states.
    if (target == 0) {
      if (nodes_.size() >= kMaxNodes || text_bytes_ > kMaxTextBytes) {
        throw FormatError(
            "the format's markers are too many or too long: together they have more than 65,535 "
            "different beginnings, or these take more than 4 MiB");
      }
      target = static_cast<State>(nodes_.size());
      nodes_[state].children.emplace_back(symbol, target);
      Node node;
      node.text = nodes_[state].text + pattern.texts[i];
      text_bytes_ += node.text.size();
      nodes_.push_back(std::move(node));
    }
    state = target;
  }
  Node& node = nodes_[state];
  // The same text has a meaning already; the order of the patterns is the format's.
  if (node.has_match) return;
  node.marker = marker;
  node.marker.has_token = pattern.has_token();
  node.match_length = node.text.size();
  node.has_match = true;
}

void MarkerSet::add_completions(State state, std::vector<std::string_view>& out) const {
  const Node& node = nodes_[state];
  if (node.has_match && node.match_length == node.text.size()) out.push_back(node.text);
  for (const auto& [symbol, target] : node.children) add_completions(target, out);
}

ByteClasses MarkerSet::stops_of(const Node& node, bool is_root) const {
  ByteClasses stops = 0;
  for (const auto& [symbol, target] : node.children) {
    if (symbol >= kFirstTokenSymbol) continue;
    const char byte = static_cast<char>(symbol);
    if (is_root && byte == '\n' && !nodes_[target].has_match) {
      // Many markers begin with a line break. It means something at the text's end, and before the
      // letters that go on.
      stops |= kEndsInLineBreak | stops_of(nodes_[target], false);
    } else {
      stops |= class_of(byte);
    }
  }
  return stops;
}

void MarkerSet::find_few_starts() {
  std::size_t count = 0;
  for (std::size_t byte = 0; byte < starts_.size() && count <= few_starts_.bytes.size(); ++byte) {
    if (!starts_[byte]) continue;
    // If there are fewer, the last one is repeated.
    // Then a comparison with four bytes is right for any smaller number.
    for (std::size_t i = count; i < few_starts_.bytes.size(); ++i)
      few_starts_.bytes[i] = static_cast<unsigned char>(byte);
    ++count;
  }
  has_few_starts_ = count > 0 && count <= few_starts_.bytes.size();
}

void MarkerSet::compile() {
  for (const Node& node : nodes_) {
    for (const auto& [symbol, target] : node.children) {
      if (class_of_.size() <= symbol) class_of_.resize(symbol + 1U, 0);
      if (class_of_[symbol] == 0) {
        if (class_count_ > 0xFF)
          throw FormatError("the format's markers use more than 255 different letters");
        class_of_[symbol] = static_cast<std::uint8_t>(class_count_++);
      }
    }
  }
  for (const auto& [symbol, target] : nodes_[0].children) {
    if (symbol < kFirstTokenSymbol) starts_[symbol] = true;
  }
  find_few_starts();
  table_.assign(nodes_.size() * class_count_, 0);
  // In order of depth, since a state's row is made from that of its suffix, which is shorter.
  std::vector<State> queue{0};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const State state = queue[head];
    const State fail = nodes_[state].fail;
    const std::size_t row = static_cast<std::size_t>(state) * class_count_;
    if (state != 0) {  // a letter without a child goes where the longest proper suffix goes
      std::copy_n(table_.begin() + static_cast<std::ptrdiff_t>(fail * class_count_), class_count_,
                  table_.begin() + static_cast<std::ptrdiff_t>(row));
    }
    for (const auto& [symbol, target] : nodes_[state].children) {
      nodes_[target].fail = state == 0 ? 0 : next(fail, symbol);
      queue.push_back(target);
    }
    for (const auto& [symbol, target] : nodes_[state].children) {
      table_[row + symbol_class(symbol)] = target;
    }
    Node& node = nodes_[state];
    const Node& suffix = nodes_[fail];
    // A shorter marker may end within a longer one that has not ended yet.
    if (!node.has_match && suffix.has_match) {
      node.has_match = true;
      node.marker = suffix.marker;
      node.match_length = suffix.match_length;
    }
    node.stops = stops_of(node, state == 0) | suffix.stops;
  }
}

}  // namespace unspool
