// Ends an answer at a stop string in its content. It reads events, after the parser: a marker, a
// thought or an argument cannot match, and what the parser still holds is not looked at twice.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "parser/call_tally.h"
#include "parser/events.h"
#include "text/archive.h"
#include "vocabulary/stop_strings.h"

namespace unspool {

/// Holds back the end of the content that may become a stop string, until other content or another
/// event follows. After a match only the finish passes.
class ContentStop {
 public:
  /// Throws ArgumentError for an empty stop string.
  ContentStop(const std::vector<std::string>& stops, bool include_stop)
      : stops_(stops, include_stop) {}

  /// What the parser says goes here.
  Events& input() { return in_; }

  /// Moves what may be sent from `input()` to `out`. `ends`: no more events follow.
  void pass(Events& out, bool ends);

  bool is_stopped() const { return stops_.is_stopped(); }
  std::string_view stop_reason() const { return stops_.stop_reason(); }

  void visit(Archive& archive) {
    archive.scratch(sure_);
    in_.visit_place(archive);
    archive(stops_, tally_, content_bytes_, audit_);
  }

 private:
  FinishReason reason_of(FinishReason reason) const;
  void emit(std::uint64_t token_end, Events& out);
  void pass_audit(Events& out, bool ends);

  Events in_;
  StopStrings stops_;
  CallTally tally_;                    // of the calls that passed
  std::string sure_;                   // of one event, reused
  std::size_t content_bytes_ = 0;      // emitted, and not yet audited
  std::deque<Events::Audited> audit_;  // of what the content still holds
};

}  // namespace unspool
