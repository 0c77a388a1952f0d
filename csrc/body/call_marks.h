// The positions of a call's parts in its text, as reported by its readers; only for labels.
//
//   {"name": "f", "arguments": {"a": 1}}    marks at the bytes of
//             name, name_end                 f
//             arguments … arguments_end      {"a": 1}
//             key, key_end, value, value_end within it
//
// A mark's place counts from the call's first byte. A body knows only its put, and may learn of a
// part when its first bytes are in an earlier put, so a place may be given as negative.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "body/value_reader.h"
#include "format/program.h"
#include "text/archive.h"
#include "text/local_ptr.h"

namespace unspool {

struct CallMark {
  enum class Kind : std::uint8_t {
    name,
    name_end,
    arguments,  // the following bytes write arguments, up to `arguments_end`
    arguments_end,
    key,      // a member's key
    key_end,  // the text since `key` is the key of the next value
    value,    // a value, or a container: its values follow
    value_end,
    comma,      // between two elements of a container
    parameter,  // a value outside any container; `text`: its key
    parameter_end,
  };
  Kind kind;
  std::uint64_t at = 0;              // how many bytes of the call's text precede it
  bool is_list = false;              // of value
  ValueTrim trim = ValueTrim::none;  // of parameter and parameter_end
  std::string text = {};             // of parameter

  void visit(Archive& archive) {
    archive.choice(kind, Kind::parameter_end);
    archive.choice(trim, ValueTrim::space);
    archive(at, is_list, text);
  }
};

/// The marks of one call, or of one list of calls, in the order of the text.
class CallMarks {
 public:
  using Kind = CallMark::Kind;

  void clear() {
    marks_.clear();
    passed_ = 0;
  }

  /// A reader receives text whose first byte has this position in the call's text.
  void begin_put(std::uint64_t place) { place_ = place; }

  /// `at`: position in the text of this put; negative: in the text before it.
  void add(Kind kind, std::int64_t at, bool is_list = false) {
    add(CallMark{kind, to_place(at), is_list});
  }
  void add_parameter(std::string_view key, ValueTrim trim, std::int64_t at) {
    add(CallMark{Kind::parameter, to_place(at), false, trim, std::string(key)});
  }
  void add_parameter_end(ValueTrim trim, std::int64_t at) {
    add(CallMark{Kind::parameter_end, to_place(at), false, trim});
  }

  const CallMark* next() const { return passed_ < marks_.size() ? &marks_[passed_] : nullptr; }
  void pop() {
    if (++passed_ < kMaxPassed) return;
    marks_.erase(marks_.begin(), marks_.begin() + static_cast<std::ptrdiff_t>(passed_));
    passed_ = 0;
  }

  void visit(Archive& archive) {
    archive(marks_, passed_, place_);
    archive.expect(passed_ <= marks_.size() && place_ <= kMaxPlace);
  }

  /// Whether a place within a put can be added to any place: of a forged state it may not be so.
  static bool is_place(std::int64_t at) {
    const auto most = static_cast<std::int64_t>(kMaxPlace);
    return -most <= at && at <= most;
  }

 private:
  static constexpr std::size_t kMaxPassed = 64;  // older ones are forgotten
  static constexpr std::uint64_t kMaxPlace = std::uint64_t{1} << 60;

  std::uint64_t to_place(std::int64_t at) const {
    const std::int64_t place = static_cast<std::int64_t>(place_) + at;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(place, 0));
  }
  void add(CallMark mark) {
    // A mark in text before this put may come late; the labels need them in order.
    if (!marks_.empty()) mark.at = std::max(mark.at, marks_.back().at);
    marks_.push_back(std::move(mark));
  }

  std::vector<CallMark> marks_;
  std::size_t passed_ = 0;  // of them
  std::uint64_t place_ = 0;
};

/// Marks the members of objects and the elements of lists that a value reader reads.
// The reader's text is not always the put's: a body may skip white space, or decode an escape. So
// each position goes through `to_place`.
class ValueMarks final : public ValueListener {
 public:
  /// Call before the first use, also of a copy: connects it with the reader that it listens to.
  void link(CallMarks& marks, const ValueReader& reader) {
    marks_ = &marks;
    reader_ = &reader;
  }

  /// The reader's text begins `offset` bytes after the text of this put.
  void begin(std::int64_t offset) { begin(offset, kPlain, 0); }
  /// `size` bytes of the reader's text stand for `raw_size` bytes of the put: an escape.
  void begin(std::int64_t offset, std::size_t size, std::size_t raw_size) {
    offset_ = offset;
    size_ = size;
    raw_size_ = raw_size;
  }

  /// The reader omits the first bytes.
  void skip(std::size_t bytes) { offset_ += static_cast<std::int64_t>(bytes); }

  Answer on_value(std::size_t, char first, std::size_t at) override {
    const bool is_list = first == '[';
    const bool is_container = is_list || first == '{';
    marks_->add(CallMark::Kind::value, begin_of(at, !is_container), is_list);
    return Answer::proceed;
  }
  Answer on_value_end(std::size_t, std::size_t end) override {
    marks_->add(CallMark::Kind::value_end, to_place(end));
    return Answer::proceed;
  }
  Answer on_key(std::size_t, std::size_t at) override {
    marks_->add(CallMark::Kind::key, begin_of(at, true));
    return Answer::proceed;
  }
  Answer on_key_end(std::size_t, std::size_t at) override {
    marks_->add(CallMark::Kind::key_end, to_place(at));
    return Answer::proceed;
  }
  Answer on_comma(std::size_t, std::size_t at) override {
    marks_->add(CallMark::Kind::comma, to_place(at));
    return Answer::proceed;
  }

  void visit(Archive& archive) {
    archive.given(marks_, reader_);
    archive(offset_, size_, raw_size_);
  }

 private:
  static constexpr std::size_t kPlain = static_cast<std::size_t>(-1) / 2;

  std::int64_t to_place(std::size_t at) const {
    // A position before this text wraps to a large number.
    const bool is_end = at >= size_ && at < kPlain;
    return static_cast<std::int64_t>(is_end ? raw_size_ : at) + offset_;
  }
  // A bare word is reported at its end.
  std::int64_t begin_of(std::size_t at, bool may_be_word) const {
    // A bare word was held until its end, so the reported place is behind it.
    const std::size_t read = may_be_word ? reader_->word().size() : 0;
    return to_place(at) - static_cast<std::int64_t>(read);
  }

  LocalPtr<CallMarks> marks_;
  LocalPtr<const ValueReader> reader_;
  std::int64_t offset_ = 0;
  std::size_t size_ = kPlain;
  std::size_t raw_size_ = 0;
};

}  // namespace unspool
