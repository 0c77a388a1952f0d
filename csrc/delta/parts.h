// The answer as a list of parts, each of one kind, in the order of the output: the items of
// Responses, or the blocks of Anthropic messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "delta/delta.h"
#include "delta/logprobs.h"
#include "text/archive.h"

namespace unspool {

enum class PartKind : std::uint8_t { text, reasoning, call };

struct Part {
  PartKind kind = PartKind::text;
  bool is_open = true;
  bool is_custom = false;                      // a call of a custom tool
  CallStatus status = CallStatus::incomplete;  // also of text: incomplete if the end was cut off
  std::string id = {};                         // of a call
  std::string name = {};
  std::string text = {};  // or a call's arguments or input; empty if texts are not kept
  std::vector<TokenLogprob> logprobs = {};

  void visit(Archive& archive) {
    archive.choice(kind, PartKind::call);
    archive.choice(status, CallStatus::malformed);
    archive(is_open, is_custom, id, name, text, logprobs);
  }
};

/// Only the last part can be open. `WireWriter` has checked the order of the deltas.
class Parts {
 public:
  explicit Parts(bool keeps_text) : keeps_text_(keeps_text) {}

  /// Whether the open part ends before this delta: another part begins, or the call or the output
  /// ends.
  bool closes(const Delta& delta) const;
  void close(const Delta& delta);

  /// Whether a part begins with this delta; ask after `close`.
  bool opens(const Delta& delta) const;
  Part& open(const Delta& delta);

  /// The text that the delta adds to the open part; may be empty.
  static std::string_view text_of(const Delta& delta);
  void add(std::string_view text);

  /// Does all of the above.
  void put(const Delta& delta);

  /// Moves the log-probabilities of a text delta to its part, which is open; drops earlier ones,
  /// and those of other deltas.
  void take_logprobs(const Delta& delta, LogprobQueue& queue);

  // In the order of the output, also while the last one is open.
  const std::vector<Part>& list() const { return list_; }
  Part& last();
  std::size_t count() const { return list_.size(); }
  bool has_open() const { return !list_.empty() && list_.back().is_open; }

  void visit(Archive& archive) {
    archive.given(keeps_text_);
    archive(list_);
  }

 private:
  std::vector<Part> list_;
  bool keeps_text_;
};

/// Whether the output was cut off, for any reason.
bool is_cut(FinishReason reason);

bool has_part(const std::vector<Part>& parts, PartKind kind);

}  // namespace unspool
