// Common parts of the readers for arguments between tags: output, and how they end or fail.
#pragma once

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "body/body.h"
#include "text/archive.h"
#include "text/letters.h"

namespace unspool {

class TagBody : public Body {
 public:
  void link(CallMarks* marks) override { marks_ = marks; }
  std::uint16_t repairs() const override { return repairs_; }
  const char* problem() const override { return problem_; }

  void visit(Archive& archive) override {
    archive.given(markers_, tools_, mends_, marks_);
    archive.pointer(schema_);
    const std::array sets = {&markers_.header, &markers_.parameter, &markers_.key, &markers_.value,
                             &markers_.element};
    cursor_.visit(archive, sets);
    // Set at the beginning of every put; what the end of the input marks has its place in the last.
    if (marks_ == nullptr) {
      archive.scratch(read_);
    } else {
      archive(read_);
      archive.expect(CallMarks::is_place(read_));
    }
    archive(given_, is_doubled_, out_, aside_, closer_, closed_section_, unread_, repairs_);
    archive.literal(problem_);
  }

 protected:
  TagBody(const CallMarkers& markers, const BodyOptions& options)
      : markers_(markers),
        schema_(options.schema),
        tools_(options.tools),
        mends_(options.repairs),
        marks_(options.marks) {}

  /// Reads a run of text that changes no state, or a token; returns how many bytes.
  virtual std::size_t read_some(const Letter& run) = 0;
  virtual bool is_done() const = 0;
  bool has_failed() const { return *problem_ != '\0'; }

  /// Reads text that turned out to mean something else. What is left at the call's end stays
  /// unread.
  void read_again(const Letters& letters) {
    std::size_t i = 0;
    read_ -= static_cast<std::int64_t>(letters.size());
    while (i < letters.size() && !is_done() && !has_failed()) i += read_some(letters.at(i));
    read_ += static_cast<std::int64_t>(letters.size() - i);
    unread_.put(letters.from(i));
  }

  BodyResult finish_put(std::size_t consumed, bool is_done, CallSink& sink) {
    sink.put_written(out_);
    if (has_failed()) {
      return {consumed, ScanStatus::failed, {}, false, unread_.text(), &unread_};
    }
    if (!is_done) return {consumed, ScanStatus::more};
    sink.end_call();
    return {consumed, ScanStatus::done, closer_, closed_section_, unread_.text(), &unread_};
  }

  /// Records that a parameter is given; false if it was given before and repairs are off.
  bool take_name(const std::string& name) {
    is_doubled_ = !given_.insert(name).second;
    if (is_doubled_ && mends_) repairs_ |= kDuplicateKey;
    return !is_doubled_ || mends_;
  }

  /// Whether parameters are given, with all that the tool requires: only closers are missing then.
  bool has_required() const {
    return !given_.empty() && schema_ != nullptr &&
           std::all_of(schema_->required.begin(), schema_->required.end(),
                       [this](const std::string& name) { return given_.count(name) > 0; });
  }

  /// `size` bytes of this put have been read.
  void pass(std::size_t size) { read_ += static_cast<std::int64_t>(size); }
  /// The part begins or ends `behind` bytes before the next byte.
  void mark(CallMark::Kind kind, std::size_t behind) {
    if (marks_ != nullptr) marks_->add(kind, read_ - static_cast<std::int64_t>(behind));
  }
  /// The key is in `text`, which was read last; its value begins `behind` bytes before the next
  /// byte.
  void mark_parameter(std::string_view key, std::string_view text, ValueTrim trim,
                      std::size_t behind = 0) {
    if (marks_ == nullptr) return;
    if (const std::size_t begin = text.find(key); begin != std::string_view::npos && !key.empty()) {
      mark(CallMark::Kind::arguments, text.size() - begin);
      mark(CallMark::Kind::arguments_end, text.size() - begin - key.size());
    }
    marks_->add_parameter(key, trim, read_ - static_cast<std::int64_t>(behind));
  }

  void mark_parameter_end(ValueTrim trim, std::size_t behind) {
    if (marks_ == nullptr) return;
    marks_->add_parameter_end(trim, read_ - static_cast<std::int64_t>(behind));
  }

  /// Looks for a marker in a run of text or a token; `release` receives text that is not part of
  /// one.
  template <typename Release>
  MarkerCursor::Found find_marker(const Letter& letter, Release&& release) {
    const MarkerCursor::Found match = letter.symbol != 0
                                          ? cursor_.put_token(letter.symbol, letter.text, release)
                                          : cursor_.put(letter.text, release);
    if (match.marker != nullptr && match.marker->is_slip) repairs_ |= kMarkup;
    return match;
  }

  const CallMarkers& markers_;
  const ToolSchema* schema_;
  const ToolSchemas* tools_;
  bool mends_;
  LocalPtr<CallMarks> marks_;
  std::int64_t read_ = 0;  // of this put; negative while earlier text is read again
  MarkerCursor cursor_;
  std::set<std::string, std::less<>> given_;  // names of parameters
  bool is_doubled_ = false;                   // the open parameter is a duplicate, and is dropped
  std::string out_;
  std::string aside_;            // a value that is dropped or not written yet
  std::string closer_;           // the tag that ended the call
  bool closed_section_ = false;  // the tag was the section's closer
  Letters unread_;
  std::uint16_t repairs_ = 0;
  const char* problem_ = "";
};

}  // namespace unspool
