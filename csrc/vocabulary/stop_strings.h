// Ends a text at a stop string; holds back exactly the text that may still become one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/archive.h"
#include "text/marker_set.h"

namespace unspool {

/// Several stop strings over a stream of text. The match that begins first ends the text. If
/// several begin at one position, the longest wins, so a shorter match waits for it.
class StopStrings {
 public:
  /// Throws ArgumentError for an empty stop string.
  StopStrings(const std::vector<std::string>& stops, bool include_stop);

  /// Appends the text that is certain; nothing once the text has ended.
  void put(std::string_view text, std::string& out);

  /// Appends the held text: no more text follows, or a marker does.
  void flush(std::string& out);

  bool includes_stop() const { return include_stop_; }
  bool is_stopped() const { return is_stopped_; }

  /// The stop string that ended the text, or empty. Valid as long as this object.
  std::string_view stop_reason() const { return stop_reason_; }
  std::size_t held_bytes() const { return held_.size(); }
  /// Text without a byte of these classes is certain.
  ByteClasses stops() const {
    return held_.empty() && !is_stopped_ ? set_->stops(state_) : kAllClasses;
  }

  void visit(Archive& archive);

 private:
  void accept(std::string& out);

  std::shared_ptr<const MarkerSet> set_;
  bool include_stop_;
  bool is_stopped_ = false;
  MarkerSet::State state_ = 0;
  std::string held_;                             // the tail that may be (part of) a stop string
  std::size_t match_begin_ = std::string::npos;  // in held_: the best match so far
  std::size_t match_end_ = 0;
  std::string stop_reason_;
};

}  // namespace unspool
