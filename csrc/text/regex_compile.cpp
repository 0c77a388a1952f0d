// Compiles patterns in the syntax of Python's `regex` into steps.
//
// A recursive reader makes a tree, and a writer its steps. What an automaton without a stack cannot
// do is refused with its name, and so is whatever would cost more than linear time.
//
//   a|b          split L1, L2   L1: a, jump L3   L2: b   L3:
//   a*           L1: split L2, L3   L2: a, jump L1   L3:
//   a*?          the same, with the branches of the split exchanged
//   a{2,3}       a a split L1, L2   L1: a   L2:
//   (?P<x>a)     save 0, a, save 1
//
// A pattern comes from a checkpoint's files, so its size is bounded everywhere: its text, its
// depth, its steps, and the parts that repetitions write out.
#include <algorithm>
#include <optional>
#include <utility>

#include "text/code_point.h"
#include "text/error.h"
#include "text/regex.h"
#include "text/utf8.h"

namespace unspool {

namespace {

using Op = RegexStep::Op;

constexpr std::size_t kMaxPattern = 65'536;  // bytes
constexpr std::size_t kMaxSteps = 20'000;
// Of all look-aheads: in the worst case each character costs the square of it.
constexpr std::size_t kMaxLookSteps = 1'000;
constexpr std::size_t kMaxWrites = 1'000'000;  // of parts of a pattern, including empty ones
constexpr std::size_t kMaxGroups = 64;
constexpr int kMaxDepth = 100;
constexpr std::uint32_t kMaxRepeat = 1'000;
constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

struct Node {
  enum class Kind : std::uint8_t { step, sequence, choice, repeat, group };
  Kind kind = Kind::sequence;
  RegexStep step = {Op::any};
  std::vector<Node> children = {};
  std::uint32_t min = 0;  // of repeat
  std::uint32_t max = 0;
  bool is_lazy = false;
  std::uint32_t slot = 0;  // of group
};

class RegexReader {
 public:
  RegexReader(std::string_view pattern, RegexProgram& program, std::vector<std::string>& groups)
      : pattern_(pattern), program_(program), groups_(groups) {}

  Node read() {
    Node node = read_choice();
    if (!at_end()) fail("an unbalanced )");
    return node;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw FormatError("pattern '" + std::string(pattern_) + "': " + what + " at " +
                      std::to_string(at_));
  }
  [[noreturn]] void refuse(const std::string& what) const {
    fail(what + " would not run in linear time, or is not supported; found");
  }

