// Ends an answer at a stop string in its content. It works on events, after the parser: markers,
// reasoning and arguments cannot match, and text that the parser still holds is not examined twice.
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

/// Holds back the end of the content if it may become a stop string, until other content or another
/// event follows. After a match only the finish event passes.
class ContentStop {
 public:
  /// `audits`: the parser reports the fate of every byte. Throws ArgumentError if a stop string is
  /// empty.
  ContentStop(const std::vector<std::string>& stops, bool include_stop, bool audits)
      : stops_(stops, include_stop), audits_(audits) {}

  /// Receives the parser's events.
  Events& input() { return in_; }

  /// The first bytes of the content are no output, and have no audit.
  void leave_out(std::size_t bytes) { left_out_ = bytes; }

  /// Moves certain events from `input()` to `out`. `ends`: no more events follow.
  void pass(Events& out, bool ends);

  /// Content without a byte of these classes passes as it is.
  ByteClasses stops() const { return stops_.stops(); }
  void pass_over(std::uint64_t token_end) { in_.pass_over(token_end); }

  bool is_stopped() const { return stops_.is_stopped(); }
  bool audits() const { return audits_; }
  std::string_view stop_reason() const { return stops_.stop_reason(); }

  void visit(Archive& archive) {
    archive.given(audits_);
    archive.scratch(sure_);
    in_.visit_place(archive);
    archive(stops_, tally_, left_out_, content_bytes_, audit_, audit_has_ended_);
  }

 private:
  FinishReason reason_of(FinishReason reason) const;
  void emit(std::uint64_t token_end, Events& out);
  void pass_audit(Events& out, bool ends);

  Events in_;
  StopStrings stops_;
  bool audits_;
  CallTally tally_;                    // of the calls that passed
  std::string sure_;                   // the certain part of one event; reused
  std::size_t left_out_ = 0;           // bytes of the content that will have no audit
  std::size_t content_bytes_ = 0;      // emitted but not yet audited
  std::deque<Events::Audited> audit_;  // of the content that is still held
  bool audit_has_ended_ = false;       // at the stop string
};

}  // namespace unspool
