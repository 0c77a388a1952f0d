// Rewrites a pattern for text/regex.h, which reads Python's `regex`. What differs is written out:
//
//   \d \w \s .     classes of ASCII, of ECMA's white space, and of all but line ends
//   ^ $            \A \Z: there are no flags
//   (?<name>a)     (?:a)
//   [] [^]         no character, any character
//   \u{1F600} \ud83d\ude00     one character
#include "format/schema_pattern.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/code_point.h"
#include "text/error.h"

namespace unspool {

namespace {

constexpr std::size_t kMaxSchemaPattern = 5'000;
constexpr std::uint32_t kLastCodePoint = 0x10FFFF;

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
using Ranges = std::vector<Range>;

const Ranges& digits() {
  static const Ranges ranges = {{'0', '9'}};
  return ranges;
}
const Ranges& word_characters() {
  static const Ranges ranges = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return ranges;
}
const Ranges& spaces() {
  static const Ranges ranges = {
      {9, 13},          {32, 32},         {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
      {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
  return ranges;
}
const Ranges& line_ends() {
  static const Ranges ranges = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
  return ranges;
}

// `sorted`: without overlaps.
Ranges all_but(const Ranges& sorted) {
  Ranges found;
  std::uint32_t next = 0;
  for (const Range& range : sorted) {
    if (range.first > next) found.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) found.push_back({next, kLastCodePoint});
  return found;
}

std::optional<Ranges> class_of(char letter) {
  switch (letter) {
    case 'd': return digits();
    case 'D': return all_but(digits());
    case 'w': return word_characters();
    case 'W': return all_but(word_characters());
    case 's': return spaces();
    case 'S': return all_but(spaces());
    default: return std::nullopt;
  }
}

class PatternRewriter {
 public:
  explicit PatternRewriter(std::string_view pattern) : pattern_(pattern) {}

  std::optional<std::string> rewrite() {
    while (!at_end() && !has_failed_) rewrite_item();
    return has_failed_ ? std::nullopt : std::optional(std::move(out_));
  }

 private:
  bool at_end() const { return at_ == pattern_.size(); }
  bool take(std::string_view text) {
    const bool is_next = pattern_.substr(at_).starts_with(text);
    if (is_next) at_ += text.size();
    return is_next;
  }
  void fail() { has_failed_ = true; }

  std::uint32_t next() {
    if (at_end()) {
      fail();
      return 0;
    }
    const CodePoint point = first_code_point(pattern_.substr(at_));
    at_ += point.size;
    return point.value;
  }

  void write(std::uint32_t value) {
    const bool is_surrogate = value >= 0xD800 && value < 0xE000;
    if (is_surrogate || value > kLastCodePoint) return fail();  // no text has it
    std::array<char, 11> text{};
    std::snprintf(text.data(), text.size(), "\\U%08X", value);
    out_ += text.data();
  }

  void write(const Ranges& ranges, bool is_negated) {
    if (ranges.empty()) return write({{0, kLastCodePoint}}, !is_negated);
    out_ += is_negated ? "[^" : "[";
    for (const Range& range : ranges) {
      write_end(range.first);
      out_ += '-';
      write_end(range.last);
    }
    out_ += ']';
  }

  // A range may end amid the surrogates, unlike a character.
  void write_end(std::uint32_t value) {
    std::array<char, 11> text{};
    std::snprintf(text.data(), text.size(), "\\U%08X", value);
    out_ += text.data();
  }

  void rewrite_item() {
    if (take("(")) return rewrite_group();
    if (take("[")) return rewrite_class();
    if (take("\\")) return rewrite_escape();
    if (take(".")) return write(line_ends(), true);
    if (take("^")) return void(out_ += "\\A");
    if (take("$")) return void(out_ += "\\Z");
    if (take("{")) return rewrite_bounds();
    const char byte = pattern_[at_];
    if (std::string_view(")|*+?").find(byte) == std::string_view::npos) return write(next());
    out_ += byte;
    ++at_;
  }

  void rewrite_group() {
    out_ += "(?:";
    if (!take("?") || take(":")) return;
    take("P");
    if (!take("<") || at_end() || pattern_[at_] == '=' || pattern_[at_] == '!') return fail();
    while (!at_end() && pattern_[at_] != '>') ++at_;
    if (!take(">")) fail();
  }

  // A brace that is no repetition is a letter.
  void rewrite_bounds() {
    std::size_t end = at_;
    const auto skip_digits = [&] {
      const std::size_t begin = end;
      while (end < pattern_.size() && pattern_[end] >= '0' && pattern_[end] <= '9') ++end;
      return end > begin;
    };
    bool is_bounds = skip_digits();
    if (is_bounds && end < pattern_.size() && pattern_[end] == ',') {
      ++end;
      skip_digits();
    }
    is_bounds = is_bounds && end < pattern_.size() && pattern_[end] == '}';
    if (!is_bounds) return write('{');
    out_.append("{").append(pattern_.substr(at_, end + 1 - at_));
    at_ = end + 1;
  }

  void rewrite_escape() {
    if (at_end()) return fail();
    if (const auto ranges = class_of(pattern_[at_])) {
      ++at_;
      return write(*ranges, false);
    }
    if (pattern_[at_] == 'b' || pattern_[at_] == 'B') return fail();
    write(read_character());
  }

  void rewrite_class() {
    const bool is_negated = take("^");
    Ranges found;
    while (!take("]")) {
      const Ranges first = read_class_item();
      if (has_failed_) return;
      const bool is_range = pattern_.substr(at_).starts_with("-") &&
                            !pattern_.substr(at_).starts_with("-]") && first.size() == 1 &&
                            first[0].first == first[0].last;
      if (!is_range) {
        found.insert(found.end(), first.begin(), first.end());
        continue;
      }
      ++at_;
      const Ranges last = read_class_item();
      if (has_failed_) return;
      if (last.size() != 1 || last[0].last < first[0].first) return fail();
      found.push_back({first[0].first, last[0].last});
    }
    write(found, is_negated);
  }

  Ranges read_class_item() {
    if (!take("\\")) {
      const std::uint32_t value = next();
      return {{value, value}};
    }
    if (at_end()) {
      fail();
      return {};
    }
    if (auto ranges = class_of(pattern_[at_])) {
      ++at_;
      return *std::move(ranges);
    }
    const std::uint32_t value = take("b") ? '\b' : read_character();
    return {{value, value}};
  }

  // After a backslash.
  std::uint32_t read_character() {
    constexpr std::string_view kLetters = "ntrfv0";
    constexpr std::string_view kMeanings("\n\t\r\f\v\0", 6);
    if (take("x")) return read_hex(2);
    if (take("u")) return read_unicode();
    const std::uint32_t value = next();
    const char byte = value < 0x80 ? static_cast<char>(value) : ' ';
    const std::size_t known = kLetters.find(byte);
    const bool is_octal = byte == '0' && !at_end() && pattern_[at_] >= '0' && pattern_[at_] <= '9';
    if (known != std::string_view::npos && !is_octal)
      return static_cast<unsigned char>(kMeanings[known]);
    const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    if (is_letter || (byte >= '0' && byte <= '9')) fail();
    return value;
  }

  std::uint32_t read_unicode() {
    if (take("{")) {
      const std::size_t end = pattern_.find('}', at_);
      const bool is_short = end != std::string_view::npos && end > at_ && end - at_ <= 8;
      const std::uint32_t value = is_short ? read_hex(end - at_) : 0;
      if (!is_short || !take("}")) fail();
      return value;
    }
    const std::uint32_t high = read_hex(4);
    if (high < 0xD800 || high >= 0xDC00 || !take("\\u")) return high;
    const std::uint32_t low = read_hex(4);
    if (low < 0xDC00 || low >= 0xE000) fail();
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
  }

  std::uint32_t read_hex(std::size_t size) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const char byte = at_end() ? ' ' : pattern_[at_];
      const char lower = static_cast<char>(byte | 0x20);
      const bool is_digit = byte >= '0' && byte <= '9';
      if (!is_digit && (lower < 'a' || lower > 'f')) {
        fail();
        return 0;
      }
      value = value * 16 + static_cast<std::uint32_t>(is_digit ? byte - '0' : lower - 'a' + 10);
      ++at_;
    }
    return value;
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  std::string out_;
  bool has_failed_ = false;
};

}  // namespace

std::shared_ptr<const Regex> compile_schema_pattern(std::string_view pattern) {
  if (pattern.size() > kMaxSchemaPattern) return nullptr;
  const std::optional<std::string> rewritten = PatternRewriter(pattern).rewrite();
  if (!rewritten) return nullptr;
  try {
    return Regex::compile(*rewritten);
  } catch (const FormatError&) {
    return nullptr;
  }
}

}  // namespace unspool