  bool at_end() const { return at_ >= pattern_.size(); }
  char peek() const { return at_end() ? '\0' : pattern_[at_]; }
  bool take(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  char32_t next() {
    if (at_end()) fail("the pattern ends too early");
    const CodePoint point = first_code_point(pattern_.substr(at_));
    at_ += point.size;
    return point.value;
  }

  static Node leaf(Op op, std::uint32_t x = 0, std::uint32_t y = 0) {
    Node node;
    node.kind = Node::Kind::step;
    node.step = {op, x, y};
    return node;
  }
  Node leaf(CharClass set) {
    set.compile();
    program_.classes.push_back(std::move(set));
    return leaf(Op::one_of, static_cast<std::uint32_t>(program_.classes.size() - 1));
  }

  Node read_choice() {
    // The reader recurses, and the text may be hostile.
    if (++depth_ > kMaxDepth) fail("groups are nested too deep");
    Node choice;
    choice.kind = Node::Kind::choice;
    do {
      choice.children.push_back(read_sequence());
    } while (take("|"));
    --depth_;
    // One alternative is no choice, and needs no split.
    if (choice.children.size() > 1) return choice;
    return std::move(choice.children.front());
  }

  Node read_sequence() {
    Node sequence;
    while (!at_end() && peek() != '|' && peek() != ')') {
      std::optional<Node> item = read_item();
      if (item) sequence.children.push_back(read_repeat(std::move(*item)));
    }
    return sequence;
  }

  std::optional<Node> read_item() {
    if (take("(")) return read_group();
    if (take("[")) return read_class();
    if (take("\\")) return read_escape();
    if (take(".")) return leaf(Op::any);
    if (take("^")) return leaf(Op::begin);
    if (take("$")) return leaf(Op::line_end);
    // `regex` raises too. A brace is a letter unless it is a repetition.
    if (peek() == '*' || peek() == '+' || peek() == '?') fail("nothing to repeat");
    return leaf(Op::character, next());
  }

  void close_group() {
    if (!take(")")) fail("a missing )");
  }

  Node read_plain_group() {
    Node node = read_choice();
    close_group();
    return node;
  }

  std::optional<Node> read_group() {
    if (!take("?") || take(":")) return read_plain_group();
    if (take("#")) {
      while (!at_end() && peek() != ')') ++at_;
      close_group();
      return std::nullopt;
    }
    if (take("=")) return read_look(false);
    if (take("!")) return read_look(true);
    // Before `<name>`, since a look-behind begins with `<` as well.
    refuse_groups();
    if (take("P<") || take("<")) return read_named();
    if (take("s)")) return std::nullopt;  // . is any character anyway
    if (take("s:")) return read_plain_group();
    refuse("this kind of group, or a flag,");
  }

  // Groups that automata without a stack cannot implement.
  void refuse_groups() {
    static constexpr std::pair<std::string_view, const char*> kRefused[] = {
        {"<=", "look-behind"},      {"<!", "look-behind"},        {">", "an atomic group"},
        {"P=", "a back-reference"}, {"P>", "recursion"},          {"R", "recursion"},
        {"&", "recursion"},         {"(", "a conditional group"}, {"|", "a branch reset"}};
    for (const auto& [opener, what] : kRefused) {
      if (take(opener)) refuse(what);
    }
    if (peek() == '+' || is_digit(static_cast<unsigned char>(peek()))) refuse("recursion");
  }

  Node read_named() {
    // A look-ahead runs over all positions at once and knows no position of its own groups.
    if (in_look_) refuse("a named group inside a look-ahead");
    std::string name;
    while (!at_end() && peek() != '>') append_utf8(next(), name);
    if (!take(">") || name.empty()) fail("a group without a name");
    // `regex` allows one name for several groups: they share their slots.
    auto it = std::find(groups_.begin(), groups_.end(), name);
    if (it == groups_.end()) {
      if (groups_.size() == kMaxGroups) fail("more than 64 named groups");
      it = groups_.insert(groups_.end(), name);
    }
    Node node;
    node.kind = Node::Kind::group;
    node.slot = static_cast<std::uint32_t>(2 * (it - groups_.begin()));
    node.children.push_back(read_choice());
    close_group();
    return node;
  }

  Node read_look(bool is_negative);

  std::optional<std::pair<std::uint32_t, std::uint32_t>> read_bounds() {
    const std::size_t begin = at_;
    const auto number = [&](std::uint32_t none) {
      std::uint64_t value = 0;
      const std::size_t from = at_;
      while (!at_end() && peek() >= '0' && peek() <= '9') {
        // Digits without end must not overflow.
        value = std::min<std::uint64_t>(value * 10 + static_cast<std::uint64_t>(peek() - '0'),
                                        kMaxRepeat + 1);
        ++at_;
      }
      return at_ == from ? none : static_cast<std::uint32_t>(value);
    };
    take("{");
    const std::size_t digits = at_;
    const std::uint32_t min = number(0);
    std::uint32_t max = min;
    bool is_valid = at_ != digits;
    if (take(",")) {
      is_valid = true;
      max = number(kNoLimit);
    }
    if (is_valid && take("}")) {
      if (min > kMaxRepeat || (max != kNoLimit && max > kMaxRepeat))
        fail("more than 1,000 repetitions");
      if (min > max) fail("a repetition whose minimum is above its maximum");
      return std::pair{min, max};
    }
    // No repetition, so the brace is a letter: `{"name"`, as templates write it.
    at_ = begin;
    const std::string_view rest = pattern_.substr(at_);
    if (rest.size() > 2 && std::string_view("eisd").find(rest[1]) != std::string_view::npos &&
        std::string_view("<=,}:").find(rest[2]) != std::string_view::npos) {
      refuse("fuzzy matching");
    }
    return std::nullopt;
  }

  Node read_repeat(Node item) {
    std::uint32_t min = 0;
    std::uint32_t max = kNoLimit;
    if (take("*")) {
    } else if (take("+")) {
      min = 1;
    } else if (take("?")) {
      max = 1;
    } else if (peek() == '{') {
      const auto bounds = read_bounds();
      if (!bounds) return item;
      std::tie(min, max) = *bounds;
    } else {
      return item;
    }
    Node node;
    node.kind = Node::Kind::repeat;
    node.min = min;
    node.max = max;
    node.is_lazy = take("?");
    if (!node.is_lazy && peek() == '+') refuse("a possessive quantifier");
    if (peek() == '*' || peek() == '+' || peek() == '?') fail("multiple repeat");
    // Only looked at: a brace that is no repetition may follow a quantifier.
    const std::size_t here = at_;
    if (peek() == '{' && read_bounds()) {
      at_ = here;
      fail("multiple repeat");
    }
    node.children.push_back(std::move(item));
    return node;
  }

  char32_t read_hex(std::size_t digits) {
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const char c = peek();
      const bool is_hex =
          (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      if (!is_hex) fail("a broken escape");
      value = value * 16 + static_cast<char32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
      ++at_;
    }
    if (value > 0x10FFFF) fail("a broken escape");
    return value;
  }

  // An escape for one character, inside or outside a class.
  char32_t read_character(char32_t letter) {
    constexpr std::string_view kLetters = "ntrfva0";
    constexpr std::string_view kMeanings("\n\t\r\f\v\a\0", 7);
    if (letter == 'x') return read_hex(2);
    if (letter == 'u') return read_hex(4);
    if (letter == 'U') return read_hex(8);
    // Only letters of ASCII have meanings as escapes.
    if (letter >= 0x80) return letter;
    const char byte = static_cast<char>(letter);
    if (const std::size_t at = kLetters.find(byte); at != std::string_view::npos)
      return static_cast<char32_t>(kMeanings[at]);
    if (byte >= '1' && byte <= '9') refuse("a back-reference");
    if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'))
      refuse("the escape \\" + std::string(1, byte));
    return letter;
  }

  static std::optional<std::pair<CharClass::Kind, bool>> kind_of(char32_t letter) {
    switch (letter) {
      case 'w': return std::pair{CharClass::Kind::word, false};
      case 'W': return std::pair{CharClass::Kind::word, true};
      case 'd': return std::pair{CharClass::Kind::digit, false};
      case 'D': return std::pair{CharClass::Kind::digit, true};
      case 's': return std::pair{CharClass::Kind::space, false};
      case 'S': return std::pair{CharClass::Kind::space, true};
      default: return std::nullopt;
    }
  }

  Node read_escape() {
    const char32_t letter = next();
    if (const auto kind = kind_of(letter)) {
      CharClass set;
      set.add(kind->first, kind->second);
      return leaf(std::move(set));
    }
    switch (letter) {
      case 'A': return leaf(Op::begin);
      case 'Z':
      case 'z': return leaf(Op::end);
      case 'b': return leaf(Op::boundary, 0);
      case 'B': return leaf(Op::boundary, 1);
      case 'g': refuse("a back-reference");
      default: return leaf(Op::character, read_character(letter));
    }
  }

  Node read_class() {
    CharClass set;
    if (take("^")) set.negate();
    // `[]a]` contains the bracket: as the first item it closes nothing.
    for (bool is_first = true; is_first || peek() != ']'; is_first = false) {
      if (at_end()) fail("a missing ]");
      if (pattern_.substr(at_).starts_with("[:")) refuse("a POSIX class");
      const std::optional<char32_t> first = read_class_item(set);
      if (!first) continue;
      // A hyphen at the end is a letter.
      const bool is_range = peek() == '-' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']';
      if (!is_range) {
        set.add(*first, *first);
        continue;
      }
      ++at_;
      const std::optional<char32_t> last = read_class_item(set);
      if (!last || *last < *first) fail("a broken range");
      set.add(*first, *last);
    }
    take("]");
    return leaf(std::move(set));
  }

  std::optional<char32_t> read_class_item(CharClass& set) {
    if (!take("\\")) return next();
    const char32_t letter = next();
    if (const auto kind = kind_of(letter)) {
      set.add(kind->first, kind->second);
      return std::nullopt;
    }
    return letter == 'b' ? U'\b' : read_character(letter);
  }

  std::string_view pattern_;
  RegexProgram& program_;
  std::vector<std::string>& groups_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool in_look_ = false;
  std::size_t look_steps_ = 0;
};

class Writer {
 public:
  explicit Writer(RegexProgram& program, std::size_t max_steps = kMaxSteps)
      : program_(program), max_steps_(max_steps) {}

