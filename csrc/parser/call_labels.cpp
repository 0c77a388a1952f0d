// A call's text is split by marks, which the body's reader sets while it reads: here begins a key,
// here ends a value. The text comes later than its marks, because the end of a call may be held
// back, so the marks wait in a queue.
//
//   text    {"name": "f", "arguments": {"days": [1, 2]}}
//   part              ─  name          ────────────────   arguments
//   path                                         ─  ─     $.days[0], $.days[1]
#include "parser/call_labels.h"

#include <algorithm>

#include "text/json_value.h"
#include "text/white_space.h"

namespace unspool {

namespace {

// The key in this text: in quotes, in quotes within a string, or bare.
std::string key_of(std::string_view text) {
  text = trim(text);
  // Arguments as a string that holds JSON: the quotes of the key are escaped.
  if (text.starts_with("\\\"")) {
    if (const auto read = parse_json('"' + std::string(text) + '"')) return key_of(read->text);
  }
  if (!text.empty() && text[0] == '"') {
    if (const auto read = parse_json(std::string(text) + '"')) return read->text;
  }
  if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
    if (text.size() > 1 && text.back() == text[0]) text.remove_suffix(1);
    text.remove_prefix(1);
  }
  return std::string(text);
}

}  // namespace

void CallLabels::begin() {
  marks_.clear();
  place_ = 0;
  base_ = part_ = LabelPart::none;
  path_ = CallPaths::kRoot;
  frames_.clear();
  in_key_ = is_at_start_ = false;
  trim_ = ValueTrim::none;
}

// How much of the text precedes the next mark.
std::size_t CallLabels::next_size(std::string_view text) {
  const CallMark* mark = marks_.next();
  // Several marks may be at one byte, such as the end of a value and of its object.
  for (; mark != nullptr && mark->at <= place_; mark = marks_.next()) {
    const CallMark passed = *mark;
    marks_.pop();
    pass(passed);
  }
  if (mark == nullptr) return text.size();
  return static_cast<std::size_t>(std::min<std::uint64_t>(text.size(), mark->at - place_));
}

// White space before a parameter's value that is markup.
std::size_t CallLabels::lead_of(std::string_view piece) {
  if (!is_at_start_) return 0;
  if (trim_ == ValueTrim::space) {
    const std::size_t size = std::min(piece.find_first_not_of(kSpace), piece.size());
    // Only white space so far: the rest may come with the next piece.
    is_at_start_ = size == piece.size();
    return size;
  }
  const std::size_t size = piece[0] == '\r' ? 1 : 0;
  is_at_start_ = size == piece.size();
  return !is_at_start_ && piece[size] == '\n' ? size + 1 : size;
}

// The same after the value, if it ends with this piece.
std::size_t CallLabels::tail_of(std::string_view piece) const {
  const CallMark* mark = marks_.next();
  const bool is_last = mark != nullptr && mark->kind == CallMark::Kind::parameter_end;
  if (!is_last || mark->trim == ValueTrim::none) return 0;
  const std::size_t end = piece.find_last_not_of(kSpace) + 1;
  if (mark->trim == ValueTrim::space) return piece.size() - end;
  std::size_t begin = piece.rfind('\n');
  // Only one line break, and what follows it, is markup; an earlier one is part of the value.
  if (begin == std::string_view::npos || begin < end) return 0;
  if (begin > 0 && piece[begin - 1] == '\r') --begin;
  return piece.size() - begin;
}

void CallLabels::pass(const CallMark& mark) {
  using Kind = CallMark::Kind;
  switch (mark.kind) {
    case Kind::name: part_ = LabelPart::name; break;
    case Kind::arguments:
      base_ = part_ = LabelPart::arguments;
      path_ = CallPaths::kRoot;
      break;
    case Kind::name_end:
    case Kind::arguments_end:
      base_ = part_ = LabelPart::none;
      path_ = CallPaths::kRoot;
      frames_.clear();
      break;
    case Kind::key:
      in_key_ = true;
      key_.clear();
      break;
    case Kind::key_end: end_key(); break;
    case Kind::value: begin_value(mark.is_list); break;
    case Kind::value_end:
      if (!frames_.empty()) frames_.pop_back();
      path_ = frames_.empty() ? CallPaths::kRoot : frames_.back().path;
      break;
    case Kind::comma:
      if (!frames_.empty()) ++frames_.back().index;
      break;
    case Kind::parameter:
      part_ = LabelPart::arguments;
      path_ = CallPaths::kRoot;  // without a key: all arguments
      if (!mark.text.empty()) path_ = paths_->member(path_, mark.text);
      trim_ = mark.trim;
      is_at_start_ = trim_ != ValueTrim::none;
      break;
    case Kind::parameter_end:
      part_ = base_;
      path_ = CallPaths::kRoot;
      trim_ = ValueTrim::none;
      is_at_start_ = false;
      break;
  }
}

void CallLabels::begin_value(bool is_list) {
  if (frames_.empty()) {
    path_ = CallPaths::kRoot;
  } else {
    const Frame& frame = frames_.back();
    path_ =
        frame.is_list ? paths_->element(frame.path, frame.index) : paths_->member(frame.path, key_);
  }
  // Scalars too: each `value_end` pops one.
  frames_.push_back({path_, is_list});
}

void CallLabels::end_key() {
  in_key_ = false;
  key_ = key_of(key_);
}

void CallLabels::visit(Archive& archive) {
  archive.given(paths_);
  archive(marks_, place_, frames_, in_key_, key_, is_at_start_);
  archive.choice(base_, LabelPart::left_out);
  archive.choice(part_, LabelPart::left_out);
  archive.choice(trim_, ValueTrim::space);
  archive.index(path_, archive.path_end);
  archive.expect(path_ >= 0);
  for (const Frame& frame : frames_) {
    // Paths are indices into a list that was read before.
    archive.expect(frame.path >= 0 && std::cmp_less(frame.path, archive.path_end));
  }
}

}  // namespace unspool
