// Patterns in linear time, over text that arrives in pieces: threads in order of priority.
//
// Finds the match of Python's `regex` on the whole text: the leftmost one and, of those, the one of
// the first alternatives. A match is decided once no thread of higher priority is left, so it does
// not depend on how the text is split.
// `.` is any character; there are no flags.
#pragma once

#include <bitset>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/archive.h"

namespace unspool {

/// A set of code points, as in `[...]` and `\w`.
class CharClass {
 public:
  enum class Kind : std::uint8_t { word, digit, space };

  void add(char32_t first, char32_t last);
  void add(Kind kind, bool negated);
  void negate() { is_negated_ = true; }
  /// Builds the table; nothing can be added afterwards.
  void compile();

  bool has(char32_t value) const { return value < 0x80 ? ascii_[value] : find(value); }

 private:
  struct Range {
    char32_t first;
    char32_t last;
  };
  bool find(char32_t value) const;

  std::vector<Range> ranges_;
  std::vector<std::pair<Kind, bool>> kinds_;  // and whether it is negated
  bool is_negated_ = false;
  std::bitset<128> ascii_;
};

/// One step of a compiled pattern.
struct RegexStep {
  enum class Op : std::uint8_t {
    character,  // x: the code point
    any,
    one_of,    // x: index of the class
    split,     // x first, then y
    jump,      // x
    save,      // x: the slot
    begin,     // \A ^
    end,       // \Z
    line_end,  // $: the end, or the line break before it
    boundary,  // \b; x is 1: \B
    look,      // x: index of the lookahead pattern; y is 1: negative
    match,
  };
  Op op;
  std::uint32_t x = 0;
  std::uint32_t y = 0;
};

struct RegexProgram {
  std::vector<RegexStep> steps;
  std::vector<CharClass> classes;
  std::vector<RegexProgram> looks;
  std::uint32_t slot_count = 0;
  bool peeks = false;      // some step depends on what follows
  bool has_first = false;  // `first` is the set of bytes that a match can begin with
  std::bitset<256> first;  // bytes
};

class Regex {
 public:
  /// Throws FormatError if the pattern is invalid or cannot run in linear time.
  static std::shared_ptr<const Regex> compile(std::string_view pattern);

  /// One of several literals; the longest match wins.
  static std::shared_ptr<const Regex> literals(const std::vector<std::string>& texts);

  const RegexProgram& program() const { return program_; }
  /// Named groups; group i has the slots 2 i and 2 i + 1.
  const std::vector<std::string>& groups() const { return groups_; }
  int group(std::string_view name) const;

 private:
  RegexProgram program_;
  std::vector<std::string> groups_;
};

inline constexpr std::uint64_t kNoPlace = std::numeric_limits<std::uint64_t>::max();

/// The known part of a text, and whether the text ends there.
struct TextWindow {
  std::string_view text;
  std::uint64_t begin = 0;  // position of its first byte
  bool is_end = false;

  std::uint64_t end() const { return begin + text.size(); }
  std::string_view from(std::uint64_t place) const { return text.substr(place - begin); }
};

struct RegexMatch {
  std::uint64_t begin = kNoPlace;
  std::uint64_t end = 0;
  std::vector<std::uint64_t> slots;  // kNoPlace: the group did not participate

  void visit(Archive& archive) { archive(begin, end, slots); }
};

/// What is known about a position.
enum class Truth : std::uint8_t { no, yes, unknown };

/// Where a lookahead pattern matches: all positions in one pass.
class LookAhead {
 public:
  LookAhead(const RegexProgram& program, std::uint64_t begin, char32_t before);
  void advance(const TextWindow& window);
  Truth at(std::uint64_t place);
  /// Forgets the positions before `place`; `before` is the code point before it.
  void drop_before(std::uint64_t place, char32_t before);

  void visit(Archive& archive);

 private:
  struct Run {
    std::vector<std::uint32_t> steps;  // sorted
    std::uint64_t place;               // the newest position with the same result

    void visit(Archive& archive) { archive(steps, place); }
  };
  struct Entry {
    std::uint64_t place;  // the position with the same result; its own: a root
    Truth fate = Truth::unknown;

    void visit(Archive& archive) {
      archive(place);
      archive.choice(fate, Truth::unknown);
    }
  };
  Entry& root(std::uint64_t place);
  bool follow(Run& run, const TextWindow& window);
  void keep(Run run, std::vector<Run>& kept);
  void settle(const TextWindow& window);
  void step(char32_t value);

  const RegexProgram* program_;
  std::uint64_t next_;   // position of the next code point to read
  std::uint64_t first_;  // position of entries_[dropped_]
  std::size_t dropped_ = 0;
  std::vector<Entry> entries_;  // one per byte
  std::vector<Run> runs_;
  std::vector<std::uint32_t> stack_;
  bool is_settled_ = false;
  char32_t before_;
  std::vector<std::uint32_t> marks_;
  std::uint32_t mark_ = 0;
};

/// Searches for the first match from a position on.
class RegexSearch {
 public:
  RegexSearch(std::shared_ptr<const Regex> regex, std::uint64_t begin, char32_t before,
              bool forbids_empty);

  /// Reads the part of the window that was not read before.
  void advance(const TextWindow& window);

  bool is_decided() const { return is_decided_; }
  /// The match, once it is decided; none if its `begin` is kNoPlace.
  const RegexMatch& match() const { return best_; }
  /// No match begins before this position, now or later.
  std::uint64_t earliest() const;

  void visit(Archive& archive);

 private:
  struct Thread {
    std::uint32_t step;
    std::uint64_t begin;

    void visit(Archive& archive) { archive(step, begin); }
  };
  struct Threads {
    std::vector<Thread> list;
    std::vector<std::uint64_t> slots;
    void clear() {
      list.clear();
      slots.clear();
    }

    void visit(Archive& archive) { archive(list, slots); }
  };

  void begin_list();
  bool add(std::uint32_t step, std::uint64_t begin, const TextWindow& window, Threads& into);
  bool resolve(const TextWindow& window);
  Truth check(const RegexStep& step, const TextWindow& window);
  void follow(std::size_t size, const TextWindow& window);
  void skip(const TextWindow& window);

  std::shared_ptr<const Regex> regex_;
  const RegexProgram* program_;
  std::uint64_t place_;
  std::uint64_t forbidden_;  // no empty match at this position
  char32_t before_;
  bool is_seeded_ = false;
  bool has_pending_ = false;
  bool is_decided_ = false;
  Threads now_;
  Threads next_;
  std::vector<std::uint64_t> slots_;  // of the current thread
  std::vector<std::pair<std::uint32_t, std::uint64_t>> stack_;
  std::vector<std::uint32_t> marks_;
  std::uint32_t mark_ = 0;
  RegexMatch best_;
  std::vector<LookAhead> looks_;
};

}  // namespace unspool