  /// Throws FormatError if the pattern would become too large.
  void finish(const Node& node) {
    write(node);
    // One match step, at the end: every way through the pattern leads there.
    put({Op::match});
    find_first();
  }

 private:
  std::uint32_t here() const { return static_cast<std::uint32_t>(program_.steps.size()); }
  std::uint32_t put(RegexStep step) {
    if (program_.steps.size() >= max_steps_) {
      throw FormatError(
          "a pattern is too large: with its repetitions written out, it has more than " +
          std::to_string(kMaxSteps) + " steps, or " + std::to_string(kMaxLookSteps) +
          " in its look-aheads");
    }
    if (step.op == Op::end || step.op == Op::line_end || step.op == Op::boundary)
      program_.peeks = true;
    program_.steps.push_back(step);
    return here() - 1;
  }
  RegexStep& at(std::uint32_t index) { return program_.steps[index]; }

  // A branch into the following steps and one past them; laziness decides which is tried first.
  std::uint32_t put_split() { return put({Op::split}); }
  void set_split(std::uint32_t split, std::uint32_t in, std::uint32_t past, bool is_lazy) {
    at(split).x = is_lazy ? past : in;
    at(split).y = is_lazy ? in : past;
  }

  void write(const Node& node) {
    if (++writes_ > kMaxWrites) {
      throw FormatError("a pattern is too large: its repetitions have more than " +
                        std::to_string(kMaxWrites) + " parts");
    }
    switch (node.kind) {
      case Node::Kind::step: put(node.step); break;
      case Node::Kind::sequence:
        for (const Node& child : node.children) write(child);
        break;
      case Node::Kind::group:
        put({Op::save, node.slot});
        write(node.children.front());
        put({Op::save, node.slot + 1});
        break;
      case Node::Kind::choice: write_choice(node); break;
      case Node::Kind::repeat: write_repeat(node); break;
    }
  }

