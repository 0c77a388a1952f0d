// Splits a call's text into its parts: the bytes of the name, and those of each argument.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "body/call_marks.h"
#include "parser/call_paths.h"
#include "parser/events.h"
#include "text/archive.h"

namespace unspool {

class CallLabels {
 public:
  explicit CallLabels(std::shared_ptr<CallPaths> paths) : paths_(std::move(paths)) {}

  void write_paths_to(std::shared_ptr<CallPaths> paths) { paths_ = std::move(paths); }

  CallMarks& marks() { return marks_; }
  /// How many bytes of the call's text have been put.
  std::uint64_t place() const { return place_; }

  /// Begins a call, or a list of calls.
  void begin();

  /// Splits the next text into pieces, each with its part and path.
  template <typename Use>
  void put(std::string_view text, Use&& use) {
    while (!text.empty()) {
      const std::string_view piece = text.substr(0, next_size(text));
      const std::size_t lead = lead_of(piece);
      const std::size_t inner = piece.size() - lead - tail_of(piece.substr(lead));
      if (lead > 0) use(piece.substr(0, lead), LabelPart::none, CallPaths::kRoot);
      if (inner > 0) use(piece.substr(lead, inner), part_, path_);
      if (lead + inner < piece.size()) {
        use(piece.substr(lead + inner), LabelPart::none, CallPaths::kRoot);
      }
      if (in_key_) key_ += piece;
      place_ += piece.size();
      text.remove_prefix(piece.size());
    }
  }

  void visit(Archive& archive);

 private:
  struct Frame {
    CallPaths::Id path;
    bool is_list;
    std::int64_t index = 0;

    void visit(Archive& archive) { archive(path, is_list, index); }
  };

  std::size_t next_size(std::string_view text);
  std::size_t lead_of(std::string_view piece);
  std::size_t tail_of(std::string_view piece) const;
  void pass(const CallMark& mark);
  void begin_value(bool is_list);
  void end_key();

  std::shared_ptr<CallPaths> paths_;
  CallMarks marks_;
  std::uint64_t place_ = 0;
  LabelPart base_ = LabelPart::none;  // between the parameters
  LabelPart part_ = LabelPart::none;
  CallPaths::Id path_ = CallPaths::kRoot;
  std::vector<Frame> frames_;
  bool in_key_ = false;
  std::string key_;
  ValueTrim trim_ = ValueTrim::none;  // of the open parameter
  bool is_at_start_ = false;          // of the open parameter: white space may be markup
};

}  // namespace unspool