  void write_choice(const Node& node) {
    std::vector<std::uint32_t> jumps;
    for (std::size_t i = 0; i + 1 < node.children.size(); ++i) {
      // Written before its targets are known, and filled in after them.
      const std::uint32_t split = put_split();
      write(node.children[i]);
      jumps.push_back(put({Op::jump}));
      set_split(split, split + 1, here(), false);
    }
    write(node.children.back());
    for (const std::uint32_t jump : jumps) at(jump).x = here();
  }

  void write_repeat(const Node& node) {
    const Node& item = node.children.front();
    // Repetitions are written out. So their number is bounded, and a pattern has no counters.
    for (std::uint32_t i = 0; i < node.min; ++i) write(item);
    if (node.max == kNoLimit) {
      const std::uint32_t split = put_split();
      write(item);
      put({Op::jump, split});
      set_split(split, split + 1, here(), node.is_lazy);
      return;
    }
    std::vector<std::uint32_t> splits;
    for (std::uint32_t i = node.min; i < node.max; ++i) {
      splits.push_back(put_split());
      write(item);
    }
    for (const std::uint32_t split : splits) set_split(split, split + 1, here(), node.is_lazy);
  }

  // The bytes that a match may begin with, unless a match can be empty.
  void find_first() {
    std::vector<bool> visited(program_.steps.size());
    std::vector<std::uint32_t> open = {0};
    while (!open.empty()) {
      const std::uint32_t index = open.back();
      open.pop_back();
      if (visited[index]) continue;
      visited[index] = true;
      const RegexStep& step = at(index);
      switch (step.op) {
        // A match may be empty, so it may begin with any byte, or none.
        case Op::match: return;
        case Op::any: program_.first.set(); break;
        case Op::character: {
          std::string text;
          append_utf8(step.x, text);
          program_.first.set(static_cast<unsigned char>(text[0]));
          break;
        }
        case Op::one_of:
          for (std::uint32_t byte = 0; byte < 256; ++byte) {
            // The first byte of a longer character says little about the class; all of them are let
            // through.
            if (byte >= 0xC2 || (byte < 0x80 && program_.classes[step.x].has(byte)))
              program_.first.set(byte);
          }
          break;
        case Op::split:
          open.push_back(step.x);
          open.push_back(step.y);
          break;
        case Op::jump: open.push_back(step.x); break;
        // A condition may hold, so what follows it may be first.
        default: open.push_back(index + 1);
      }
    }
    program_.has_first = true;
  }

  RegexProgram& program_;
  std::size_t max_steps_;
  std::size_t writes_ = 0;
};

Node RegexReader::read_look(bool is_negative) {
  if (in_look_) refuse("a look-ahead inside a look-ahead");
  RegexProgram ahead;
  RegexReader reader(pattern_, ahead, groups_);
  reader.at_ = at_;
  reader.in_look_ = true;
  // The depth counts on: a look-ahead is one more level.
  reader.depth_ = depth_;
  const Node node = reader.read_choice();
  at_ = reader.at_;
  if (!take(")")) fail("a missing )");
  Writer(ahead, kMaxLookSteps - look_steps_).finish(node);
  look_steps_ += ahead.steps.size();
  program_.looks.push_back(std::move(ahead));
  return leaf(Op::look, static_cast<std::uint32_t>(program_.looks.size() - 1), is_negative);
}

}  // namespace

void CharClass::add(char32_t first, char32_t last) { ranges_.push_back({first, last}); }

void CharClass::add(Kind kind, bool negated) { kinds_.emplace_back(kind, negated); }

bool CharClass::find(char32_t value) const {
  const auto is_in = [&](const auto& item) {
    switch (item.first) {
      case Kind::word: return is_word(value) != item.second;
      case Kind::digit: return is_digit(value) != item.second;
      case Kind::space: return is_pattern_space(value) != item.second;
    }
    return false;
  };
  // A class has few items, so they are searched one by one; ASCII has a table.
  const bool is_found =
      std::any_of(ranges_.begin(), ranges_.end(),
                  [&](const Range& r) { return value >= r.first && value <= r.last; }) ||
      std::any_of(kinds_.begin(), kinds_.end(), is_in);
  return is_found != is_negated_;
}

void CharClass::compile() {
  for (char32_t value = 0; value < 128; ++value) ascii_[value] = find(value);
}

std::shared_ptr<const Regex> Regex::compile(std::string_view pattern) {
  if (pattern.size() > kMaxPattern) {
    throw FormatError("a pattern has " + std::to_string(pattern.size()) + " bytes; at most " +
                      std::to_string(kMaxPattern) + " are read");
  }
  auto regex = std::make_shared<Regex>();
  const Node node = RegexReader(pattern, regex->program_, regex->groups_).read();
  regex->program_.slot_count = static_cast<std::uint32_t>(2 * regex->groups_.size());
  Writer(regex->program_).finish(node);
  return regex;
}

std::shared_ptr<const Regex> Regex::literals(const std::vector<std::string>& texts) {
  // By length in characters; equal lengths keep their order.
  std::vector<std::pair<std::ptrdiff_t, std::size_t>> order;
  for (const std::string& text : texts) {
    const auto length =
        std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
    // The longest one first: alternatives are tried in order, and the longest match is wanted.
    order.emplace_back(-length, order.size());
  }
  std::sort(order.begin(), order.end());
  auto regex = std::make_shared<Regex>();
  Node choice;
  choice.kind = Node::Kind::choice;
  for (const auto& [length, index] : order) {
    Node& sequence = choice.children.emplace_back();
    for (std::string_view rest = texts[index]; !rest.empty();) {
      const CodePoint point = first_code_point(rest);
      Node& node = sequence.children.emplace_back();
      node.kind = Node::Kind::step;
      node.step = {Op::character, static_cast<std::uint32_t>(point.value)};
      rest.remove_prefix(point.size);
    }
  }
  Writer(regex->program_).finish(choice);
  return regex;
}

int Regex::group(std::string_view name) const {
  const auto it = std::find(groups_.begin(), groups_.end(), name);
  return it == groups_.end() ? -1 : static_cast<int>(it - groups_.begin());
}

}  // namespace unspool
